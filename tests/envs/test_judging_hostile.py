"""Ten thousand responses through verifiers of every bad kind."""

import random
import resource
import uuid
from collections import Counter

import pytest
from test_judging import BAD, STATUSES, looked_at
from test_judging_workers import gone, zombies

from routejax.envs.judging import Judges, Request

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
    with Judges(workers=2, timeout_s=2.0, environment=environment, **BAD) as pool:
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
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1_000_000
