"""Judges: one verdict for each request, in order, whatever a verifier does."""

import time
from pathlib import Path

import pytest

from routejax.envs import Verdict, judging, make_problem, write_trace
from routejax.envs.judging import Judges, Request, judges, process, sandbox, tasks
from routejax.errors import UserError

HERE = Path(__file__).parent
BAD = {"table": "bad_verifiers:ENVS", "readable": [str(HERE)]}
WAYS = pytest.mark.parametrize(
    "way",
    [
        "none",
        pytest.param(
            "required",
            marks=pytest.mark.skipif(
                sandbox.found() is None, reason="bubblewrap does not work here"
            ),
        ),
    ],
)
# What a request to each of the bad verifiers comes to; with an answer it is its number.
STATUSES = {
    "right": "answered",
    "here": "answered",
    "quick": "answered",
    "floods": "answered",
    "long_answer": "answered",
    "half_characters": "answered",
    "here_half": "answered",
    "raises": "error",
    "here_raises": "error",
    "nothing": "error",
    "other_type": "error",
    "not_a_number": "error",
    "huge_score": "error",
    "here_huge": "error",
    "shaped": "error",
    "other_status": "error",
    "bytes_answer": "error",
    "interrupts": "error",
    "exits": "error",
    "recurses": "error",
    "allocates": "error",
    "forks": "error",
    "dies": "error",
    "aborts": "error",
    "babbles": "error",
    "closes": "error",
    "hangs": "timeout",
    "sleeps": "timeout",
    "stops": "timeout",
}


def asked(envs):
    """One request to each, its number in front."""
    return [
        Request(env, {"gold": str(n)}, f"{n} text", f"id-{n}")
        for n, env in enumerate(envs)
    ]


def looked_at(requests, verdicts):
    """Every verdict is that of its own request."""
    assert len(verdicts) == len(requests)
    for n, (one, verdict) in enumerate(zip(requests, verdicts, strict=True)):
        assert verdict.status == STATUSES[one.env], (one.env, verdict)
        assert verdict.solved == (verdict.status == "answered"), one.env
        if verdict.status == "answered":
            assert verdict.answer.strip(" ?") == str(n), one.env
            verdict.answer.encode()  # no half of a character, which no file can have
        else:
            assert verdict == Verdict(False, 0.0, None, verdict.status)


@WAYS
def test_whatever_a_verifier_does_there_is_one_verdict_in_its_place(way):
    kinds = [env for env in STATUSES if env != "right"]
    requests = asked([env for kind in kinds for env in (kind, "right")])
    with Judges(workers=2, timeout_s=2.0, sandbox=way, **BAD) as pool:
        verdicts = pool.judge(requests)
        stats = pool.stats()
    looked_at(requests, verdicts)
    assert stats["waiting"] == 0
    for status in ("error", "timeout"):
        known = {e: f for e, f in STATUSES.items() if f == status}
        assert stats[f"{status}s"].keys() == known.keys()
        for env, found in stats[f"{status}s"].items():
            place = [one.env for one in requests].index(env)
            assert (found["count"], found["ids"]) == (1, [f"id-{place}"])
            assert found["last"]
    assert stats["errors"]["nothing"]["last"] == (
        "TypeError: the verifier gave NoneType, no verdict"
    )
    assert stats["errors"]["raises"]["last"].startswith("RuntimeError: no such answer")
    assert len(stats["errors"]["raises"]["last"]) < 600
    assert stats["here"] + stats["workers"] == len(requests)
    assert stats["here"] == sum(env.startswith("here") for env in kinds)
    assert stats["per_s"] > 0


def test_the_first_failure_of_an_environment_is_told_at_once():
    told = []
    with Judges(workers=1, sandbox="none", **BAD, tell=told.append) as pool:
        pool.judge(asked(["raises", "right"]))
        assert len(told) == 1
        pool.judge(asked(["raises", "here_raises", "raises"]))
    assert [line.partition(": RuntimeError")[0] for line in told] == [
        "Judging: the first error of raises",
        "Judging: the first error of here_raises",
    ]


