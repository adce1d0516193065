"""Groups of cues that decide no type of the `corpus` family: what a step speaks of.

Features count the steps that carry a mark. The groups and their words are our choice:
turns of a route that no single type holds (doubt, a restart, a summary), and subjects
of mathematics, code and science. Where a rule has a phrase already, a mark takes it
over, so that the automaton of cues stays small.

Whoever changes a row changes `rules_corpus.VERSION`.
"""

from __future__ import annotations

from routejax.fingerprints.label import Mark
from routejax.fingerprints.lexicon import phrases

MARKS = (
    # Turns of the route.
    Mark("doubt", opening=phrases("wait, hmm, hold on")),
    Mark("hedged", phrases("maybe, perhaps, might be, not sure, i think, probably")),
    Mark("asked", content="question"),
    Mark("numbered", content="numbered"),
    Mark("ordinal", opening=phrases("first, second, third, next, then, finally")),
    Mark("first", opening=phrases("first, step 1")),
    Mark("last", opening=phrases("finally")),
    Mark(
        "confirmed",
        phrases("""that's correct, that is correct, this is correct, that's right,
        matches the, which matches, consistent with, is satisfied"""),
        phrases("correct, yes that, that works, this works, that matches"),
    ),
    Mark("substituted back", phrases("plug back, plugging back, back into")),
    Mark("example", phrases("for example, for instance, test case")),
    Mark("edge case", phrases("edge case, edge cases")),
    Mark("erred", phrases("mistake, made an error, oops, i misread, i messed up")),
    Mark("restarted", phrases("redo, start over, from scratch")),
    Mark(
        "other way",
        phrases("""alternatively, another way, another approach, another method,
        another idea, different approach, different way"""),
    ),
    Mark("case", phrases("case 1, case 2, case 3, two cases, each case")),
    Mark("assumed", phrases("suppose, assume, assuming")),
    Mark(
        "contradicted",
        phrases("contradiction, impossible, not possible, that can't be"),
    ),
    Mark("tried", phrases("try, trying")),
    Mark("option", phrases("option, options")),
    Mark("boxed", phrases("boxed, final answer")),
    Mark("summed up", phrases("in summary, in conclusion, putting it all together")),
    Mark("given up", phrases("i'll go with, guess, stuck")),
    Mark(
        "backwards",
        phrases("""work backwards, working backwards, work backward, working backward,
        backwards from, backward from, starting from the end, start from the end"""),
    ),
    # Subjects.
    Mark("algebra", phrases("equation, equations, polynomial, quadratic, roots")),
    Mark("number theory", phrases("mod, modulo, divisible, prime, primes, gcd")),
    Mark("combinatorics", phrases("permutations, combinations, ways, choose, subsets")),
    Mark("probability", phrases("probability, random, expected value, distribution")),
    Mark("geometry", phrases("triangle, angle, circle, radius, area")),
    Mark("calculus", phrases("derivative, integral, limit, integrate")),
    Mark("proof", phrases("prove, proof, induction, lemma, inequality")),
    Mark("program", phrases("function, code, loop, python, array, string")),
    Mark("data structure", phrases("list, stack, queue, graph, tree, nodes, sorted")),
    Mark("recursion", phrases("dp, recursion, recursive, recurrence, base case")),
    Mark("physics", phrases("energy, force, velocity, mass, electric")),
    Mark("life and matter", phrases("reaction, molecule, acid, cells, protein, gene")),
)

# Marks that name a subject, with what their words speak of.
SUBJECTS = {
    "algebra": "equations and polynomials",
    "number theory": "remainders, divisibility and primes",
    "combinatorics": "arrangements and choices",
    "probability": "chance and distributions",
    "geometry": "figures, angles and areas",
    "calculus": "derivatives, integrals and limits",
    "proof": "proofs and inequalities",
    "program": "code",
    "data structure": "lists, trees and graphs",
    "recursion": "recurrences",
    "physics": "forces, energies and fields",
    "life and matter": "molecules and cells",
}
