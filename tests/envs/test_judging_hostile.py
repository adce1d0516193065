"""Many responses through verifiers of every bad kind, and programs that attack."""

import random
import resource
import uuid
from collections import Counter

import pytest
from test_judging import BAD, STATUSES, looked_at
from test_judging_workers import gone, largest, zombies

from routejax.envs.judging import Judges, Request, sandbox
from tests.benchmarks import attacks

# Each of these costs a worker, or two where it dies.
RARE = ("dies", "aborts", "babbles", "closes", "hangs", "sleeps", "stops", "allocates")
HEAVY = ("floods", "long_answer", "recurses")
COUNT, RARELY, HEAVILY = 10_000, 4, 30


def mixed(seed):
    """Requests in a random order, some with responses of up to a megabyte."""
    rng = random.Random(seed)
    kinds = [*RARE * RARELY, *HEAVY * HEAVILY]
    light = [env for env in STATUSES if env not in (*RARE, *HEAVY)]
    kinds += rng.choices(light, k=COUNT - len(kinds))
    rng.shuffle(kinds)
    sizes = rng.choices([0, 10, 1000, 900_000], [50, 30, 19, 1], k=COUNT)
    noise = "((9^9)^9__import__\x00\ud800"
    return [
        Request(env, {"gold": str(n)}, f"{n} {noise * (size // 23)}", f"id-{n}")
        for n, (env, size) in enumerate(zip(kinds, sizes, strict=True))
    ]


@pytest.mark.slow
def test_none_is_lost_and_nothing_is_left():
    requests, token = mixed(0), uuid.uuid4().hex
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    environment = {"TOKEN": token}
    with (
        largest(token) as peaks,
        Judges(workers=2, timeout_s=2.0, environment=environment, **BAD) as pool,
    ):
        halves = [pool.submit(requests[:5000]), pool.submit(requests[5000:])]
        verdicts = [v for half in halves for v in half.result()]
        stats = pool.stats()
    looked_at(requests, verdicts)
    wanted = Counter((one.env, STATUSES[one.env]) for one in requests)
    for status in ("error", "timeout"):
        found = {env: failed["count"] for env, failed in stats[f"{status}s"].items()}
        assert found == {e: count for (e, s), count in wanted.items() if s == status}
    assert gone(token)
    assert not zombies()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 600_000  # kilobytes: the responses once, and what is on its way
    assert 0 < max(peaks) < 1e9


@pytest.mark.skipif(sandbox.found() is None, reason="bubblewrap does not work here")
@pytest.mark.slow
def test_attacks_by_answers_and_programs_leave_honest_ones_their_verdicts():
    """`python -m tests.benchmarks.judging` has ten thousand of them."""
    found, token = attacks.mixed(300), uuid.uuid4().hex
    assert sum(map(attacks.is_program, found)) > 40
    with Judges(workers=2, timeout_s=60.0, environment={"TOKEN": token}) as pool:
        verdicts = pool.judge([one.request for one in found])
        stats = pool.stats()
    assert attacks.lost(found, verdicts) == []
    programs = [
        v
        for v, one in zip(verdicts, found, strict=True)
        if not one.wanted and attacks.is_program(one)
    ]
    assert not any(verdict.solved for verdict in programs)
    assert {verdict.status for verdict in programs} <= {"answered", "unparsed"}
    assert not stats["errors"]
    assert not stats["timeouts"]
    assert attacks.written() == []
    assert gone(token)
    assert not zombies()
