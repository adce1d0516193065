"""The words of OMEGA annotations: 15 step types, 32 strategies, and their spellings.

Types and strategies, with their order, are the paper's (A.2, A.6). How an annotator may
write them is our choice: letter case, spaces, underscores, hyphens, digits and camel
case do not matter ("Solve_Equation", "solve-equation 2", "solveEquation"), and a table
of other spellings leads to each name. Nothing is guessed beyond the tables.

Left out: finding the steps in a text; OMEGA rows come with them.
"""

import re
from collections.abc import Mapping, Sequence

from routejax.fingerprints.lexicon import phrases

VOCABULARY = (
    *("setup", "conclude", "count", "matrix", "case", "simplify", "solve_equation"),
    *("factor", "geometry", "bound", "modular", "substitute", "expand"),
    *("differentiate", "integrate"),
)

STRATEGIES = (
    *("modular_arithmetic", "euclidean_gcd", "coordinate_geometry", "case_split"),
    *("row_reduction", "substitution", "inclusion_exclusion"),
    *("symbolic_simplification", "brute_force_enumeration", "prime_factorization"),
    *("equation_solving", "de_moivre", "generating_functions", "monotonicity"),
    *("complex_numbers", "dynamic_programming", "bounding", "direct_algebra"),
    *("graph_search", "block_decomposition", "linear_dependence", "roots_of_unity"),
    *("symmetry", "rank_factorization", "complement_counting", "invariants"),
    *("algorithmic_generalization", "outer_product_decomposition", "inversion"),
    *("synthetic_geometry", "power_of_a_point", "other"),
)

STEP_SPELLINGS = {
    "setup": "set up, setting up, problem setup, define, definition, definitions",
    "conclude": """conclusion, conclusions, concluding, answer, final answer, finalize,
    finalise, final""",
    "count": "counting, counts, enumerate, enumeration, combinatorics",
    "matrix": """matrices, matrix operation, matrix operations, matrix algebra,
    linear algebra, row reduce, row reduction, determinant""",
    "case": """cases, casework, case work, case analysis, case split, case splitting,
    split cases, case distinction""",
    "simplify": "simplification, simplifying, algebraic simplification",
    "solve_equation": """solve, solving, solve equations, solving equation,
    solving equations, equation solving, equation, equations, solve eq, solve system,
    solve for""",
    "factor": """factors, factoring, factorise, factorize, factorisation, factorization,
    prime factorization, prime factorisation""",
    "geometry": "geometric, geometric reasoning, geometry reasoning",
    "bound": "bounds, bounding, estimate, inequality, inequalities",
    "modular": """mod, modulo, modular arithmetic, modular reduction, congruence,
    congruences""",
    "substitute": "substitution, substituting, plug in, plugging in",
    "expand": "expansion, expanding, expand terms",
    "differentiate": "differentiation, differentiating, derivative, derivatives",
    "integrate": "integration, integrating, integral, integrals",
}

STRATEGY_SPELLINGS = {
    "modular_arithmetic": "modular, modulo, mod arithmetic, congruences",
    "euclidean_gcd": """euclid gcd, gcd, euclidean algorithm, euclid's algorithm,
    euclidean algorithm gcd, gcd euclidean""",
    "coordinate_geometry": """coordinates, coordinate, analytic geometry,
    cartesian coordinates, coordinate bash""",
    "case_split": """case splitting, cases, casework, case work, case analysis,
    case distinction""",
    "row_reduction": "row reduce, gaussian elimination, gauss elimination, row echelon",
    "substitution": "substitute, variable substitution, change of variables",
    "inclusion_exclusion": """inclusion exclusion principle, pie,
    inclusion and exclusion""",
    "symbolic_simplification": "simplification, simplify, symbolic",
    "brute_force_enumeration": """brute force, enumeration, exhaustive enumeration,
    exhaustive search, bruteforce, brute force search""",
    "prime_factorization": "prime factorisation, factorization, factorisation",
    "equation_solving": "solve equation, solve equations, solving equations",
    "de_moivre": """de moivre's formula, de moivre's theorem, de moivre formula,
    de moivre theorem, demoivre, demoivre's formula, demoivre's theorem, moivre""",
    "generating_functions": "generating function, gf",
    "monotonicity": "monotonic, monotone, monotonicity argument",
    "complex_numbers": "complex number, complex, complex plane",
    "dynamic_programming": "dp, dynamic program",
    "bounding": "bounds, bound, estimation",
    "direct_algebra": "algebra, direct computation, direct calculation, algebraic",
    "graph_search": "bfs, dfs, breadth first search, depth first search",
    "block_decomposition": "block matrix, block matrices, block decompose",
    "linear_dependence": "linear dependency, linear independence, linearly dependent",
    "roots_of_unity": "root of unity, roots of unity filter",
    "symmetry": "symmetric, symmetries, symmetry argument",
    "rank_factorization": "rank factorisation, rank decomposition",
    "complement_counting": "complementary counting, complement, count the complement",
    "invariants": "invariant, invariance",
    "algorithmic_generalization": """algorithmic generalisation, algorithm
    generalization, algorithm generalisation""",
    "outer_product_decomposition": "outer product, outer products, rank one sum",
    "inversion": "geometric inversion, circle inversion",
    "synthetic_geometry": "synthetic, euclidean geometry, pure geometry",
    "power_of_a_point": "power of point, power of the point",
    "other": "others, misc, miscellaneous",
}

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LETTERS = re.compile(r"[a-z]+")


def spelling(label: str) -> str:
    """The letters of a label in lower case, words parted by one space."""
    return " ".join(_LETTERS.findall(_CAMEL.sub(" ", label).lower()))


def table(names: Sequence[str], spellings: Mapping[str, str]) -> dict[str, str]:
    """Spelling → name, for every name itself and for its other spellings."""
    return {
        spelling(other): name
        for name in names
        for other in (name, *phrases(spellings[name]))
    }


_STEPS = table(VOCABULARY, STEP_SPELLINGS)
_STRATEGIES = table(STRATEGIES, STRATEGY_SPELLINGS)


def step_type(annotation: object) -> str | None:
    """The step type an annotation names; None for one that names none."""
    return _STEPS.get(spelling(annotation)) if isinstance(annotation, str) else None


def strategy_name(label: object) -> str | None:
    """The strategy a label names; None for a missing label and one that names none.

    A label that joins two strategies ("bounding and symmetry") names none.
    """
    return _STRATEGIES.get(spelling(label)) if isinstance(label, str) else None


def usable(steps: Sequence[str] | None) -> bool:
    """Whether a row has step annotations and each of them names a step type.

    Rows that fail this are not eligible (A.6); `omega.compute` refuses an annotation
    that names no type.
    """
    return bool(steps) and all(step_type(step) for step in steps or ())