def test_a_worker_whose_pipe_somebody_writes_into_is_replaced():
    """What comes behind a reply is not the reply of the next call, like it or not."""
    with Judges(workers=1, timeout_s=10.0, sandbox="none", **BAD) as pool:
        assert pool.judge(asked(["babbles_later"]))[0].answer == "0"
        time.sleep(0.3)
        requests = asked(["right"] * 3)
        looked_at(requests, pool.judge(requests))
        assert pool.stats()["started"] == 2


@WAYS
def test_files_cannot_be_written(way, tmp_path):
    """In a sandbox none is seen outside; without one it is cut at a megabyte."""
    path = tmp_path / "written"
    with Judges(workers=1, sandbox=way, **BAD) as pool:
        (verdict,) = pool.judge([Request("writes", {"path": str(path)}, "1")])
    assert verdict.status == "error"
    assert (path.stat().st_size <= 2**20) if way == "none" else not path.exists()


@pytest.mark.skipif(sandbox.found() is None, reason="bubblewrap does not work here")
def test_a_sandbox_has_no_network_and_no_files_of_ours():
    setting = judging.Setting(bwrap=sandbox.found())
    with judging.Workers(1, setting) as workers:
        calls = [
            judging.Call("os:listdir", ["/"], 10),
            judging.Call("os.path:exists", [str(HERE)], 10),
            judging.Call("os.path:exists", [str(Path("~/.bashrc").expanduser())], 10),
            judging.Call("socket:create_connection", [["127.0.0.1", 9], 1], 10),
            judging.Call("socket:if_nameindex", [], 10),
            judging.Call("os:listdir", ["/tmp"], 10),
            judging.Call("os:mkdir", ["/usr/made"], 10),
        ]
        root, ours, home, network, names, _, made = workers.submit(calls).result()
    assert not {"work", "home", "var", "mnt"} & {*root.value} - {
        Path(p).parts[1] for p in sandbox.places([])
    }
    assert (ours.value, home.value) == (False, False)
    assert network.status == "error"
    assert [name for _, name in names.value] == ["lo"]
    assert "Read-only" in made.detail


def test_submitting_does_not_wait():
    with Judges(workers=1, timeout_s=1.5, sandbox="none", **BAD) as pool:
        began = time.monotonic()
        work = pool.submit(asked(["sleeps", "right"]))
        assert time.monotonic() - began < 1.0
        assert work.left == 2
        assert work.worked == (2, 0.0)
        first = pool.submit(asked(["here"]))
        assert first.left == 0
        assert first.worked == (0, 0.0)
        assert first.result()[0].solved
        assert [v.status for v in work.result()] == ["timeout", "answered"]
        assert work.result() is work.result()
        assert 1.5 < work.worked[1] < time.monotonic() - began
        assert pool.stats()["timeouts"]["sleeps"]["count"] == 1


def test_loading_counts_for_no_time_and_is_done_once(monkeypatch):
    monkeypatch.setattr(process, "START_S", 4.0)
    requests = asked(["large", "right", "large", "large_too"])
    late, failing = asked(["larger"]), asked(["without", "right"])
    with Judges(workers=1, timeout_s=1.0, sandbox="none", **BAD) as pool:
        for one, verdict in zip(requests, pool.judge(requests), strict=True):
            assert verdict == Verdict(True, 1.0, one.response[0], "answered")
        assert pool.stats()["started"] == 1
        assert [v.status for v in pool.judge(failing)] == ["error", "answered"]
        assert "pip install it" in pool.stats()["errors"]["without"]["last"]
        assert pool.judge(late)[0].status == "timeout"
        assert pool.stats()["timeouts"]["larger"]["last"] == "no reply in 4 s"


def test_what_is_judged_here_starts_nothing():
    problem = make_problem("sort", 3, 5)
    trace = write_trace(problem, "merge", "plain", 0)
    with Judges() as pool:
        found = pool.judge([judging.request(problem, t) for t in (trace, "no")])
        assert [v.status for v in found] == ["answered", "no_answer"]
        assert found[0].solved
        assert pool.judge([]) == []
        assert pool.stats()["started"] == 0


