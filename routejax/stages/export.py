"""A trained student as a folder that transformers and vLLM load: `export/`.

With it go the checkpoint's tokenizer and generation config, and the chat template the
student was trained with. The folder stands beside the weights it is made of, is whole
or absent, and is made again where it is lost or the weights are others.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from routejax import chat, checkpoints, mesh, processes
from routejax.errors import UserError
from routejax.models import Params, weights
from routejax.stages.run import Run
from routejax.workdir import read_json, write_json


def of_stage(run: Run, stage: Path, digest: str) -> Path | None:
    """`exported`, in the folder of the stage that trained the weights."""
    return exported(run, stage / "weights", digest, stage / "export")


def exported(run: Run, trained: Path, digest: str, folder: Path) -> Path | None:
    """The folder, of the weights in `trained`; None where the run asks for none.

    `export.json` beside it says what it was made of.
    """
    dtype = run.config["export"]["dtype"]
    if not run.weights or dtype == "none":
        return None
    record = folder.with_suffix(".json")
    known = {"weights": digest, "dtype": dtype}

    def cleared() -> bool:
        """Whether there is work to do."""
        if folder.exists() and record.exists() and _is(record, known):
            return False
        record.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        return True

    if processes.first_does(cleared):
        params = checkpoints.load_weights(trained, run.fresh(0), digest)
        if run.mesh is not None and processes.count() > 1:
            params = mesh.gathered(run.mesh, params)
        processes.first_does(lambda: write_folder(run, params, folder))
        processes.first_does(lambda: write_json(record, known))
    return folder


def _is(record: Path, known: Mapping[str, str]) -> bool:
    """Whether the record says so; one that is damaged says nothing."""
    try:
        return read_json(record) == known
    except UserError:
        return False


def write_folder(run: Run, params: Params, folder: Path) -> None:
    """Writes the folder, which must not exist, in the dtype of `config.export`."""
    dtype, own = run.config["export"]["dtype"], Path(str(run.weights))
    weights.save(
        folder,
        run.student,
        params,
        dtype=None if dtype == "original" else dtype,
        files=files(run),
        like=own if own.is_dir() else None,
    )


def files(run: Run) -> Mapping[str, bytes]:
    """What goes beside the weights: the tokenizer's files, and how turns are written.

    A template named in the config replaces the checkpoint's own. What ends a turn stops
    generation, for that is what the student has learned; some base models name another
    end.
    """
    found = dict(run.tokenizer.files)
    named = run.config["tokenizer"]["template"]
    if named not in ("", "none"):
        template = chat.template_of(run.tokenizer, named).source
        found["chat_template.jinja"] = template.encode()
    generation = json.loads(found.get("generation_config.json", b"{}"))
    ends = generation.get("eos_token_id")
    known = ends if isinstance(ends, list) else [ends]
    if not {*run.tokenizer.stops} <= {*known}:
        generation["eos_token_id"] = [*run.tokenizer.stops]
        text = json.dumps(generation, indent=2) + "\n"
        found["generation_config.json"] = text.encode()
    return found
