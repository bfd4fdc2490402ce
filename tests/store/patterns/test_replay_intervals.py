"""Candidates and replay intervals against the definitions of the thesis, and its Figure 3.7."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.stored_patterns import candidates, replay_intervals
from trendweave.store.patterns.intervals import (
    Inside,
    Occurrences,
    Pace,
    Sliding,
    Span,
    Stretches,
    find_candidates,
    find_intervals,
    find_participants,
)
from trendweave.store.patterns.rewriting import Steps

TIMES = hs.lists(hs.integers(-20, 20), max_size=6, unique=True)
NOTHING, SOME = Steps(0, 0), Steps(1, None)


def at(times: list[int]) -> Occurrences:
    return Occurrences.at(np.array(times, np.int64))


def covered(stretches: Stretches) -> set[int]:
    pairs = zip(stretches.lows.tolist(), stretches.highs.tolist(), strict=True)
    return {time for low, high in pairs for time in range(low, high + 1)}


@given(hs.lists(TIMES, min_size=1, max_size=4), hs.integers(1, 12), hs.data())
@examples(100)
def test_points_that_are_part_of_a_candidate(symbols: list[list[int]], window: int, data: hs.DataObject) -> None:
    gaps = [data.draw(hs.integers(0, 2)) for _ in symbols[1:]]
    found = find_participants([at(times) for times in symbols], gaps, Span(window))
    expected = list(candidates(symbols, gaps, window))
    for place, (times, kept) in enumerate(zip(symbols, found, strict=True)):
        taken = {time for time, one in zip(sorted(times), kept, strict=True) if one}
        assert taken == {chain[place] for chain in expected}


@given(hs.lists(TIMES, min_size=1, max_size=3), hs.integers(1, 12), hs.booleans(), hs.booleans())
@examples(100)
def test_intervals_are_those_of_the_thesis(symbols: list[list[int]], window: int, first: bool, last: bool) -> None:
    """The base case, and S1 to S3. One symbol alone is both the first and the last that is asked for."""
    gaps = [1] * (len(symbols) - 1)
    before, after = NOTHING if first else SOME, NOTHING if last else SOME
    around = (before.least, after.least)
    found = find_intervals(
        find_candidates([at(times) for times in symbols], gaps, Span(window), around),
        before,
        after,
        Span(window),
        Pace(),
    )
    expected = replay_intervals(symbols, gaps, window, None if first else 1, None if last else 1)
    assert expected <= covered(found)
    if len(symbols) > 1 or not last:
        assert covered(found) <= expected | _between_ends(symbols, gaps, window, last)


def _between_ends(symbols: list[list[int]], gaps: list[int], window: int, last: bool) -> set[int]:
    """Where intervals of several candidates with the same first event are joined, what lies between them is covered."""
    spans: dict[int, list[int]] = {}
    for chain in candidates(symbols, gaps, window):
        spans.setdefault(chain[0], []).append(chain[-1])
    return {
        time
        for begin, ends in spans.items()
        for time in range(min(ends) - window + 1 if not last else begin, max(ends) + window)
        if time <= begin + window - 1
    }


@given(hs.lists(TIMES, min_size=2, max_size=3), hs.integers(1, 10), hs.data())
@examples(80)
def test_blocks_cover_what_points_cover(symbols: list[list[int]], window: int, data: hs.DataObject) -> None:
    """Where only blocks are known that may hold an event, no candidate is lost."""
    gaps = [1] * (len(symbols) - 1)
    slack = [[data.draw(hs.tuples(hs.integers(0, 3), hs.integers(0, 3))) for _ in times] for times in symbols]
    blocks = [
        Occurrences.within(
            np.array([time - low for time, (low, _) in zip(times, around, strict=True)], np.int64),
            np.array([time + high for time, (_, high) in zip(times, around, strict=True)], np.int64),
        )
        for times, around in zip(symbols, slack, strict=True)
    ]
    reach = data.draw(hs.sampled_from([Span(window), Sliding(window, max(1, window // 2)), Sliding(window, window)]))
    exact = find_intervals(find_candidates([at(t) for t in symbols], gaps, reach), NOTHING, NOTHING, reach, Pace())
    coarse = find_intervals(find_candidates(blocks, gaps, reach), NOTHING, NOTHING, reach, Pace())
    assert covered(exact) <= covered(coarse)


@pytest.mark.parametrize("slide", [1, 3, 7, 10])
def test_reach_of_sliding_windows(slide: int) -> None:
    reach = Sliding(10, slide)
    for time in range(-25, 25):
        windows = [start for start in range(-50 * slide, 50 * slide, slide) if start <= time < start + 10]
        assert reach.latest_end(np.array([time])) == max(windows) + 9
        assert reach.earliest_begin(np.array([time])) == min(windows)


def test_reach_inside_sessions() -> None:
    reach = Inside(Stretches.of(np.array([0, 3, 50]), np.array([4, 9, 60]), near=5))
    assert reach.latest_end(np.array([0, 9, 55])).tolist() == [9, 9, 60]
    assert reach.earliest_begin(np.array([0, 9, 55])).tolist() == [0, 0, 50]


class TestFigure37:
    """`A B C* D`, contiguous: a1 and b1 are not adjacent, a2 and b2 are, and d2 follows; a3 is alone."""

    A, B, D = [10, 40, 70], [14, 41, 90], [18, 45, 99]
    window = Span(10)

    def stretches(self, symbols: list[Occurrences], after: Steps) -> list[tuple[int, int]]:
        gaps = [1] * (len(symbols) - 1)
        found = find_intervals(find_candidates(symbols, gaps, self.window), NOTHING, after, self.window, Pace())
        return list(zip(found.lows.tolist(), found.highs.tolist(), strict=True))

    def test_an_index_for_a(self) -> None:
        assert self.stretches([at(self.A)], SOME) == [(10, 19), (40, 49), (70, 79)]

    def test_indexes_for_a_and_b(self) -> None:
        """The run A B has one occurrence: the events are neighbours."""
        run = Occurrences.runs(np.array([40]), np.array([41]))
        assert self.stretches([run], SOME) == [(40, 49)]

    def test_indexes_for_a_b_and_d(self) -> None:
        run = Occurrences.runs(np.array([40]), np.array([41]))
        assert self.stretches([run, at(self.D)], NOTHING) == [(40, 45)]


def test_shortening_by_the_pace_of_events() -> None:
    """3.4.4: two events of the pattern before, one after; neighbours are 2 to 5 steps apart."""
    found = find_candidates([at([100])], [], Span(20))
    pace = Pace(2, 5)
    assert covered(find_intervals(found, Steps(2, None), Steps(1, None), Span(20), pace)) == set(range(83, 116))
    assert covered(find_intervals(found, Steps(2, 2), Steps(1, 1), Span(20), pace)) == set(range(90, 106))


@given(
    hs.lists(hs.tuples(hs.integers(-9, 9), hs.integers(0, 5)), max_size=5), hs.lists(hs.integers(-12, 12), max_size=9)
)
@examples(100)
def test_times_inside_stretches(intervals: list[tuple[int, int]], times: list[int]) -> None:
    stretches = Stretches.of(
        np.array([low for low, _ in intervals], np.int64), np.array([low + more for low, more in intervals], np.int64)
    )
    for given_times in (times, sorted(times)):
        expected = [any(low <= time <= low + more for low, more in intervals) for time in given_times]
        assert stretches.hold(np.array(given_times, np.int64)).tolist() == expected
        assert (stretches.places(np.array(given_times, np.int64)) >= 0).tolist() == expected
