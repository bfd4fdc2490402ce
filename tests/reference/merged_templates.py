"""The slow twin of the kernel for many queries: trends of a merged template, one window at a time, in Python integers.

`list_trends` follows the definition: a trend is a sequence of (row, state) at increasing ticks that begins in a start
state, goes along transitions, and has no row of a transition's blocker strictly between its two ticks. `totals` finds
the same numbers for more trends than can be listed; a test holds it to the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """Rows and a template as lists; the names are those of the kernel's inputs."""

    segment_starts: list[int]
    tick: list[int]
    letters: list[int]  # integers of any size
    window_first: list[list[int]]
    window_last: list[list[int]]
    state_window: list[int]
    state_variable: list[int]
    is_start: list[bool]
    transitions: list[tuple[int, int, int]]  # source, target, blocker
    finals: list[tuple[int, int]]  # query, state
    query_window: list[int]
    linear: list[tuple[list[bool], list]] = field(default_factory=list)
    extrema: list[tuple[list[bool], list]] = field(default_factory=list)  # None where NULL


@dataclass(frozen=True)
class Answer:
    """What one query has in one window: an extremum is None where no row has a value."""

    count: int
    linear: tuple
    extrema: tuple


Key = tuple[int, int, int]  # query, segment, window


def windows(case: Case) -> Iterator[tuple[int, int, int, list[int]]]:
    """(segment, kind, window, its rows)."""
    for segment in range(len(case.segment_starts) - 1):
        rows = range(case.segment_starts[segment], case.segment_starts[segment + 1])
        for kind, (first, last) in enumerate(zip(case.window_first, case.window_last, strict=True)):
            numbers = {window for row in rows for window in range(first[row], last[row] + 1)}
            for window in sorted(numbers):
                yield segment, kind, window, [row for row in rows if first[row] <= window <= last[row]]


def reads(case: Case, row: int, letter: int) -> bool:
    return bool(case.letters[row] >> letter & 1)


def list_trends(case: Case, kind: int, rows: list[int]) -> list[list[tuple[int, int]]]:
    """All beginnings of trends: sequences of (row, state) that a final state would make trends."""
    found: list[list[tuple[int, int]]] = []
    states = [state for state, its_kind in enumerate(case.state_window) if its_kind == kind]

    def follow(path: list[tuple[int, int]]) -> None:
        found.append(path)
        last_row, last_state = path[-1]
        for row in rows:
            for source, target, blocker in case.transitions:
                if source != last_state or case.tick[row] <= case.tick[last_row]:
                    continue
                if not reads(case, row, case.state_variable[target]):
                    continue
                between = [r for r in rows if case.tick[last_row] < case.tick[r] < case.tick[row]]
                if blocker >= 0 and any(reads(case, r, blocker) for r in between):
                    continue
                follow([*path, (row, target)])

    for row in rows:
        for state in states:
            if case.is_start[state] and reads(case, row, case.state_variable[state]):
                follow([(row, state)])
    return found


def answers_by_listing(case: Case) -> dict[Key, Answer]:
    """One answer per query, segment and window with a trend."""
    answers = {}
    for segment, kind, window, rows in windows(case):
        paths = list_trends(case, kind, rows)
        for query, its_kind in enumerate(case.query_window):
            if its_kind != kind:
                continue
            final = [state for its_query, state in case.finals if its_query == query]
            trends = [path for path in paths if path[-1][1] in final]
            if not trends:
                continue
            linear = tuple(
                sum(values[row] for path in trends for row, state in path if states[state])
                for states, values in case.linear
            )
            extrema = tuple(
                max(
                    (codes[row] for path in trends for row, state in path if states[state] and codes[row] is not None),
                    default=None,
                )
                for states, codes in case.extrema
            )
            answers[query, segment, window] = Answer(len(trends), linear, extrema)
    return answers


@dataclass
class Sums:
    """What a set of beginnings of trends amounts to."""

    count: int = 0
    linear: list = field(default_factory=list)
    extrema: list = field(default_factory=list)

    def add(self, other: Sums) -> None:
        if not other.count:
            return
        if not self.count:
            self.linear, self.extrema = [0] * len(other.linear), [None] * len(other.extrema)
        self.count += other.count
        self.linear = [a + b for a, b in zip(self.linear, other.linear, strict=True)]
        self.extrema = [larger(a, b) for a, b in zip(self.extrema, other.extrema, strict=True)]


def larger(a: int | None, b: int | None) -> int | None:
    known = [x for x in (a, b) if x is not None]
    return max(known) if known else None


def totals(case: Case, kind: int, rows: list[int]) -> list[Sums]:
    """Per state, the sums over all beginnings of trends that end in it."""
    ended = [Sums() for _ in case.state_window]
    remembered = [Sums() for _ in case.transitions]
    for tick in sorted({case.tick[row] for row in rows}):
        now = [row for row in rows if case.tick[row] == tick]
        brought: list[tuple[int, Sums]] = []
        for row in now:
            for state, its_kind in enumerate(case.state_window):
                if its_kind != kind or not reads(case, row, case.state_variable[state]):
                    continue
                new = Sums()
                if case.is_start[state]:
                    new.add(Sums(1, [0] * len(case.linear), [None] * len(case.extrema)))
                for (_, target, _), memory in zip(case.transitions, remembered, strict=True):
                    if target == state:
                        new.add(memory)
                if new.count:
                    for k, (states, values) in enumerate(case.linear):
                        new.linear[k] += values[row] * new.count if states[state] else 0
                    for k, (states, codes) in enumerate(case.extrema):
                        new.extrema[k] = larger(new.extrema[k], codes[row] if states[state] else None)
                brought.append((state, new))
        for at, (_, _, blocker) in enumerate(case.transitions):
            if blocker >= 0 and any(reads(case, row, blocker) for row in now):
                remembered[at] = Sums()
        for state, new in brought:
            ended[state].add(new)
            for (source, _, _), memory in zip(case.transitions, remembered, strict=True):
                if source == state:
                    memory.add(new)
    return ended


def answers(case: Case) -> dict[Key, Answer]:
    """The same as `answers_by_listing`, in time that does not grow with the number of trends."""
    found = {}
    for segment, kind, window, rows in windows(case):
        ended = totals(case, kind, rows)
        for query, its_kind in enumerate(case.query_window):
            if its_kind != kind:
                continue
            both = Sums()
            for its_query, state in case.finals:
                if its_query == query:
                    both.add(ended[state])
            if both.count:
                found[query, segment, window] = Answer(both.count, tuple(both.linear), tuple(both.extrema))
    return found
