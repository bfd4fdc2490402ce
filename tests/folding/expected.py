"""Queries whose events streams may forget, and the rows they have: by counters, or by trends where there are NOTs."""

from __future__ import annotations

from typing import Any

from hypothesis.strategies import SearchStrategy

from tests.reference import prefix_counters, results
from tests.reference.counted_streams import PLAIN_DOUBLES, blocked_cases, counted_cases
from tests.reference.pattern import leaves
from tests.reference.query import Query

Case = tuple[Query, list[dict[str, Any]]]


def folded_cases(max_events: int = 8) -> SearchStrategy[Case]:
    """With NOTs and without; doubles that every order of adding gives the same sum of."""
    return counted_cases(max_events, PLAIN_DOUBLES) | blocked_cases(max_events, PLAIN_DOUBLES)


def expected_rows(query: Query, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What one batch over all events gives."""
    has_not = any(negated for _, negated in leaves(query.pattern))
    return results.rows(query, events) if has_not else prefix_counters.rows(query, events)
