"""Packing: every example once and whole, in rows filled longest first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routejax.errors import UserError
from routejax.packing import Example, assign, pack

ROW = 12

ids = st.lists(st.integers(0, 99), max_size=ROW // 2)
prompts = st.lists(st.integers(0, 99), min_size=1, max_size=ROW // 2)
batches = st.lists(st.builds(Example, prompts, ids), max_size=15)


@settings(deadline=None, max_examples=150)
@given(batches, st.integers(1, 4))
def test_every_example_is_there_once_and_whole(examples, multiple):
    packed = pack(examples, row_tokens=ROW, row_multiple=multiple)
    found = {}
    for r, row in enumerate(packed.segments):
        used = np.flatnonzero(row)
        assert np.array_equal(used, np.arange(len(used)))  # padding comes last
        for segment in range(1, row.max() + 1):
            here = np.flatnonzero(row == segment)
            assert np.array_equal(np.diff(here), np.ones(len(here) - 1))  # one block
            (index,) = set(packed.example[r, here])
            assert index not in found
            found[index] = (
                packed.tokens[r, here].tolist(),
                packed.positions[r, here].tolist(),
                packed.response[r, here].tolist(),
            )
        padding = row == 0
        assert np.all(packed.example[r, padding] == -1)
        assert not packed.response[r, padding].any()
        assert not packed.tokens[r, padding].any()
    assert found == {
        index: (
            [*prompt, *response],
            list(range(len(prompt) + len(response))),
            [False] * len(prompt) + [True] * len(response),
        )
        for index, (prompt, response) in enumerate(examples)
    }


@settings(deadline=None, max_examples=100)
@given(batches, st.integers(1, 4))
def test_rows_are_as_many_as_needed_up_to_the_multiple(examples, multiple):
    packed = pack(examples, row_tokens=ROW, row_multiple=multiple)
    height = packed.tokens.shape[0]
    used = int((packed.segments > 0).any(1).sum())
    assert height % multiple == 0
    assert used <= height <= max(multiple, used + multiple - 1)
    assert np.array_equal((packed.segments > 0).any(1), np.arange(height) < used)
    assert all(x.shape == (height, ROW) for x in packed)
    # No two rows could be one, which holds for first fit whatever the order.
    fill = np.sort((packed.segments > 0).sum(1)[:used])
    assert used < 2 or fill[0] + fill[1] > ROW


@settings(deadline=None, max_examples=50)
@given(batches)
def test_the_same_examples_give_the_same_rows(examples):
    first, again = (pack(examples, row_tokens=ROW, row_multiple=2) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("lengths", "rows"),
    [
        # 7 and 5 open rows; 4 joins 5, 3 joins 7, 2 fits nowhere, 1 joins 5 and 4.
        ([7, 3, 5, 2, 4, 1], [[0, 1], [2, 4, 5], [3]]),
        ([10, 10], [[0], [1]]),
        ([5, 5, 5], [[0, 1], [2]]),  # ties keep the order given
        ([1, 9, 9, 1], [[1, 0], [2, 3]]),
        ([6, 4, 6, 4], [[0, 1], [2, 3]]),
        ([], []),
    ],
)
def test_first_fit_decreasing_by_hand(lengths, rows):
    assert assign(lengths, 10) == rows


def test_a_row_by_hand():
    examples = [Example([1], [5, 6]), Example([1, 7], [8, 9, 3])]
    packed = pack(examples, row_tokens=9)
    assert packed.tokens.tolist() == [[1, 7, 8, 9, 3, 1, 5, 6, 0]]
    assert packed.segments.tolist() == [[1, 1, 1, 1, 1, 2, 2, 2, 0]]
    assert packed.positions.tolist() == [[0, 1, 2, 3, 4, 0, 1, 2, 0]]
    assert packed.response.tolist() == [[0, 0, 1, 1, 1, 0, 1, 1, 0]]
    assert packed.example.tolist() == [[1, 1, 1, 1, 1, 0, 0, 0, -1]]


def test_no_examples_are_rows_of_padding():
    packed = pack([], row_tokens=3, row_multiple=2)
    assert packed.segments.tolist() == [[0] * 3] * 2


def test_an_example_that_does_not_fit_is_an_error():
    fits = Example([1, 2], [3, 4, 5])
    assert pack([fits], row_tokens=5).segments.all()
    with pytest.raises(UserError, match="6 tokens but a row holds 5; raise row_tokens"):
        pack([fits, Example([1, 2], [3, 4, 5, 6])], row_tokens=5)


def test_a_response_needs_a_token_before_it():
    with pytest.raises(UserError, match="example 1 has no prompt"):
        pack([Example([1], [2]), Example([], [2])], row_tokens=5)
