"""Letters read from responses, by hand."""

import pytest

from routejax.envs.answers import Open, decide
from routejax.errors import UserError

READ = [
    ("\\boxed{B}", "B"),
    ("The answer is \\boxed{(B)}", "B"),
    ("\\boxed{\\text{B}}", "B"),
    ("\\boxed{\\textbf{(B)}}", "B"),
    ("\\boxed{B: a score}", "B"),
    ("\\boxed{B. a score}", "B"),
    ("\\boxed{\\text{B) a score}}", "B"),
    ("\\boxed{B a score}", "B"),
    ("\\boxed{Option B}", "B"),
    ("\\boxed{b}", "B"),
    ("\\boxed{A}, no, \\boxed{B}", "B"),
    ("\\boxed{5 \\ll E}\n\n**Answer: B**", "B"),
    ("\\boxed{E = mc^2} so the answer is B.", "B"),
    ("\\boxed{A polygenic score}. Answer: B", "B"),
    ("Answer: B\nThe energy is \\boxed{E^2}", "B"),
    ("The answer is \\boxed{A}. Wait. Answer: B", "B"),
    ("The answer is B. Note that A is close.", "B"),
    ("The answer is B because I computed it.", "B"),
    ("The answer is A because it is.", "A"),
    ("the correct answer is (B)", "B"),
    ("The answer is option B", "B"),
    ("The answer is: **B**", "B"),
    ("Answer: $B$", "B"),
    ("**Final Answer:** B", "B"),
    ("Therefore:\n\n**B**", "B"),
    ("Therefore:\n(B).", "B"),
    ("Answer: A\n...\nAnswer: B", "B"),
    ("<think>Answer: A</think>Answer: B", "B"),
    ("", None),
    ("B is nice, A is not", None),
    ("The answer is A common one", None),
    ("The answer is 5", None),
    ("\\boxed{A, B}", None),
    ("Answer: A or B", None),
    ("Answer: BC", None),
    ("<think>Answer: B", None),
    ("Answer: \ud800B", None),
    ("answer is" + " " * 200_000 + "B", "B"),
    ("answer is " * 50_000, None),
]


@pytest.mark.parametrize(("response", "letter"), READ)
def test_the_letter_that_is_stated(response, letter):
    for gold in "ABC":
        verdict = decide(gold, response, kind="choice")
        assert not isinstance(verdict, Open)
        assert verdict.answer == letter
        assert verdict.solved is (letter == gold)
        assert verdict.status == ("answered" if letter else "no_answer")


@pytest.mark.parametrize("gold", ["(B)", "\\text{B}", "B.", "b", " B "])
def test_a_gold_may_be_dressed(gold):
    verdict = decide(gold, "\\boxed{B}", kind="choice")
    assert not isinstance(verdict, Open)
    assert verdict.solved


@pytest.mark.parametrize("gold", ["Z", "AB", "A, B", "7", "-"])
def test_a_gold_that_is_no_letter_is_a_mistake(gold):
    with pytest.raises(UserError, match="letter A to J"):
        decide(gold, "\\boxed{B}", kind="choice")
