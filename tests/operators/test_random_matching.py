"""Trend queries against Definitions 2.14 to 2.18: sequences of basic and Kleene-star symbols, by each strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.profiles import examples
from tests.reference.operators.events import Event
from tests.reference.operators.matching import (
    Bound,
    Strategy,
    Symbol,
    contiguous,
    match,
    skip_till_any,
    skip_till_next,
)

STRATEGIES: dict[str, Strategy] = {
    "skip-till-any-match": skip_till_any,
    "skip-till-next-match": skip_till_next,
    "contiguous": contiguous,
}


def of(kind: str, *conditions: Callable[[Event, Bound], bool]) -> Callable[[Event, Bound], bool]:
    return lambda event, bound: event["type"] == kind and all(condition(event, bound) for condition in conditions)


def is_more_than_the_last(name: str) -> Callable[[Event, Bound], bool]:
    """`name.v < this.v` for the latest event of that symbol; without one nothing is asked."""

    def test(event: Event, bound: Bound) -> bool:
        earlier = [one["v"] for symbol, one in bound if symbol == name]
        return not earlier or earlier[-1] < event["v"]

    return test


def rises(event: Event, bound: Bound) -> bool:
    """`B.v < NEXT(B).v`: of neighbours that are both read as B."""
    return not bound or bound[-1][0] != "B" or bound[-1][1]["v"] < event["v"]


def is_large(event: Event, bound: Bound) -> bool:
    return bool(event["v"] > 1)


#: Pattern, conditions, and both as symbols.
PATTERNS: list[tuple[str, str, list[Symbol]]] = [
    ("SEQ(A, B*, C)", "", [Symbol("A", of("A")), Symbol("B", of("B"), True), Symbol("C", of("C"))]),
    (
        "SEQ(A, B*, C)",
        "WHERE B.v < NEXT(B).v AND A.v < C.v",
        [Symbol("A", of("A")), Symbol("B", of("B", rises), True), Symbol("C", of("C", is_more_than_the_last("A")))],
    ),
    (
        "SEQ(A, B*, A D)",
        "WHERE A.v < B.v AND D.v > 1",
        [
            Symbol("A", of("A")),
            Symbol("B", of("B", is_more_than_the_last("A")), True),
            Symbol("D", of("A", is_large)),
        ],
    ),
    # An event of type B may be read as B or as D: `greedy=False`.
    ("SEQ(A, B*, B D)", "", [Symbol("A", of("A")), Symbol("B", of("B"), True), Symbol("D", of("B"))]),
    ("SEQ(A, B, C*)", "", [Symbol("A", of("A")), Symbol("B", of("B")), Symbol("C", of("C"), True)]),
    ("SEQ(A*, B, C)", "", [Symbol("A", of("A"), True), Symbol("B", of("B")), Symbol("C", of("C"))]),
]


@examples(60)
@given(
    pattern=st.sampled_from(PATTERNS),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    events=st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ABC"), st.integers(0, 3)), max_size=8),
    within=st.integers(1, 12),
)
def test_matches_are_those_of_the_definitions(
    pattern: tuple[str, str, list[Symbol]], strategy: str, events: list[tuple[int, str, int]], within: int
) -> None:
    text, where, symbols = pattern
    stream: list[Event] = []
    for after, kind, value in events:
        stream.append({"time": (stream[-1]["time"] if stream else 0) + after, "type": kind, "v": value})
    schema = pa.schema({"time": pa.int64(), "type": pa.string(), "v": pa.int64()})
    # The window of the definition holds `last - first <= w`, ours `last - first < w`.
    query = f"RETURN TRENDS PATTERN {text} {where} WITHIN {within + 1} seconds SEMANTICS {strategy}"
    found = trendweave.query(query).run(pa.Table.from_pylist(stream, schema)).to_pylist()
    expected = match(stream, symbols, within, STRATEGIES[strategy], greedy=False)
    assert sorted(set(map(times, (row["events"] for row in found)))) == sorted(map(times, expected))


def times(events: Any) -> tuple[int, ...]:
    return tuple(event["time"] for event in events)
