"""Groups of cues that decide no type of the `rlve` family: what a step speaks of.

Features count the steps that carry a mark. The groups and their words are our choice;
they name the procedures of procedurally generated tasks (sorting, stacks, graphs, …)
and turns of a route that no single type holds (doubt, a restart, a summary).

Whoever changes a row changes `rules_rlve.VERSION`.
"""

from __future__ import annotations

from routejax.fingerprints.label import Mark
from routejax.fingerprints.lexicon import phrases

MARKS = (
    # Turns of the route.
    Mark("doubt", opening=phrases("wait, hmm, hm, hold on")),
    Mark(
        "ordinal",
        opening=phrases("""first, firstly, second, secondly, third, thirdly, next, then,
        finally, lastly"""),
    ),
    Mark("numbered", content="numbered"),
    Mark("asked", content="question"),
    Mark("first", opening=phrases("first, firstly, first of all")),
    Mark("last", opening=phrases("finally, lastly, last")),
    Mark(
        "confirmed",
        phrases("""checks out, that works, this works, which works, it works,
        that's correct, that is correct, this is correct, that's right, matches,
        as expected, holds, consistent with, is satisfied, are satisfied"""),
        phrases("correct, yes, yep"),
    ),
    Mark(
        "substituted back",
        phrases("""plug back, plugging back, plug it back, plugging it back,
        plug these back, substitute back, substituting back, substitute it back,
        back into the original, back into the equation"""),
    ),
    Mark(
        "example",
        phrases("""for example, for instance, small case, small cases, simple case,
        smaller case, test case, an example, let's take n, e g"""),
    ),
    Mark(
        "constraint",
        phrases("""constraint, constraints, condition, conditions, satisfy, satisfies,
        valid, invalid, allowed, not allowed, violates, violate, requirement"""),
    ),
    Mark(
        "case",
        phrases("""case 1, case 2, case 3, case a, case b, case i, case ii, first case,
        second case, two cases, three cases, each case, by cases, in both cases"""),
    ),
    Mark("assumed", phrases("suppose, supposing, assume, assuming, assumption")),
    Mark(
        "contradicted",
        phrases("""contradiction, contradicts, contradictory, impossible, not possible,
        can't be, cannot be, absurd"""),
    ),
    Mark("tried", phrases("try, trying, tried, attempt, attempts")),
    Mark(
        "restarted",
        phrases("""start over, starting over, start again, from scratch, begin again,
        let me redo, redo, restart, from the beginning, back to the start"""),
    ),
    Mark(
        "summed up",
        phrases("""in summary, to summarize, summarizing, to recap, recap, to sum up,
        putting it all together, putting it together, putting everything together,
        putting this together, overall"""),
    ),
    Mark(
        "given up",
        phrases("""i give up, give up, can't solve, cannot solve, no idea, i'm stuck,
        i am stuck, just guess, have to guess, i'll guess, a guess, can't determine,
        cannot determine, i'll go with, don't know how"""),
    ),
    Mark(
        "backwards",
        phrases("""work backwards, working backwards, work backward, working backward,
        backwards from, backward from, from the end, from the target, from the goal,
        from the answer, in reverse, reverse order, suffices to, right to left"""),
    ),
    # Procedures.
    Mark(
        "sorting",
        phrases("""sort, sorts, sorted, sorting, smallest, largest, ascending,
        descending, increasing order, decreasing order, in order, order is, swap"""),
    ),
    Mark(
        "counting",
        phrases("""count, counts, counted, counting, tally, number of, how many,
        occurrences, occurs, times in, total number"""),
    ),
    Mark(
        "stack",
        phrases("""stack, push, pop, pushed, popped, bracket, brackets, parenthesis,
        parentheses, closing, opening, unmatched, nested, top of"""),
    ),
    Mark(
        "simulation",
        phrases("""simulate, simulating, simulation, iteration, iterations, time step,
        state, states, round, turn, turns, after step, next state, rule, rules"""),
    ),
    Mark(
        "graph",
        phrases("""graph, node, nodes, edge, edges, vertex, vertices, path, paths,
        neighbor, neighbors, neighbour, neighbours, connected, cycle, tree, visited,
        bfs, dfs, breadth first, depth first, shortest path"""),
    ),
    Mark(
        "grid",
        phrases("""grid, cell, cells, row, rows, column, columns, board, square,
        squares, matrix, up, down, left, right, north, south, east, west"""),
    ),
    Mark(
        "equation",
        phrases("""equation, equations, solve for, both sides, unknown, variable,
        variables, coefficient, coefficients, roots, quadratic, linear, polynomial"""),
    ),
    Mark(
        "modular",
        phrases("""mod, modulo, modular, remainder, remainders, congruent, divisible,
        divisibility, residue, gcd, coprime, digit sum"""),
    ),
    Mark(
        "rewriting",
        phrases("""rewrite, rewriting, rewritten, replace, replaced, replacing, string,
        substring, token, tokens, adjacent, pattern, becomes, character, characters,
        letter, letters"""),
    ),
    Mark(
        "dynamic programming",
        phrases("""dynamic programming, dp, subproblem, subproblems, recurrence,
        recursion, recursive, recursively, memo, memoization, base case, f n"""),
    ),
    Mark(
        "optimisation",
        phrases("""optimal, optimum, minimum, maximum, minimize, maximize, minimise,
        maximise, minimal, maximal, greedy, cost, best, cheapest, at least, at most"""),
    ),
    Mark(
        "combinatorics",
        phrases("""permutation, permutations, combination, combinations, arrangement,
        arrangements, choose, factorial, binomial, probability, ways, inclusion,
        subset, subsets"""),
    ),
    Mark(
        "geometry",
        phrases("""triangle, angle, angles, circle, radius, diameter, area, perimeter,
        parallel, perpendicular, polygon, length, coordinates, distance"""),
    ),
)

# Marks that name a procedure, with what their words speak of.
PROCEDURES = {
    "sorting": "order and sorting",
    "counting": "counts and numbers of things",
    "stack": "stacks and brackets",
    "simulation": "states, rounds and rules",
    "graph": "nodes, edges and paths",
    "grid": "cells, rows and directions",
    "equation": "equations and unknowns",
    "modular": "remainders and divisibility",
    "rewriting": "strings and replacement",
    "dynamic programming": "recurrences and subproblems",
    "optimisation": "optima and costs",
    "combinatorics": "arrangements and probability",
    "geometry": "figures, lengths and angles",
}
