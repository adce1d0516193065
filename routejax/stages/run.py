"""What every stage is handed: the run's folder, its config and where to print."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh
from rich.console import Console

from routejax import mesh, models, processes, workdir
from routejax.envs.judging import Judges
from routejax.errors import UserError
from routejax.grpo import PRESETS, Preset
from routejax.models import Params, Student, weights
from routejax.rollout import Decoding
from routejax.stages import published
from routejax.tokenizer import Tokenizer, local, require_rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the study. `config` is plain: dicts, tuples, numbers and strings."""

    root: Path
    config: Mapping[str, Any]
    console: Console

    @functools.cached_property
    def code(self) -> str:
        """Hash of the package's source: with other code a stage is made anew."""
        return workdir.code_hash()

    def stage(
        self,
        folder: Path,
        inputs: Mapping[str, Any],
        work: Callable[[Path], None],
        *,
        together: bool = False,
    ) -> dict[str, str]:
        """`workdir.stage` with the code among the inputs.

        Of several processes the first does the work, or, `together`, all of them do
        and the first alone writes.
        """
        known = {"code": self.code, **inputs}
        found = processes.first_does(lambda: workdir.begin(folder, known, self.say))
        if found is not None:
            return found
        own = work if together else lambda at: processes.first_does(lambda: work(at))
        if processes.first():
            workdir.timed(folder, own)
        else:
            own(folder)
        return processes.first_does(lambda: workdir.finish(folder))

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def say_failures(self) -> None:
        """Which verifiers failed; their responses count as not solved."""
        stats = self.judges.stats()
        for kind in ("errors", "timeouts"):
            for env, failed in stats[kind].items():
                ids = ", ".join(failed["ids"][:5])
                self.say(
                    f"Judging: {failed['count']:,} {kind} of {env}, the last "
                    f"{failed['last']!r}; problems {ids}"
                )

    def arm(self, name: str, seed: int) -> Path:
        return self.root / "arms" / name / f"seed_{seed}"

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        if self.weights:
            settings = dict(self.config["tokenizer"])
            settings.pop("size", None)
            return published.tokenizer(self.weights, **settings)
        return local((self.root / "pool" / "tokenizer.model").read_bytes())

    @functools.cached_property
    def student(self) -> Student:
        alone = self._alone(lambda: self.tokenizer.size)
        require_rows(self.tokenizer, alone.config.vocabulary)
        return alone if self.mesh is None else on_mesh(alone, self.mesh)

    @property
    def weights(self) -> str | None:
        """The checkpoint that training starts from; None for a fresh student."""
        return self.config["student"].get("weights")

    @property
    def origin(self) -> dict[str, list[int]]:
        """Sizes and times of the checkpoint's files: other ones make stages anew.

        Their bytes are not hashed, for there may be many billions.
        """
        if not self.weights:
            return {}
        path = Path(self.weights)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        states = {file.name: file.stat() for file in files if file.is_file()}
        return {name: [s.st_size, s.st_mtime_ns] for name, s in states.items()}

    def _alone(self, vocabulary: Callable[[], int]) -> Student:
        """The student, knowing of no mesh."""
        settings = self.config["student"]
        if self.weights:
            return published.student(settings)
        return models.create(vocabulary=vocabulary(), **settings)

    @functools.cached_property
    def mesh(self) -> Mesh | None:
        """The mesh of all devices; None where there is one."""
        axes = dict(self.config["mesh"])
        found = mesh.make_mesh(mesh.first_devices(axes.pop("devices")), **axes)
        return None if found.size == 1 else found

    def require_divides(self) -> None:
        """Refuses a mesh that cannot be made or does not divide the student.

        Raises:
            UserError: what does not divide, or a process has no device in it.
        """
        devices = () if self.mesh is None else self.mesh.devices.flat
        at = {device.process_index for device in devices}
        if processes.count() > 1 and len(at) < processes.count():
            raise UserError(
                f"the mesh has devices of {len(at) or 1} of {processes.count()} "
                "processes; leave config.mesh.devices at None, which takes all"
            )
        if self.mesh is not None:
            on_mesh(self._alone(lambda: self.config["tokenizer"]["size"]), self.mesh)

    @functools.cached_property
    def placement(self) -> mesh.Placement | None:
        """Where parameters lie; None on one device."""
        return self.mesh and mesh.Placement(self.mesh, self.student.family)

    def fresh(self, seed: int) -> Params:
        """Initial parameters in their places, no device holding more than its own.

        Those of the checkpoint, whatever the seed, where there is one.
        """
        if self.weights:
            places = self.placement and self.placement.shardings
            return weights.load(self.weights, dtype="float32", sharding=places)[1]
        if self.placement is None:
            return self.student.init(seed)
        return self.placement.create(lambda: self.student.init(seed))

    def divided(self, batch: Any) -> Any:
        """A batch with its rows divided over the devices."""
        return batch if self.placement is None else self.placement.rows(batch)

    def pass_rows(self, device_rows: int | None) -> int | None:
        """Rows of one pass over all devices; None takes all rows at once."""
        parts = mesh.batch_parts(self.mesh) if self.mesh else 1
        return device_rows and device_rows * parts

    def row_multiple(self, asked: int, pass_rows: int | None) -> int:
        """What the rows of a batch are a multiple of: also of passes and devices."""
        parts = mesh.batch_parts(self.mesh) if self.mesh else 1
        return math.lcm(asked, pass_rows or parts)

    @functools.cached_property
    def judges(self) -> Judges:
        """Those of this process; `train` ends them."""
        return Judges(**self.config["judging"], tell=self.say)

    def decoding(self, temperature: float, **truncation: Any) -> Decoding:
        settings = {**self.config["decoding"], **truncation}
        return Decoding(temperature=temperature, **settings)

    @functools.cached_property
    def preset(self) -> Preset:
        return PRESETS[self.config["grpo"]["preset"]]


def on_mesh(student: Student, over: Mesh) -> Student:
    """The student with its activations held to a mesh that divides it.

    Raises:
        UserError: the mesh does not divide heads, widths or vocabulary.
    """
    shapes = jax.eval_shape(lambda: student.init(0))
    counts = {name: getattr(student.config, name) for name in ("heads", "kv_heads")}
    mesh.require_divides(over, student.family, shapes, **counts)
    ways = dataclasses.replace(
        student.execution, constrain=mesh.Activations(over, student.family)
    )
    return dataclasses.replace(student, execution=ways)
