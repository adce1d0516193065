"""Spellings of step annotations and strategy labels, by hand and as tables."""

from itertools import chain

import pytest

from routejax.fingerprints.lexicon import phrases
from routejax.fingerprints.omega_labels import (
    STEP_SPELLINGS,
    STRATEGIES,
    STRATEGY_SPELLINGS,
    VOCABULARY,
    spelling,
    step_type,
    strategy_name,
    usable,
)

# As the paper words them (A.6), in its order.
PAPER_STRATEGIES = """modular arithmetic, Euclidean GCD, coordinate geometry,
case split, row reduction, substitution, inclusion–exclusion, symbolic simplification,
brute-force enumeration, prime factorization, equation solving, de Moivre’s formula,
generating functions, monotonicity, complex numbers, dynamic programming, bounding,
direct algebra, graph search, block decomposition, linear dependence, roots of unity,
symmetry, rank factorization, complement counting, invariants,
algorithmic generalization, outer-product decomposition, inversion,
synthetic geometry, power of a point, other"""
PAPER_STEPS = """setup, conclude, count, matrix, case, simplify, solve equation, factor,
geometry, bound, modular, substitute, expand, differentiate, integrate"""


def test_the_wording_of_the_paper_is_known_in_its_order():
    assert [step_type(name) for name in PAPER_STEPS.split(",")] == list(VOCABULARY)
    assert [strategy_name(name) for name in PAPER_STRATEGIES.split(",")] == list(
        STRATEGIES
    )


@pytest.mark.parametrize(
    "annotation",
    [
        *("solve_equation", "solve equation", "solve-equation", "Solve Equation"),
        *("SOLVE_EQUATION", "solveEquation", " solve  equation\n", "solve equation 2"),
        *("[solve_equation]", "solve", "equation solving", "Solving equations"),
    ],
)
def test_spellings_of_one_step(annotation):
    assert step_type(annotation) == "solve_equation"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Case 1", "case"),
        ("set-up", "setup"),
        ("derivative", "differentiate"),
        ("mod", "modular"),
        ("guess", None),
        ("setup, factor", None),
        ("", None),
        ("12", None),
        ("因数分解", None),
        (None, None),
        (7, None),
    ],
)
def test_steps(annotation, expected):
    assert step_type(annotation) == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Brute-Force", "brute_force_enumeration"),
        ("de Moivre\u2019s theorem", "de_moivre"),
        ("Complementary Counting", "complement_counting"),
        ("misc.", "other"),
        ("Other", "other"),
        ("unknown", None),
        ("n/a", None),
        ("euclidean", None),  # the algorithm or the geometry
        (None, None),
    ],
)
def test_strategies(label, expected):
    assert strategy_name(label) == expected


@pytest.mark.parametrize(
    ("names", "spellings", "read"),
    [
        (VOCABULARY, STEP_SPELLINGS, step_type),
        (STRATEGIES, STRATEGY_SPELLINGS, strategy_name),
    ],
)
def test_every_spelling_leads_to_one_name(names, spellings, read):
    assert tuple(spellings) == names
    listed = [
        *map(spelling, names),
        *map(spelling, chain.from_iterable(map(phrases, spellings.values()))),
    ]
    assert all(listed)
    assert len(set(listed)) == len(listed)
    for name, others in spellings.items():
        assert {read(other) for other in (name, *phrases(others))} == {name}


def test_usable():
    assert usable(["setup", "Solve Equation", "conclusion"])
    assert not usable(["setup", "guess"])
    assert not usable(["setup", None])  # type: ignore[list-item]
    assert not usable([])
    assert not usable(None)
