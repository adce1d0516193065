"""Counts against sums worked by hand."""

from hypothesis import given
from hypothesis import strategies as st

from routejax.stages import plan_chips as chips
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


def test_flops_of_sampling_by_hand():
    """Two prompts of 3 tokens: 264 weights for each token, 40 for each last one. Then
    2 tokens in 4 rows: 304 weights each; they see 4 and 5 columns of the 5 there are,
    under a window of 2 only 2 and 2."""
    read = counts.prefill(SMALL, 2, 3)
    assert read.weights == 2 * (264 * 6 + 40 * 2)
    assert read.attention == counts.forward(SMALL, 2, 3).attention
    pair = 2 * 2 * 2 * 3  # score and value of both heads
    seen = counts.decoding(SMALL, 4, 3, 2, whole_cache=False)
    assert seen.weights == 2 * 304 * 8
    assert seen.attention == 4 * 2 * (4 + 5) * pair
    whole = counts.decoding(SMALL, 4, 3, 2, whole_cache=True)
    assert whole.attention == 4 * 2 * (5 + 5) * pair
    narrow = SMALL._replace(windows=(2, None))
    assert counts.decoding(narrow, 4, 3, 2, whole_cache=False).attention == (
        4 * (2 + 2 + 4 + 5) * pair
    )
    assert counts.decoding(narrow, 4, 3, 2, whole_cache=True) == whole


def test_prefill_and_decoding_of_a_sentence_are_one_forward():
    """Reading 9 tokens, or reading 4 and adding 5, under any windows."""
    for window in (None, 1, 3, 6):
        s = SMALL._replace(windows=(window, None))
        read = counts.forward(s, 7, 4)
        added = counts.decoding(s, 7, 4, 5, whole_cache=False)
        assert read.total + added.total == counts.forward(s, 7, 9).total


def test_seconds_by_hand():
    """Half of 10¹² operations and of 10⁹ bytes a second; the slower of the two, each
    time anew."""
    chip = chips.Chip(1, 1, 1)
    loads = [chips.Load(3e12), chips.Load(1e12, 4e9, times=5), chips.Load(2e12, 1e9)]
    assert chips.seconds(chip, loads, 0.5) == 2 * (3 + 5 * 4 + 2)


def test_bytes_by_hand():
    # Two layers, one key head of 3, keys and values, 2 bytes: 24 for a slot.
    assert counts.cache_bytes(SMALL, 3, 5) == 24 * 15
    assert counts.cache_bytes(SMALL, 3, 5, shards=3, itemsize=4) == 240
    # 2 layers of 4, twice 4, and twice (6 · 3 + 15); on two devices half of the last.
    assert counts.saved_bytes(SMALL, 1, 1) == 2 * (8 + 8 + 66)
    assert counts.saved_bytes(SMALL, 1, 1, tensor=2) == 2 * (8 + 8 + 33)
    assert counts.table_bytes(SMALL) == 40 * 16


def test_what_fits():
    """A fifteenth part of the memory is left to the runtime, and a little more."""
    assert chips.fits(14.7e9) == {
        "v5e": True,
        "v6e": True,
        "v5p": True,
        "H100": True,
        "H200": True,
    }
    assert [name for name, yes in chips.fits(80e9).items() if yes] == ["v5p", "H200"]
    assert not any(chips.fits(140e9).values())


def test_shares():
    mesh = {"replica": 2, "data": 3, "fsdp": 5, "tensor": 7}
    assert counts.shares(mesh) == (35, 30)
    assert counts.windows(5, (1, None)) == (1, None, 1, None, 1)