def test_our_own_parsers_decide_first():
    with Judges(workers=1, sandbox="none", **BAD) as pool:
        found = pool.judge(
            [
                Request("quick", {"gold": "5"}, "7 quick"),
                Request("quick", {"gold": "5"}, "5 slow"),
            ]
        )
        assert [(v.solved, v.answer) for v in found] == [(True, "7"), (True, "5")]
        assert (pool.stats()["here"], pool.stats()["workers"]) == (1, 1)


def test_a_response_beyond_the_limit_is_unparsed_and_not_sent():
    with Judges(workers=1, sandbox="none", **BAD) as pool:
        at, over = ("1 " + "x" * (judges.LONGEST_RESPONSE + n) for n in (-2, -1))
        found = pool.judge([Request("right", {"gold": "1"}, t) for t in (at, over)])
        assert [v.status for v in found] == ["answered", "unparsed"]
        assert pool.stats()["workers"] == 1


def test_any_text_arrives_as_it_is():
    """Lone surrogates, null bytes, separators, and a config that cannot be sent."""
    texts = ["\ud800", "\x00", "\u200b", "é\U0001f600", '"\\']
    with Judges(workers=1, sandbox="none", **BAD) as pool:
        found = pool.judge([Request("right", {"gold": t}, t) for t in texts])
        assert all(v.solved for v in found)
        assert [v.answer for v in found] == ["?", *texts[1:]]
        odd = Request("right", {"gold": {1, 2}}, "1", "odd")
        assert pool.judge([odd])[0].status == "error"
        assert "cannot be asked" in pool.stats()["errors"]["right"]["last"]


def test_programs_need_a_sandbox_or_an_explicit_flag(monkeypatch):
    monkeypatch.setattr(sandbox, "found", lambda: None)
    requests = asked(["programs"])
    with Judges(**BAD) as pool, pytest.raises(UserError, match="no security boundary"):
        pool.judge(requests)
    with (
        Judges(sandbox="required", **BAD) as pool,
        pytest.raises(UserError, match="required and there is no bubblewrap"),
    ):
        pool.judge(asked(["right"]))
    with Judges(unsafe_code=True, **BAD) as pool:
        assert pool.judge(requests)[0].solved


def test_mistakes_are_told_before_anything_starts():
    with pytest.raises(UserError, match="one of auto, required, none, got 'docker'"):
        Judges(sandbox="docker")
    with (
        pytest.raises(UserError, match="workers must be at least 1, got 0"),
        Judges(workers=0, **BAD) as pool,
    ):
        pool.judge(asked(["right"]))
    with Judges() as pool, pytest.raises(UserError, match=r"got 'sorting'; did you"):
        pool.submit([Request("sorting", {}, "")])
    with Judges(**BAD) as pool, pytest.raises(UserError, match="one of right, raises"):
        pool.submit([Request("sort", {}, "")])


@pytest.mark.parametrize(
    "values",
    [
        None,
        [True, 1.0, "x"],
        [1, 1.0, "x", "answered"],
        [True, True, "x", "answered"],
        [True, float("inf"), "x", "answered"],
        [True, 10**400, "x", "answered"],
        [True, 1.0, 5, "answered"],
        [True, 1.0, "x", "unparsed"],
        [False, 0.0, "x", "solved"],
        {"solved": True},
    ],
)
def test_what_is_no_verdict_is_an_error(values):
    with pytest.raises((TypeError, ValueError)):
        tasks.verdict_of(values)


def test_scores_are_for_information():
    assert tasks.verdict_of([False, 0.7, None, "answered"]).score == 0.7
    assert tasks.verdict_of([True, 1, "x" * 9000, "answered"]) == Verdict(
        True, 1.0, "x" * 8000, "answered"
    )


def test_half_characters_of_an_answer_become_question_marks():
    """A file cannot have them; a worker of another's verifier may send them."""
    found = tasks.verdict_of([True, 1.0, "\ud83d 5 \N{GRINNING FACE}", "answered"])
    assert found.answer == "? 5 \N{GRINNING FACE}"
