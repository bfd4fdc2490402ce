"""The comparer of these tests: lists of trends that are not the right ones must fail it."""

from __future__ import annotations

import pytest

from tests.features.runs import assert_trends, stream

EVENTS = stream("a1 a2 b3")


@pytest.mark.parametrize(
    "trends",
    [
        (),
        ("a1 b3",),
        ("a1 b3", "a2 b3"),
        ("a1 b3", "a2 b3", "a1 a2"),
        ("a1 b3", "a2 b3", "a1 a2 b3", "b3"),
        ("a1 b3", "a1 b3", "a1 a2 b3"),
    ],
)
def test_other_trends_fail(run, trends):
    with pytest.raises(AssertionError):
        assert_trends(run, "PATTERN SEQ(A+, B)", EVENTS, *trends)


def test_the_right_trends_pass(run):
    assert_trends(run, "PATTERN SEQ(A+, B)", EVENTS, "a1 b3", "a2 b3", "a1 a2 b3")
