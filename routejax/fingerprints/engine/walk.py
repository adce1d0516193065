"""The reasoning tree of a row's steps: `tree.grow`, on arrays.

While it grows, what all blocks ask for is counted: which type follows which, which
hangs below which, and where the types are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int8, Int32, Int64, UInt8

from routejax.fingerprints.engine import blocks
from routejax.fingerprints.engine.kernel import inlined, kernel
from routejax.fingerprints.label import Roles
from routejax.fingerprints.tree import EDGES

SEQUENTIAL, BACKTRACKING, EXPLORATION = range(3)
assert EDGES == ("sequential", "backtracking", "exploration")
ORDINARY, EXPLORES, VERIFIES, BACKTRACKS, CLOSES = range(5)

# Bits of `Nodes.form`: third of the depth range, then what the node is.
SHALLOW, MIDDLE, DEEP, LEAF, FORK, EXPLORED, BACKTRACKED, BELOW = (
    1 << bit for bit in range(8)
)
WIDE = 32  # columns of a table with a column per type
NO_STEP = 255  # what `Nodes.step` holds behind the last step

# Columns of `Nodes.sums`.
(DEEPEST, WIDEST, LEAVES, FORKS, BRANCHED, RETURNS, INSIDE, MOST, DEPTHS, LEAF_DEPTHS,
 CLIMBED, SIBLINGS, REVISITS, TO_ROOT) = range(14)  # fmt: skip
# Rows of `Nodes.kinds`.
COUNT, LATE, FIRST, LAST, PLACES, IN_SHALLOW, IN_MIDDLE, IN_DEEP = range(8)


class Nodes(NamedTuple):
    """One node per step: parent (-1 at the root), depth, number of children, and what
    it is, as bits; and what is counted over them.

    `step` is the type, in bytes. `follows[a, b]` counts steps of type b right after
    type a, `hangs[a, b]` children of type b of type a. `kinds` has rows of counts per
    type: steps, those in the last third, first place (n for none), last place (-1),
    the sum of places, and steps in each third of the depth range. `tiers` counts nodes,
    leaves, forks, and nodes entered by either edge in each third. `sums` are counts of
    the whole tree; `width` is room to count the nodes of each depth. `edge_of` is the
    edge by which a type hangs: it has an entry per type of the family.
    """

    parent: Int32[np.ndarray, "capacity"]
    depth: Int32[np.ndarray, "capacity"]
    children: Int32[np.ndarray, "capacity"]
    form: UInt8[np.ndarray, "capacity+64"]
    step: UInt8[np.ndarray, "capacity+128"]
    width: Int32[np.ndarray, "capacity"]
    follows: Int32[np.ndarray, "types*32"]
    hangs: Int32[np.ndarray, "types*32"]
    kinds: Int64[np.ndarray, "8 32"]
    tiers: Int64[np.ndarray, "3 5"]
    sums: Int64[np.ndarray, "14"]
    edge_of: Int32[np.ndarray, "types"]


def room(capacity: int, types: int = 10) -> Nodes:
    """Room for trees of at most `capacity` nodes of so many types."""
    assert types <= WIDE
    return Nodes(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity + 64, np.uint8),
        np.empty(capacity + 128, np.uint8),
        np.empty(capacity, np.int32),
        np.empty(types * WIDE, np.int32),
        np.empty(types * WIDE, np.int32),
        np.empty((8, WIDE), np.int64),
        np.empty((3, 5), np.int64),
        np.empty(14, np.int64),
        np.empty(types, np.int32),
    )


def roles(by: Roles, vocabulary: tuple[str, ...]) -> Int8[np.ndarray, "types"]:
    """What each type does to the cursor, in the order in which `tree.grow` asks."""
    table = np.zeros(len(vocabulary), np.int8)
    for i, kind in enumerate(vocabulary):
        does = ((by.exploration, EXPLORES), (by.backtracking, BACKTRACKS))
        does += ((by.closing, CLOSES), (by.verification, VERIFIES))
        found = [role for kinds, role in does if kind in kinds]
        assert len(found) <= 1, f"type {kind!r} has two roles"
        table[i] = found[0] if found else ORDINARY
    return table


@kernel
def grow(kinds, n, role_of, nodes):
    """Fills `nodes` for n steps, n > 0; the cursor at the end.

    Every parent is on the path from the root to the cursor. A branch point is open
    from its first exploration on, and a node is the cursor only once: so a second
    exploration of a node comes while its branch point is open.
    """
    parents, depths, children = nodes.parent, nodes.depth, nodes.children
    form, step, sums = nodes.form, nodes.step, nodes.sums
    follows, hangs = nodes.follows, nodes.hangs
    follows[:] = 0
    hangs[:] = 0
    places = nodes.kinds[PLACES]
    places[:] = 0
    for k in range(nodes.edge_of.size):
        role = role_of[k]
        nodes.edge_of[k] = EXPLORATION * (role == EXPLORES) + (role == BACKTRACKS)
    cursor, point = np.int64(0), np.int64(-1)
    climbed = siblings = revisits = to_root = np.int64(0)
    parents[0], depths[0], children[0], form[0] = -1, 0, 0, 0
    before = np.int64(kinds[0])
    step[0] = before
    for i in range(1, n):
        kind = np.int64(kinds[i])
        role = role_of[kind]
        parent = cursor
        flags = form[cursor] & np.uint8(BELOW)
        if role == EXPLORES:
            siblings += point >= 0
            point = cursor if point < 0 else point
            parent, flags = point, np.uint8(EXPLORED | BELOW)
        elif role == BACKTRACKS:
            if point >= 0:
                parent = point
            else:
                above = np.int64(parents[cursor])
                parent = max(np.int64(parents[above]), 0) if above >= 0 else 0
            flags = np.uint8(BACKTRACKED) | (form[parent] & np.uint8(BELOW))
            climbed += depths[cursor] - depths[parent]
            revisits += (form[parent] & np.uint8(FORK)) != 0
            to_root += parent == 0
        elif role == CLOSES:
            point = -1
        if role == EXPLORES:
            form[parent] |= np.uint8(FORK)  # until `measure`: an exploration left it
        parents[i], depths[i], children[i] = parent, depths[parent] + 1, 0
        form[i], step[i] = flags, kind
        children[parent] += 1
        follows[WIDE * before + kind] += 1
        hangs[WIDE * np.int64(step[parent]) + kind] += 1
        places[kind] += i
        before = kind
        if role != VERIFIES:
            cursor = i
    sums[CLIMBED], sums[SIBLINGS] = climbed, siblings
    sums[REVISITS], sums[TO_ROOT] = revisits, to_root
    step[n : n + 72] = NO_STEP
    return cursor


@kernel
def measure(n, nodes):
    """Completes `form` and fills all counts that `grow` leaves open."""
    depths, children, form, sums = nodes.depth, nodes.children, nodes.form, nodes.sums
    deepest = most = depth_sum = leaf_depths = np.int32(0)
    for i in range(n):
        deepest = max(deepest, depths[i])
        most = max(most, children[i])
        depth_sum += depths[i]
        leaf_depths += depths[i] if children[i] == 0 else np.int32(0)
    levels = deepest + 1
    for i in range(n):
        third = (3 * depths[i] >= levels) + (3 * depths[i] >= 2 * levels)
        flags = SHALLOW << third
        flags |= LEAF * (children[i] == 0) | FORK * (children[i] >= 2)
        form[i] = (form[i] & np.uint8(EXPLORED | BACKTRACKED | BELOW)) | np.uint8(flags)
    sums[DEEPEST], sums[MOST] = deepest, most
    sums[DEPTHS], sums[LEAF_DEPTHS] = depth_sum, leaf_depths
    sums[WIDEST] = _widest(n, depths, nodes.width, levels)
    _count_kinds(n, nodes.edge_of.size, nodes.step, form, nodes.kinds)
    _count_forms(n, form, nodes.tiers, sums)


@kernel
def _widest(n, depths, width, levels):
    """The most nodes at one depth."""
    width[:levels] = 0
    for i in range(n):
        width[depths[i]] += 1
    widest = np.int32(0)
    for k in range(levels):
        widest = max(widest, width[k])
    return widest


_shallow, _middle = blocks.mask_with(SHALLOW), blocks.mask_with(MIDDLE)
_deep, _leaf, _fork = (blocks.mask_with(bit) for bit in (DEEP, LEAF, FORK))
_explored, _backtracked = blocks.mask_with(EXPLORED), blocks.mask_with(BACKTRACKED)
_below = blocks.mask_with(BELOW)
_ALIKE = np.repeat(np.arange(WIDE, dtype=np.uint8), blocks.WIDTH)


@inlined
def ones(mask):
    return np.int64(blocks.count(mask))


@kernel
def _count_kinds(n, types, step, form, kinds):
    """All rows of `kinds` but the sum of places."""
    for k in range(types):
        kinds[COUNT, k] = kinds[LATE, k] = 0
        kinds[FIRST, k], kinds[LAST, k] = n, -1
        kinds[IN_SHALLOW, k] = kinds[IN_MIDDLE, k] = kinds[IN_DEEP, k] = 0
    late_from = (2 * n + 2) // 3
    for at in range(0, n, blocks.WIDTH):
        late = ~blocks.below(max(late_from - at, 0))
        shallow, deep = _shallow(form, at), _deep(form, at)
        for k in range(types):
            here = ~blocks.unlike(step, at, _ALIKE, blocks.WIDTH * k)
            count, above = ones(here), ones(here & shallow)
            below = ones(here & deep)
            kinds[COUNT, k] += count
            kinds[LATE, k] += ones(here & late)
            kinds[IN_SHALLOW, k] += above
            kinds[IN_MIDDLE, k] += count - above - below
            kinds[IN_DEEP, k] += below
            first = at + np.int64(blocks.lowest(here)) if count else n
            last = at + 63 - np.int64(blocks.leading(here)) if count else -1
            kinds[FIRST, k] = min(kinds[FIRST, k], first)
            kinds[LAST, k] = max(kinds[LAST, k], last)


@kernel
def _count_forms(n, form, tiers, sums):
    """The `tiers`, and sums of them."""
    tiers[:] = 0
    inside = np.int64(0)
    for at in range(0, n, blocks.WIDTH):
        live = blocks.below(n - at)
        leaf, fork = _leaf(form, at), _fork(form, at)
        explored, backtracked = _explored(form, at), _backtracked(form, at)
        inside += ones(_below(form, at) & live)
        thirds = (_shallow(form, at), _middle(form, at), _deep(form, at))
        for k in range(3):
            tier = thirds[k] & live
            tiers[k, 0] += ones(tier)
            tiers[k, 1] += ones(tier & leaf)
            tiers[k, 2] += ones(tier & fork)
            tiers[k, 3] += ones(tier & explored)
            tiers[k, 4] += ones(tier & backtracked)
    sums[INSIDE] = inside
    sums[LEAVES] = tiers[0, 1] + tiers[1, 1] + tiers[2, 1]
    sums[FORKS] = tiers[0, 2] + tiers[1, 2] + tiers[2, 2]
    sums[BRANCHED] = tiers[0, 3] + tiers[1, 3] + tiers[2, 3]
    sums[RETURNS] = tiers[0, 4] + tiers[1, 4] + tiers[2, 4]
