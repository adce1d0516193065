"""The public door: sizes, names, explanations, errors; and what holds for any text."""

import dataclasses
import hashlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax import fingerprints as fp
from routejax.errors import UserError

TEXT = (
    "First, split the list. Take 3 and 1. So the smallest is 1. Wait, check again. "
    "1 < 3 holds. Therefore the order is 1 3."
)
LONG = TEXT + (
    "\n\nAlternatively, sort by 3 + 1 = 4. Wait, no. Let's verify: it's 1 3.\n"
    "```\nx = 1\n```\nMaybe 2, 3, 5, 7? The answer is \\boxed{1 3}.\n"
)


def value(text: str, name: str) -> float:
    return float(fp.fingerprint(text, "rlve")[fp.feature_names("rlve").index(name)])


def test_sizes_and_slices():
    assert fp.FAMILIES["rlve"].blocks == (
        ("continuous", 159),
        ("topology", 1150),
        ("pattern", 64),
    )
    assert fp.block_slices("rlve") == {
        "continuous": slice(0, 159),
        "topology": slice(159, 1309),
        "pattern": slice(1309, 1373),
    }
    row = fp.fingerprint(TEXT, "rlve")
    assert row.shape == (1373,)
    assert row.dtype == np.float32


def test_names_are_unique_and_each_is_defined_in_one_line():
    names = fp.feature_names("rlve")
    described = fp.describe("rlve")
    assert len(set(names)) == len(names) == 1373
    assert tuple(described) == names
    assert all(meaning and "\n" not in meaning for meaning in described.values())
    assert names[0] == "frequency/correct"
    for name in (
        "frequency/check",
        "transition/sequential/infer->check",
        "pattern/circular_reasoning",
    ):
        assert name in names


def test_the_short_example():
    """decompose ─ execute ─ infer ┬ check; ├ evaluate; └ infer."""
    assert value(TEXT, "frequency/infer") == pytest.approx(2 / 6)
    assert value(TEXT, "transition/sequential/infer->check") == pytest.approx(1 / 3)
    assert value(TEXT, "shape/log_depth") == pytest.approx(np.log(4))
    assert value(TEXT, "pattern/verifies") == 1
    assert value(TEXT, "pattern/no_answer") == 1


def test_explain():
    rows = fp.explain("First, add. Wait, check it. So 4.", "rlve")
    assert rows == [
        ("First, add.", "decompose", "announces parts or an order of work", -1, ""),
        ("Wait, check it.", "check", "says it checks", 0, "sequential"),
        ("So 4.", "infer", "draws a conclusion", 0, "sequential"),
    ]


def test_parts_agree_with_each_other():
    rows = fp.explain(LONG, "rlve")
    steps = fp.segment(LONG)
    types = fp.label(steps, "rlve")
    grown = fp.tree(types, "rlve")
    assert [row.step for row in rows] == steps
    assert [row.type for row in rows] == types
    assert [(row.parent, row.edge) for row in rows] == list(
        zip(grown.parents, grown.edges, strict=True)
    )
    assert len(set(types)) == 9


def test_many_are_one_by_one():
    class Seen:
        done: list[int] = []  # noqa: RUF012

        def update(self, done: int) -> None:
            self.done.append(done)

    texts = [LONG, "", TEXT, LONG]
    rows = fp.fingerprints(texts, "rlve", progress=Seen())  # type: ignore[arg-type]
    assert np.array_equal(rows, np.stack([fp.fingerprint(t, "rlve") for t in texts]))
    assert Seen.done == [1, 2, 3, 4]
    assert fp.fingerprints([], "rlve").shape == (0, 1373)


@pytest.mark.parametrize("text", ["", " \n\n ", "---", "...\n\n!!"])
def test_no_steps_are_all_zero(text):
    assert not fp.fingerprint(text, "rlve").any()
    assert fp.explain(text, "rlve") == []


def test_spelling_does_not_matter():
    fancy = LONG.replace("'", "\u2019").replace("\n", "\r\n").replace("So ", "So\u00a0")
    assert fancy != LONG
    assert np.array_equal(fp.fingerprint(fancy, "rlve"), fp.fingerprint(LONG, "rlve"))


PIECES = st.sampled_from(
    [*re.findall(r"\S+\s*", LONG), *"é數\ud800\x00\u2028", "\n\n", "$$", "```"]
)


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.lists(PIECES, max_size=80).map("".join), st.text()))
def test_every_text_has_finite_features_in_their_range(text):
    row = fp.fingerprint(text, "rlve")
    assert np.isfinite(row).all()
    assert (row >= 0).all()
    assert set(np.unique(row[1309:])) <= {0, 1}
    assert row.any() == bool(fp.segment(text))
    named = zip(fp.feature_names("rlve"), row.tolist(), strict=True)
    free = re.compile("length|log_|unevenness")
    assert all(v <= 1 + 1e-6 for name, v in named if not free.search(name))


def test_nothing_depends_on_the_hash_seed():
    script = (
        "import hashlib; from routejax import fingerprints as fp;"
        f"rows = fp.fingerprints([{LONG!r}, {TEXT!r}], 'rlve');"
        "print(hashlib.sha256(rows.tobytes()).hexdigest())"
    )
    here = hashlib.sha256(fp.fingerprints([LONG, TEXT], "rlve").tobytes()).hexdigest()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == here


def test_mistakes_are_explained():
    for call in (fp.feature_names, fp.describe, fp.block_slices):
        with pytest.raises(UserError, match=r"corpus, .*rlve, .*got 'rlvr'"):
            call("rlvr")
    with pytest.raises(UserError, match=r"one of corpus, .*rlve"):
        fp.fingerprint(TEXT, "corpus2")
    with pytest.raises(UserError, match="got NoneType in row 1"):
        fp.fingerprints([TEXT, None], "rlve")  # type: ignore[list-item]


def test_a_family_of_annotated_steps_fits_in(monkeypatch):
    """A family without a grammar computes; it labels no text and says so."""
    bare = dataclasses.replace(fp.FAMILIES["rlve"], name="bare", grammar=None)
    monkeypatch.setitem(fp.FAMILIES, "bare", bare)
    assert fp.fingerprint(TEXT, "bare").shape == (1373,)
    with pytest.raises(UserError, match="reads annotated steps"):
        fp.label(["x"], "bare")
