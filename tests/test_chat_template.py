"""Chat templates as programs of somebody else's: what they may do, and for how long."""

from datetime import datetime

import pytest

from routejax import chat_template
from routejax.chat_template import Template
from routejax.errors import UserError

USER = [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% for m in messages %}", "chat template is damaged"),
        ("{% generation %}", "chat template is damaged"),
        ("{{ messages | zork }}", "is damaged: No filter named 'zork'"),
        ("{% for i in [] %}" * 25 + "{% endfor %}" * 25, "is damaged: too many"),
        ("{{ raise_exception('only users') }}", "refuses: only users"),
        ("{{ raise_exception() }}", "refuses: it gives no reason"),
        ("{{ messages.append(1) }}", "refuses: .*'append' .* is unsafe"),
        ("{{ ''.__class__.__mro__ }}", "refuses: .*__class__.* is unsafe"),
        ("{{ 1 / 0 }}", "fails with ZeroDivisionError"),
        ("{{ 'a' + 1 }}", "fails with TypeError"),
        ("{{ none() }}", "fails with TypeError"),
        ("{{ messages[::0] }}", "fails with ValueError"),
        ("{% include 'x' %}", "fails with TypeError"),
        (
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
            "fails with RecursionError",
        ),
        ("{{ raise_exception | tojson }}", "fails with TypeError"),
        ("{{ strftime_now(3) }}", "fails with TypeError"),
        ("{{ lipsum(9) }}", "refuses: 'lipsum' is undefined"),
    ],
)
def test_templates_that_fail_or_reach_out(source, words):
    with pytest.raises(UserError, match=words) as caught:
        Template(source=source).render(USER)
    assert "\n" not in str(caught.value)


_TWICE = (
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
)
_DEEP = (
    "{% for x in [1, 1] recursive %}{{ loop([1, 1]) if loop.depth < 60 }}{% endfor %}"
)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% for i in range(10**9) %}{% endfor %}", "Range too big"),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}"
            "{% endfor %}",
            "takes more than 9,000 steps",
        ),
        (_TWICE + "{{ f(60) }}", "takes more than 9,000 steps"),
        (_DEEP, "takes more than 9,000 steps"),
        (
            "{% for i in range(999) %}{{ 'x' * 9999 }}{% endfor %}",
            "writes more than 1,000,008 characters",
        ),
    ],
)
def test_templates_that_would_not_end(source, words, monkeypatch):
    monkeypatch.setattr(chat_template, "_MOST_STEPS", 9000)
    with pytest.raises(UserError, match=words):
        Template(source=source).render(USER)


def test_limits_are_of_one_rendering_and_grow_with_what_is_said(monkeypatch):
    monkeypatch.setattr(chat_template, "_MOST_STEPS", 6)
    monkeypatch.setattr(chat_template, "_MOST_ADDED", 3)
    twice = "{% for m in messages %}{{ m.content + m.content }}{% endfor %}xyz"
    template = Template(source=twice)
    for _ in range(4):
        assert template.render(USER * 6) == "a" * 12 + "xyz"
    with pytest.raises(UserError, match="more than 6 steps"):
        template.render(USER * 7)
    with pytest.raises(UserError, match="more than 3 characters"):
        Template(source="wxyz").render([])


def test_loops_are_what_they_were():
    """The count is between a loop and what it goes through."""
    source = (
        "{% for i in 'abc' %}{{ loop.index }}/{{ loop.length }}{{ i }}"
        "{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }} "
        "{% endfor %}{% for i in [] %}x{% else %}none{% endfor %}"
        "{% for i in missing %}x{% endfor %}{% for a, b in {'k': 1}.items() if b %}"
        "{{ a }}{{ b }}{% endfor %}"
    )
    assert Template(source=source).render([]) == (
        "1/3a3TrueFalse 2/3b2FalseFalsea 3/3c1FalseTrueb nonek1"
    )


def test_what_templates_may_use():
    source = (
        "{{ strftime_now('%d %b %Y') }} {{ {'b': '<é>', 'a': [1]} | tojson }} "
        "{%- for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}"
        "{%- endfor %}"
    )
    template = Template(source=source, clock=lambda: datetime(2026, 3, 9))
    assert template.render([]) == '09 Mar 2026 {"b": "<é>", "a": [1]}01'
