"""Counts against sums worked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routejax.stages import plan_counts as counts

# V 10, E 4, L 2, H 2, J 1, C 3, MLP 5: a layer has query 4x6, key and value 4x3, out
# 6x4, and three matrices of 4x5: 24 + 12 + 12 + 24 + 60 = 132 weights.
SMALL = counts.Sizes(10, 4, 2, 2, 1, 3, 5, False, (None, None), 20)
# OLMo 3 7B: 2 tables of 100,278 x 4,096, 32 layers of 4 x 4,096² + 3 x 4,096 x 11,008,
# four norms of 4,096 a layer, and the last.
OLMO = counts.Sizes(
    100_278,
    4096,
    32,
    32,
    32,
    128,
    11_008,
    False,
    (4096, 4096, 4096, None) * 8,
    32 * 4 * 4096 + 4096,
)


def test_parameters_by_hand():
    assert counts.parameters(SMALL) == (40, 40, 264, 20)
    assert counts.parameters(SMALL).multiplied == 304
    tied = counts.parameters(SMALL._replace(tied=True))
    assert tied == (40, 0, 264, 20)
    assert tied.multiplied == 304
    assert counts.parameters(OLMO).total == 7_298_011_136


def test_pairs_by_hand():
    """Rows of 5: 1 + 2 + 3 + 4 + 5; with a window of 2: 1 + 2 + 2 + 2 + 2."""
    assert counts.pairs(5, None) == counts.pairs(5, 5) == counts.pairs(5, 9) == 15
    assert counts.pairs(5, 2) == 9
    assert counts.pairs(5, 1) == 5


@given(st.integers(1, 40), st.integers(1, 50))
def test_pairs_are_those_that_see_each_other(length, window):
    seen = sum(0 <= q - k < window for q in range(length) for k in range(length))
    assert counts.pairs(length, window) == seen


@given(st.integers(1, 60), st.one_of(st.none(), st.integers(1, 70)), st.integers(1, 9))
def test_block_pairs_hold_a_pair_that_sees(length, window, block):
    """A pair of blocks counts where any of its pairs may, in a row filled to blocks."""
    whole = -(-length // block) * block
    pairs = {
        (q // block, k // block)
        for q in range(whole)
        for k in range(q + 1)
        if window is None or q - k < window
    }
    assert counts.block_pairs(length, window, block) == len(pairs)


def test_flops_by_hand():
    """Two rows of 3 tokens: 2 · 304 · 6 for the weights; 6 pairs in each row and layer,
    each 2 · 3 for the score and as much for the values, times 2 heads."""
    found = counts.forward(SMALL, 2, 3)
    assert found.weights == 3648
    assert found.attention == 2 * 2 * 6 * (2 * 2 * 2 * 3)
    assert counts.training(SMALL, 2, 3).total == 3 * found.total


def test_flops_done_again_by_hand():
    """Blocks without the last map: 264 − 2·20 = 224 weights; the head 40."""
    none = counts.done_again(
        SMALL, 2, 3, blocks=False, last_map=False, head=False, scores=False
    )
    assert none.total == 0
    again = counts.done_again(
        SMALL, 2, 3, blocks=True, last_map=False, head=True, scores=True
    )
    assert again.weights == 2 * (224 + 40) * 6
    assert again.attention == 1.5 * counts.forward(SMALL, 2, 3).attention
    after = counts.done_again(
        SMALL, 2, 3, blocks=True, last_map=True, head=False, scores=False
    )
    assert after.weights == 2 * 264 * 6


def test_bytes_by_hand():
    """364 parameters over 4 devices: 91 each; two moments."""
    assert counts.held(SMALL, 4) == (364, 728, 364)
    assert counts.held(SMALL, 4, moments=1).optimiser == 364
    # Two layers, one key head of 3, keys and values, 2 bytes: 24 for a slot.
    assert counts.cache_bytes(SMALL, 3, 5) == 24 * 15
    assert counts.cache_bytes(SMALL, 3, 5, shards=3, itemsize=4) == 240
    # 2 layers of 4, twice 4, and twice (6 · 3 + 15); on two devices half of the last.
    assert counts.saved_bytes(SMALL, 1, 1) == 2 * (8 + 8 + 66)
    assert counts.saved_bytes(SMALL, 1, 1, tensor=2) == 2 * (8 + 8 + 33)
    assert counts.table_bytes(SMALL) == 40 * 16


def test_what_fits():
    """A fifteenth part of the memory is left to the runtime, and a little more."""
    assert counts.fits(14.7e9) == {
        "v5e": True,
        "v6e": True,
        "v5p": True,
        "H100": True,
        "H200": True,
    }
    assert [name for name, yes in counts.fits(80e9).items() if yes] == ["v5p", "H200"]
    assert not any(counts.fits(140e9).values())


@pytest.mark.parametrize(
    ("tokens", "rows"), [(1, 8), (80, 8), (81, 16), (160, 16), (161, 24)]
)
def test_rows_of_a_batch(tokens, rows):
    assert counts.batch_rows(tokens, 10, 8) == rows


def test_shares():
    mesh = {"replica": 2, "data": 3, "fsdp": 5, "tensor": 7}
    assert counts.shares(mesh) == (35, 30)
    assert counts.windows(5, (1, None)) == (1, None, 1, None, 1)
