"""Templates against a naive expansion of the pattern, written apart from the planner (tests/reference/pattern.py)."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.profiles import examples
from tests.reference.pattern import (
    Event,
    Pattern,
    Repeat,
    Seq,
    begins,
    can_be_empty,
    plus,
    readings,
    seq,
    text,
    words,
)
from tests.reference.streams import patterns
from trendweave.errors import PlanningError
from trendweave.language import parse, print_query
from trendweave.planning.plan import NEVER, Guard, Plan

LONGEST = 6


def plan_of(pattern: Pattern) -> Plan:
    return trendweave.query(f"RETURN COUNT(*) PATTERN {text(pattern)}").plan


def accepted_words(plan: Plan) -> set[tuple[str, ...]]:
    names = sorted({state.variable for state in plan.template.states})
    return {word for n in range(1, LONGEST + 1) for word in product(names, repeat=n) if plan.template.accepts(word)}


@given(patterns(negation=False, max_leaves=5))
@examples(200)
def test_a_template_accepts_the_words_of_the_pattern(pattern: Pattern) -> None:
    if can_be_empty(pattern):
        with pytest.raises(PlanningError, match="TW206"):
            plan_of(pattern)
        pattern = seq(pattern, Event("Z"))
    plan = plan_of(pattern)
    assert accepted_words(plan) == words(pattern, LONGEST) - {()}


@given(patterns(negation=False, max_leaves=5, empty=False))
def test_a_template_is_deterministic_and_has_no_idle_states(pattern: Pattern) -> None:
    template = plan_of(pattern).template
    variable = [state.variable for state in template.states]
    steps = [(step.source, variable[step.target]) for step in template.transitions]
    assert len(steps) == len(set(steps))
    starts = [variable[start.state] for start in template.starts]
    assert len(starts) == len(set(starts))
    reached = {start.state for start in template.starts} | {step.target for step in template.transitions}
    leading_on = {end.state for end in template.ends} | {step.source for step in template.transitions}
    assert reached == leading_on == set(range(len(template.states)))


def canonical(negated: Pattern) -> str:
    """The text by which a plan names a negated pattern."""
    tree, _ = parse(f"PATTERN SEQ(Z, NOT ({text(negated)}))")
    return print_query(tree).removeprefix("PATTERN SEQ(Z, NOT ").removesuffix(")")


def is_clean(guard: Guard, clean: set[tuple[int, str]], gap: int, plan: Plan) -> bool:
    return any(all((gap, plan.negations[n].text) in clean for n in way) for way in guard.alternatives)


def is_open(guard: Guard, closed: Guard, clean: set[tuple[int, str]], gap: int, plan: Plan) -> bool:
    return is_clean(guard, clean, gap, plan) and not is_clean(closed, clean, gap, plan)


def paths_in_template(plan: Plan, word: tuple[str, ...], clean: set[tuple[int, str]]) -> int:
    """Follow the paths of the word, and ask each guard on them. Gap i lies before the i-th event."""
    template = plan.template
    reached: list[int] = []
    for gap, variable in enumerate(word):
        if gap == 0:
            moves = [(start.state, start) for start in template.starts]
        else:
            moves = [(step.target, step) for state in reached for step in template.transitions if step.source == state]
        reached = [
            target
            for target, move in moves
            if template.states[target].variable == variable and is_open(move.guard, move.closed, clean, gap, plan)
        ]
    ends = {end.state: end.guard for end in template.ends}
    return sum(state in ends and is_clean(ends[state], clean, len(word), plan) for state in reached)


@given(
    patterns(negation=True, max_leaves=4, empty=False), st.sampled_from(["skip-till-any-match", "skip-till-next-match"])
)
@examples(200)
def test_guards_say_the_same_as_the_readings_of_the_pattern(pattern: Pattern, strategy: str) -> None:
    """For every word, and for every choice of which gap is clean of which negation: one path, or none."""
    try:
        plan = trendweave.query(f"RETURN COUNT(*) PATTERN {text(pattern)} SEMANTICS {strategy}").plan
    except PlanningError as refused:
        assert [problem.code for problem in refused.problems] in (["TW209"], ["TW206"])  # noqa: PT017
        return
    variables = sorted({state.variable for state in plan.template.states})
    negations = [negated.text for negated in plan.negations]
    for length in range(1, 4):
        gaps = [(gap, name) for gap in range(length + 1) for name in negations]
        if len(gaps) > 8:
            continue
        for word in product(variables, repeat=length):
            ways = [{(gap, canonical(body)) for gap, body in way} for way in readings(pattern, word)]
            for flags in product([False, True], repeat=len(gaps)):
                clean = {gap for gap, flag in zip(gaps, flags, strict=True) if flag}
                expected = any(way <= clean for way in ways)
                assert paths_in_template(plan, word, clean) == expected, (word, clean)


@given(patterns(negation=True, max_leaves=4, empty=False))
@examples(150)
def test_every_state_reads_what_can_follow_whatever_the_nots_say(pattern: Pattern) -> None:
    """Under skip-till-next-match: a transition that asks for no more than a clean gap reads the variable."""
    try:
        plan = trendweave.query(f"RETURN COUNT(*) PATTERN {text(pattern)} SEMANTICS skip-till-next-match").plan
    except PlanningError as refused:
        assert [problem.code for problem in refused.problems] in (["TW209"], ["TW206"])  # noqa: PT017
        return
    template = plan.template
    names = {state.variable for state in template.states}
    leaving = {
        state.number: {
            template.states[step.target].variable
            for step in template.transitions
            if step.source == state.number and step.closed == NEVER
        }
        for state in template.states
    }
    ends = {end.state for end in template.ends}
    reached = {((template.states[start.state].variable,), start.state) for start in template.starts}
    for _ in range(3):
        for word, state in reached:
            if leaving[state] or state in ends:
                assert leaving[state] == {name for name in names if begins(pattern, (*word, name))}, word
        reached = {
            ((*word, template.states[step.target].variable), step.target)
            for word, state in reached
            for step in template.transitions
            if step.source == state
        }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A+", "(A+)+"),
        ("A+", "SEQ(A, (A+)?)"),
        ("A{3,}", "SEQ(A, A, A+)"),
        ("SEQ(A, B) OR SEQ(A, C)", "SEQ(A, (B OR C))"),
        ("SEQ(A*, B)", "SEQ(A+, B) OR B"),
        ("SEQ(A?, B)", "SEQ(A, B) OR B"),
        ("SEQ(A, NOT N, B)", "SEQ(SEQ(A, NOT N), B)"),
        ("SEQ(A, NOT N, B?, C)", "SEQ(A, NOT N, B, C) OR SEQ(A, NOT N, C)"),
        ("SEQ(A, B)", "SEQ(A, B) OR SEQ(A, NOT N, B)"),
        ("A{2,4}", "A{2} OR A{3} OR A{4}"),
    ],
)
def test_patterns_with_the_same_trends_have_the_same_template(one: str, other: str) -> None:
    templates = [trendweave.query(f"RETURN COUNT(*) PATTERN {pattern}").plan.template for pattern in (one, other)]
    assert templates[0] == templates[1]


def test_greta_figure_5_nested_negation() -> None:
    """(SEQ(A+, NOT SEQ(C, NOT E, D), B))+ splits into (SEQ(A+, B))+, SEQ(C, D) and E (GRETA, Example 1)."""
    plan = trendweave.query("RETURN COUNT(*) PATTERN (SEQ(A+, NOT SEQ(C, NOT E, D), B))+").plan
    steps = {
        (
            plan.template.states[step.source].variable,
            plan.template.states[step.target].variable,
        ): step.guard.alternatives
        for step in plan.template.transitions
    }
    assert steps == {("A", "A"): ((),), ("A", "B"): ((0,),), ("B", "A"): ((),)}
    assert [negated.text for negated in plan.negations] == ["SEQ(C, NOT E, D)", "E"]
    (inner,) = plan.negations[0].template.transitions
    assert inner.guard.alternatives == ((1,),)


def test_bounds_are_limited_by_states_and_not_by_their_text() -> None:
    assert len(plan_of(Repeat(Event("A"), 10_000, 10_000)).template.states) == 10_000
    with pytest.raises(PlanningError, match="TW208"):
        plan_of(Seq((plus(Event("B")), Repeat(Event("A"), 10_000, 10_000))))
