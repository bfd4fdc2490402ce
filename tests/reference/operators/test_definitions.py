"""The twin against small cases worked out by hand, and its shortcuts against the letter of the definitions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples

from .aggregation import aggregate, window_aggregate
from .chaining import chain
from .events import Event, in_order
from .filtering import keep
from .joining import window_join
from .matching import Bound, Symbol, contiguous, match, skip_till_any, skip_till_next, skip_till_next_as_written
from .windows import Rows, Span, active_by_definition, active_window, count_windows, time_windows


def at(*times: int) -> list[Event]:
    return [{"time": time, "v": number} for number, time in enumerate(times, 1)]


def values(events: list[Event]) -> list[Any]:
    return [event["v"] for event in events]


def test_count_windows_are_full_and_may_leave_gaps() -> None:
    events = at(0, 5, 5, 9, 20)
    assert [values(held.events) for held in count_windows(events, 2, 1)] == [[1, 2], [2, 3], [3, 4], [4, 5]]
    assert [values(held.events) for held in count_windows(events, 2, 2)] == [[1, 2], [3, 4]]
    assert [values(held.events) for held in count_windows(events, 2, 3)] == [[1, 2], [4, 5]]
    assert [(held.start, held.end, held.time) for held in count_windows(events, 3, 2)] == [(0, 5, 5), (5, 20, 20)]
    assert count_windows(events, 6, 1) == []


def test_time_windows_begin_at_the_first_event_or_at_multiples_of_the_slide() -> None:
    events = at(-1, 1, 8)
    from_first = time_windows(events, 4, 2, None)
    assert [(held.start, held.time, values(held.events)) for held in from_first] == [
        (-1, 2, [1, 2]),
        (1, 4, [2]),
        (3, 6, []),
        (5, 8, [3]),
        (7, 10, [3]),
    ]
    from_zero = time_windows(events, 4, 2)
    assert [(held.start, values(held.events)) for held in from_zero] == [
        (-4, [1]),
        (-2, [1, 2]),
        (0, [2]),
        (2, []),
        (4, []),
        (6, [3]),
        (8, [3]),
    ]
    assert time_windows([], 4, 2) == []


def test_the_active_window_of_rows_is_the_last_full_one() -> None:
    events = at(0, 5, 5, 9)
    assert active_window(events, Rows(2), -1) == []
    assert active_window(events, Rows(2), 4) == []
    assert values(active_window(events, Rows(2), 5)) == [2, 3]  # both events of time 5 are there
    assert values(active_window(events, Rows(2, 2), 8)) == [1, 2]
    assert values(active_window(events, Rows(2, 2), 9)) == [3, 4]


def test_the_active_window_of_time_moves_or_jumps() -> None:
    events = at(0, 5, 6, 9)
    assert values(active_window(events, Span(4), 8)) == [2, 3]
    assert values(active_window(events, Span(4), 9)) == [3, 4]
    assert values(active_window(events, Span(Fraction(7, 2)), 9)) == [3, 4]
    # [0, 5) is over with moment 4, [5, 10) with moment 9.
    assert values(active_window(events, Span(5, 5), 8)) == [1]
    assert values(active_window(events, Span(5, 5), 9)) == [2, 3, 4]


@examples(60)
@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=12),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(-20, 40),
)
def test_the_active_window_is_that_of_the_definition(times: list[int], size: int, slide: int, moment: int) -> None:
    events = at(*sorted(times))
    # Enough windows before the first event, so that one of them is active.
    marked = [{"time": -200, "v": 0}, *events, {"time": 200, "v": 0}]
    for window, step in ((Span(size, slide), slide), (Span(size), 1)):
        by_definition = active_by_definition(time_windows(marked, size, step), moment)
        assert values(active_window(events, window, moment)) == values(by_definition)
    rows = active_by_definition(count_windows(events, size, slide), moment)
    assert active_window(events, Rows(size, slide), moment) == rows


def test_filters_keep_what_is_true_in_order_of_time() -> None:
    events: list[Event] = [
        {"time": 2, "v": 5},
        {"time": 1, "v": None},
        {"time": None, "v": 9},
        {"time": 2, "v": 4},
        {"time": 0, "v": 1},
    ]
    kept = keep(events, lambda event: None if event["v"] is None else event["v"] > 3)
    assert values(kept) == [5, 4]


def test_events_of_one_time_have_an_order_of_their_own() -> None:
    events = [{"time": 1, "a": a, "v": v} for a, v in ((1, math.nan), (1, 3.0), (0, 9.0), (1, None), (1, -0.0))]
    assert [str(value) for value in values(in_order(events, read=["a", "v"]))] == ["9.0", "None", "-0.0", "3.0", "nan"]
    assert values(in_order(events, order_by=["v"], read=["a"]))[:2] == [None, 0.0]


def test_aggregates_are_exact_and_rounded_once() -> None:
    def of(function: str, *numbers: Any) -> Any:
        return aggregate(function, [{"v": number} for number in numbers], "v")

    assert of("SUM", 1e16, 1.0, -1e16, None) == 1.0
    assert of("SUM", 2**63 - 1, 2**63 - 1) == 2**64 - 2
    assert of("SUM", Decimal("0.10"), Decimal("-3.25")) == Decimal("-3.15")
    assert of("AVG", 2**53, 2**53 + 1, 2**53 + 3) == float(Fraction(3 * 2**53 + 4, 3))
    assert of("AVG", 1e308, 1e308) == 1e308
    assert of("SUM", 1e308, 1e308) == math.inf
    assert math.isnan(of("SUM", math.inf, -math.inf, 1.0))
    assert of("MIN", math.nan, 3.0, None) == 3.0
    assert math.isnan(of("MAX", math.nan, math.inf))
    assert of("MAX", "b", "a", None) == "b"
    assert (of("COUNT", None, None), of("SUM", None), of("MIN")) == (0, None, None)
    assert aggregate("COUNT", [{"v": None}], None) == 1


def test_windowed_aggregation_has_a_row_per_key_and_window() -> None:
    events = [{"time": t, "k": k, "v": v} for t, k, v in ((1, "a", 1), (3, None, 2), (4, "a", 3), (12, "a", 4))]
    wanted = [("n", "COUNT", None), ("s", "SUM", "v")]
    rows = window_aggregate(events, wanted, Span(5, 5), keys=["k"], schema=["time", "k", "v"])
    assert rows == [
        {"k": None, "window_start": 0, "window_end": 5, "time": 4, "n": 1, "s": 2},
        {"k": "a", "window_start": 0, "window_end": 5, "time": 4, "n": 2, "s": 4},
        {"k": "a", "window_start": 10, "window_end": 15, "time": 14, "n": 1, "s": 4},
    ]
    rows = window_aggregate(events, wanted, Rows(2, 1), keys=["k"], schema=["time", "k", "v"])
    assert rows == [
        {"k": "a", "window_start": 1, "window_end": 4, "time": 4, "n": 2, "s": 4},
        {"k": "a", "window_start": 4, "window_end": 12, "time": 12, "n": 2, "s": 7},
    ]


def test_joins_find_each_pair_once() -> None:
    left = [{"time": 1, "v": 1}, {"time": 3, "v": 2}]
    right = [{"time": 3, "w": 5}, {"time": 3, "w": 4}, {"time": 4, "w": 6}]

    def pairs(one: Rows | Span, two: Rows | Span) -> list[tuple[int, int, int]]:
        rows = window_join(left, right, None, one, two, left_schema=["time", "v"], right_schema=["time", "w"])
        return [(row["time"], row["left_v"], row["right_w"]) for row in rows]

    assert pairs(Span(2), Span(2)) == [(3, 2, 4), (3, 2, 5), (4, 2, 6)]
    assert pairs(Rows(2), Rows(1)) == [(3, 1, 4), (3, 1, 5), (3, 2, 4), (3, 2, 5), (4, 1, 6), (4, 2, 6)]
    assert pairs(Rows(3), Rows(2)) == [(3, 2, 4), (3, 2, 5)]
    same = window_join(left, left, lambda one, two: one["v"] < two["v"], Span(9), Span(9), left_schema=["time", "v"])
    assert same == [{"time": 3, "left_time": 1, "left_v": 1, "right_time": 3, "right_v": 2}]


def test_joins_of_keys_know_null_and_nan() -> None:
    left: list[Event] = [{"time": 1, "k": None}, {"time": 1, "k": math.nan}, {"time": 1, "k": 0.0}]
    right: list[Event] = [{"time": 2, "k": -0.0}, {"time": 2, "k": math.nan}, {"time": 2, "k": None}]
    rows = window_join(left, right, None, Rows(1), Rows(1), ["k"], left_schema=["k"], right_schema=["k"])
    assert [str(row["k"]) for row in rows] == ["None", "0.0", "nan"]
    assert list(rows[0]) == ["time", "k", "left_time", "right_time"]


def test_chains_feed_rows_on() -> None:
    rows = chain(
        [
            lambda events: keep(events, lambda event: event["v"] > 1),
            lambda events: window_aggregate(events, [("n", "COUNT", None)], Span(2, 2)),
            lambda events: window_aggregate(events, [("m", "MAX", "n")], Rows(2, 2), schema=["n"]),
        ],
        at(0, 1, 2, 3, 6),
    )
    assert rows == [{"window_start": 1, "window_end": 3, "time": 3, "m": 2}]


# ------------------------------------------------------------------------------------------------------------ matching


def letter(name: str, star: bool = False) -> Symbol:
    return Symbol(name, lambda event, bound: event["type"] == name, star)


def spell(word: str) -> list[Event]:
    return [{"time": time, "type": symbol} for time, symbol in enumerate(word)]


def words(found: list[tuple[Event, ...]]) -> list[str]:
    return ["".join(f"{event['type']}{event['time']}" for event in one) for one in found]


def test_a_window_of_the_thesis_holds_both_of_its_ends() -> None:
    assert words(match(spell("AXB"), [letter("A"), letter("B")], 2)) == ["A0B2"]
    assert words(match(spell("AXB"), [letter("A"), letter("B")], 1)) == []


def test_a_star_at_the_end_may_be_left_out() -> None:
    assert words(match(spell("ABB"), [letter("A"), letter("B", star=True)], 9)) == ["A0", "A0B1", "A0B1B2", "A0B2"]
    # Every match that has no event left out before its last one: the definition does not ask for the longest.
    assert words(match(spell("ABB"), [letter("A"), letter("B", star=True)], 9, contiguous)) == ["A0", "A0B1", "A0B1B2"]


@pytest.mark.parametrize(
    ("greedy", "expected"), [(True, []), (False, [(10, 12, 13, 16), (10, 12, 16), (10, 13, 16), (10, 16)])]
)
def test_a_rise_of_five_degrees(greedy: bool, expected: list[tuple[int, ...]]) -> None:
    """AB*C with B: temp > prev(temp), C: temp >= A.temp + 5. As it is written no rise ever ends: see `matching`."""

    def rises(event: Event, bound: Bound) -> bool:
        return bool(event["temp"] > bound[-1][1]["temp"])

    def has_risen(event: Event, bound: Bound) -> bool:
        return bool(event["temp"] >= bound[0][1]["temp"] + 5)

    pattern = [
        Symbol("A", lambda event, bound: True),
        Symbol("B", rises, star=True),
        Symbol("C", has_risen),
    ]
    events = [{"time": time, "temp": temp} for time, temp in enumerate((10, 12, 13, 16))]
    found = match(events, pattern, 9, skip_till_any, greedy=greedy)
    assert sorted(tuple(event["temp"] for event in one) for one in found) == expected


@examples(40)
@given(st.text("ABC", max_size=7), st.integers(1, 7))
def test_strategies_take_subsets_of_each_other(word: str, within: int) -> None:
    pattern = [letter("A"), letter("B", star=True), letter("C")]
    every = words(match(spell(word), pattern, within, skip_till_any))
    as_written = words(match(spell(word), pattern, within, skip_till_next_as_written))
    greedy = words(match(spell(word), pattern, within, skip_till_next))
    in_a_row = words(match(spell(word), pattern, within, contiguous))
    assert set(in_a_row) <= set(greedy) <= set(as_written) <= set(every)
    # "For any event e, there is at most one match starting with e."
    assert len({one[:2] for one in greedy}) == len(greedy)
    # All of it counted otherwise: any B between an A and a later C may be there or not.
    assert len(every) == sum(
        2 ** word[one:two].count("B")
        for one in range(len(word))
        for two in range(one + 1, min(one + within + 1, len(word)))
        if word[one] == "A" and word[two] == "C"
    )
