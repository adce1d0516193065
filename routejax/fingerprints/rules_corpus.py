"""The rule table of the `corpus` and `dolci` families: ten step types, in order.

The types are the paper's (A.2); the cues, the order, the reasons and the roles are our
choice. What the order rests on was measured on real traces against human labels:
verification tried after backtracking loses a third of the human verification steps, so
it stands first; a bare "wait" leads to a correction in 7 % of its steps and often opens
a check, so "wait" and "hmm" are commentary; "alternatively" is a change of route in two
of three. Cues are those that real traces use: rare ones ("scratch that", "secondly":
below five traces in 19,000) are left out, so that one small automaton holds them all.
Half of all steps hold no cue: what they contain, or the fallback, decides them.

Left out: languages other than English; they fall to the content tests and the fallback.
Whoever changes a row changes `VERSION`: fingerprints of two versions do not compare.
"""

from __future__ import annotations

from routejax.fingerprints.label import Roles, Rule
from routejax.fingerprints.lexicon import phrases

VERSION = "corpus-1"

VOCABULARY = (
    *("setup", "computation", "deduction", "verification", "backtracking"),
    *("exploration", "backward_reasoning", "decomposition", "commentary"),
    "conclusion",
)

# One letter per type, for labels that spell out whole paths.
LETTERS = dict(zip(VOCABULARY, "SCDVBERPNA", strict=True))

ROLES = Roles(
    exploration=frozenset({"exploration"}),
    verification=frozenset({"verification"}),
    backtracking=frozenset({"backtracking"}),
    closing=frozenset({"conclusion", "decomposition"}),
)

# Words that may stand before a cue bound to the opening of a step.
OPENERS = frozenset(
    phrases("""actually, again, ah, alright, also, and, but, hm, hmm, however, just, no,
    now, oh, ok, okay, or, right, so, then, wait, well, yeah, yes""")
)

RULES = (
    Rule(
        "verification",
        "says it checks",
        "explicit verification; tried later, backtracking swallows a third of it",
        phrases("""check, checks, checked, checking, recheck, verify, verifying,
        verified, verification, confirm, make sure, re examine, let me test, let's test,
        plug back, plugging back, is that right, is that correct, is this correct"""),
    ),
    Rule(
        "verification",
        "reports that a check came out",
        'the outcome of a check; denials mostly use other words ("doesn\'t match")',
        phrases("""that's correct, that is correct, this is correct, that's right,
        matches the, which matches, consistent with, is satisfied, makes sense"""),
        phrases("correct, yes that, that works, this works, that matches"),
    ),
    Rule(
        "backtracking",
        "owns up to an error",
        "an explicit error; before another way, which often follows in the step",
        phrases("""made a mistake, made an error, my mistake, not right, that's wrong,
        i was wrong, that's incorrect, wait no, no wait, actually no, oops, correction,
        i misread, i messed up"""),
        phrases("no that, no that's"),
    ),
    Rule(
        "backtracking",
        "gives up a route",
        "an explicit abandonment or return, with its ground",
        phrases("""redo, start over, from scratch, go back, going back, backtrack,
        reconsider, rethink, doesn't work, does not work, won't work, doesn't match,
        doesn't fit, dead end, contradiction, that can't be, can't be right,
        not possible"""),
    ),
    Rule(
        "exploration",
        "turns to another way",
        "an explicit change of route; 'alternatively' is one in two of three",
        phrases("""alternatively, another way, another approach, another method,
        another idea, another possibility, another thought, different approach,
        different way, think differently, try another, or maybe, or perhaps, what about,
        how about, case 1, case 2, case 3"""),
        phrases("instead"),
    ),
    Rule(
        "exploration",
        "tries or supposes",
        "one of several ways; 'maybe' and 'perhaps' only hedge after the opening",
        phrases("""let me try, let's try, what if, suppose, assume, assuming,
        could it be, let me consider, let's consider"""),
        phrases("maybe, perhaps, possibly, consider, try, either"),
    ),
    Rule(
        "backward_reasoning",
        "works from the goal",
        "from the wanted to what it takes ('to get 24, …'); rare, and bare 'reverse' is"
        " mostly about lists",
        phrases("""work backwards, working backwards, work backward, working backward,
        backwards from, backward from, starting from the end, start from the end,
        from the target, from the answer, want to show, need to show, suffices to,
        for this to, to achieve this, we would need, would need to be"""),
        phrases("to get, to reach, to make, to obtain"),
    ),
    Rule(
        "decomposition",
        "announces parts or an order of work",
        "a plan said outright; without 'finally', which as often opens the conclusion",
        phrases("""break it down, break this down, break down, breaking it down,
        let me break, let's break, step by step, first step, next step, split into,
        two parts, two cases, the plan, the approach, key steps, start by, start with,
        starting with, let me start, let's start, to solve this, to do this"""),
        phrases("first, second, next, step, part, plan, to solve"),
    ),
    Rule(
        "conclusion",
        "gives the answer",
        "before setup and deduction, which word most answers ('thus the answer is')",
        phrases("""final answer, answer is, answer should be, answer would be,
        correct answer, boxed, the result is, the solution is, that's the answer,
        be the answer, i'll go with, i'm confident, in conclusion, in summary,
        putting it all together"""),
        phrases("answer, the answer, thus answer, overall, final, the final"),
    ),
    Rule(
        "setup",
        "reads the problem",
        "what is given and asked",
        phrases("""the problem, the question, the user, the task, the input, the goal,
        given that, is given, are given, need to find, need to figure out,
        need to determine, according to the"""),
        phrases("given, problem, question"),
    ),
    Rule(
        "setup",
        "names quantities and wants",
        "'let x be …', and 'we need to …' where no plan and no check is announced",
        phrases("denote, define"),
        phrases("we need, i need to, we have, let x, let y, let n, let a, let p"),
    ),
    Rule(
        "deduction",
        "draws a consequence",
        "an explicit consequence or ground; before the work it is drawn about",
        phrases("""therefore, thus, hence, implies, which means, that means, this means,
        conclude, we get, leads to, because, since, so that, must be, must have"""),
        phrases("so, if"),
    ),
    Rule(
        "computation",
        "computes",
        "arithmetic and algebra by word",
        phrases("""compute, computing, calculate, calculating, calculation, add, adding,
        subtract, subtracting, multiply, multiplying, divide, dividing, times, plus,
        minus, equals, mod, modulo, remainder, simplify, simplifying, simplifies,
        factor, expand, expanding, substitute, substituting, plug in, plugging, convert,
        square root, squared, the sum, both sides, solve for"""),
    ),
    Rule(
        "computation",
        "shows arithmetic",
        "an equals sign or operators; decides a fifth of the steps without a cue",
        content="arithmetic",
    ),
    Rule(
        "computation",
        "shows an order of numbers",
        "a comparison of two numbers is worked out, not argued",
        content="comparison",
    ),
    Rule(
        "computation",
        "shows code",
        "a fenced program is work on the object, whatever stands in it",
        content="code",
    ),
    Rule(
        "computation",
        "shows a row",
        "rows of numbers and signs are states or matrices that are worked on",
        content="row",
    ),
    Rule(
        "commentary",
        "thinks aloud",
        "pauses, doubts and asides, bare 'wait' and 'hmm' among them",
        phrases("""i think, not sure, let me think, let's see, let me see, interesting,
        confusing, recall, remember"""),
        phrases("wait, hmm, hold on, okay"),
    ),
    Rule("commentary", "fallback", "prose without a cue comments on the work"),
)
