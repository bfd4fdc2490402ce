"""Which trends may be part of a longer one that goes on after their end: templates against words written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.profiles import examples
from tests.reference.certainty import LONGEST_TREND, goes_on_after_its_end
from tests.reference.pattern import Pattern, text, words
from tests.reference.query import ANY_MATCH, CONTIGUOUS
from tests.reference.streams import patterns
from trendweave.planning.matches.certainty import covered_by_longer


def following(pattern: str, strategy: str = ANY_MATCH) -> tuple[str, ...]:
    plan = trendweave.query(f"RETURN TRENDS PATTERN {pattern} WITHIN 1 minute").plan
    return covered_by_longer(plan.template, strategy)


@given(patterns(empty=False), st.sampled_from([ANY_MATCH, CONTIGUOUS]))
@examples(300)
def test_what_goes_on_is_what_words_show(pattern: Pattern, strategy: str) -> None:
    shown = goes_on_after_its_end(pattern, strategy == CONTIGUOUS)
    found = bool(following(text(pattern), strategy))
    assert found or not shown
    # Where there is no short word, those that show it may be longer than what is written out.
    if words(pattern, LONGEST_TREND):
        assert found == shown


@pytest.mark.parametrize(
    ("pattern", "strategy", "follows"),
    [
        ("SEQ(A, B+, C)", ANY_MATCH, ()),
        ("SEQ(A a, B b+, A a)", ANY_MATCH, ()),
        ("A{3}", ANY_MATCH, ()),
        ("A{3}", CONTIGUOUS, ()),
        ("A{2,3}", CONTIGUOUS, ("A",)),
        ("SEQ(A, B, C?)", ANY_MATCH, ("C",)),
        ("(SEQ(A, C) OR SEQ(A, B, C, D))", ANY_MATCH, ("D",)),
        ("(SEQ(A, C) OR SEQ(A, B, C, D))", CONTIGUOUS, ()),
        ("(SEQ(B, C) OR SEQ(A, B, C, D))", CONTIGUOUS, ("D",)),
        ("A{3,48}", ANY_MATCH, ("A",)),
        ("A{48}", ANY_MATCH, ()),
        ("A{49}", ANY_MATCH, ("A",)),  # too many states to follow them side by side
    ],
)
def test_by_hand(pattern: str, strategy: str, follows: tuple[str, ...]) -> None:
    assert following(pattern, strategy) == follows
