"""Rows of a plan -> a copy of each for every rule that it may play a part in.

A trend of a rule holds an event of every variable that no trend is without. So where such a variable is compared with
constants, a rule needs only the rows that may share a window with one of its events: rules that rarely fire cost
little, whatever else is in their patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.kernels.filter_index import keep_near
from trendweave.planning.plan import Plan, Template
from trendweave.planning.preparation import Preparation
from trendweave.programs.shared.constant_index import VariableRules, match_variable
from trendweave.rows.encoded import EncodedRows, encode_rows
from trendweave.rows.reach import find_reach
from trendweave.rows.segments import bit_of

#: So many copies are made at once, if one rule does not have more.
COPIES_AT_ONCE = 1 << 21


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of rows by rule; inside a rule they stand in their order. `letters`: what its rule reads a copy as."""

    row: np.ndarray
    rule: np.ndarray
    letters: np.ndarray


@dataclass(frozen=True, slots=True)
class _Listed:
    """Rows per rule: those of the i-th rule are `row[starts[i]:starts[i + 1]]`."""

    starts: np.ndarray
    row: np.ndarray
    letters: np.ndarray

    @property
    def rules(self) -> np.ndarray:
        """The rule of each row."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class _Near:
    """Rows that may share a window with each row: `low` to `high`. `rows` are those that rules read whatever their
    constants, and `first`, `end` the same as numbers of them."""

    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    end: np.ndarray


class RowCopies:
    """Prepared rows, in order of partition and time, and their copies for some rules."""

    def __init__(
        self, plan: Plan, preparation: Preparation, table: pa.Table, variables: VariableRules, rules: int
    ) -> None:
        self._plan, self._rules = plan, rules
        self._encoded: EncodedRows = encode_rows(plan, preparation, table)
        self.table: pa.Table = self._encoded.table.combine_chunks()
        self._letters = self._encoded.partitions.letters
        words = self._letters.shape[1]
        self._bits = {variable: bit_of(variable, words) for variable in variables}
        self._matches = {
            variable: match_variable(own, self.table, np.flatnonzero((self._letters & bits).any(axis=1)))
            for (variable, own), bits in zip(variables.items(), self._bits.values(), strict=True)
        }
        # Variables that all rules read alike.
        self._free = ~np.bitwise_or.reduce(list(self._bits.values()))
        required = required_variables(plan)
        self._required = {variable for variable in variables if plan.variables[variable].name in required}
        self._counts = {variable: own.count(rules) for variable, own in self._matches.items()}
        totals = {variable: int(self._counts[variable].sum()) for variable in sorted(self._required)}
        self._anchor = min(totals, key=lambda variable: totals[variable], default=None)
        self._near = self._find_near()

    def pieces(self) -> Iterator[Copies]:
        """Copies for some rules at a time, in the order of the rules."""
        totals = np.sum(list(self._counts.values()), axis=0)
        if self._anchor is not None:
            totals = np.where(self._counts[self._anchor] > 0, totals, 0)
        elif self._near is not None:
            totals = totals + self._near.rows.size
        for first, end in _cut(totals, COPIES_AT_ONCE):
            lists = self._list(first, end)
            more = self._count_near(lists, end - first)
            for low, high in _cut(
                more + np.sum([np.diff(one.starts) for one in lists.values()], axis=0), COPIES_AT_ONCE
            ):
                taken = {variable: _take(one, low, high) for variable, one in lists.items()}
                copies = self._copy(taken, first + low, more[low:high])
                if copies.row.size:
                    yield copies

    def _list(self, first: int, end: int) -> dict[int, _Listed]:
        """The rows that are read as each variable with constants; only those near an event of the anchor."""
        lists: dict[int, _Listed] = {}
        for variable, own in self._matches.items():
            matches = own if (first, end) == (0, self._rules) else own.take(first, end)
            starts = np.concatenate([[0], np.cumsum(self._counts[variable][first:end])])
            row = matches.list_rows(starts, first)
            letters = np.broadcast_to(self._bits[variable], (row.size, self._letters.shape[1]))
            lists[variable] = _Listed(starts, row, letters)
        if self._anchor is None or len(lists) == 1:
            return lists
        others = [variable for variable in lists if variable != self._anchor]
        for variable in others:
            lists[variable] = self._keep_near(lists[variable], lists[self._anchor])
        # An event of the anchor is of no use either where another variable has none near it that no trend is without.
        for variable in others:
            if variable in self._required:
                lists[self._anchor] = self._keep_near(lists[self._anchor], lists[variable])
        if self._required.intersection(others):
            for variable in others:
                lists[variable] = self._keep_near(lists[variable], lists[self._anchor])
        return lists

    def _keep_near(self, listed: _Listed, anchor: _Listed) -> _Listed:
        """Only the rows of each rule that may share a window with one of its anchors; the list is used up."""
        assert self._near is not None, "there is an anchor"
        starts = np.zeros(listed.starts.size, np.int64)
        keep_near(listed.starts, listed.row, anchor.starts, anchor.row, self._near.low, self._near.high, starts)
        size = int(starts[-1])
        return _Listed(starts, listed.row[:size], listed.letters[:size])

    def _find_near(self) -> _Near | None:
        """Where rows are copied that no constant is compared with, or left out for want of an event of the anchor."""
        of_interest = np.ones(self.table.num_rows, np.bool_)
        if not self._plan.needs_every_event:
            of_interest = (self._letters & self._free).any(axis=1)
        rows = np.flatnonzero(of_interest)
        if not rows.size and (self._anchor is None or len(self._matches) == 1):
            return None
        low, high = self._find_reach()
        before = np.concatenate([[0], np.cumsum(of_interest)])
        return _Near(low, high, rows, before[low], before[high])

    def _find_reach(self) -> tuple[np.ndarray, np.ndarray]:
        encoded, starts = self._encoded, self._encoded.partitions.starts
        reach = find_reach(self._plan.window, encoded.time_type, encoded.tick_steps, encoded.tick[starts[:-1]])
        if reach is None:
            partition = encoded.partitions.of_rows()
            return starts[partition], starts[partition + 1]
        first_row = np.concatenate(
            [np.searchsorted(encoded.tick, np.arange(encoded.tick_steps.size)), [encoded.tick.size]]
        )
        return first_row[reach[0][encoded.tick]], first_row[reach[1][encoded.tick]]

    def _count_near(self, lists: dict[int, _Listed], rules: int) -> np.ndarray:
        if self._near is None or not self._near.rows.size:
            return np.zeros(rules, np.int64)
        if self._anchor is None:
            return np.full(rules, self._near.rows.size)
        _, sizes = self._find_ranges(lists[self._anchor])
        return np.diff(np.concatenate([[0], np.cumsum(sizes)])[lists[self._anchor].starts])

    def _find_ranges(self, anchor: _Listed) -> tuple[np.ndarray, np.ndarray]:
        """Per anchor of each rule, the first row near it that is near none before it, and how many there are."""
        assert self._near is not None, "there are rows near others"
        first, end = self._near.first[anchor.row], self._near.end[anchor.row]
        goes_on = np.ones(first.size, np.bool_)
        goes_on[anchor.starts[:-1][np.diff(anchor.starts) > 0]] = False
        first[goes_on] = np.maximum(first[goes_on], end[np.flatnonzero(goes_on) - 1])
        return first, np.maximum(end - first, 0)

    def _copy(self, lists: dict[int, _Listed], first: int, near: np.ndarray) -> Copies:
        parts = list(lists.values())
        if near.any():
            parts.append(self._list_near(lists, near))
        merged = parts[0]
        for other in parts[1:]:
            merged = _merge(merged, other)
        rule = first + np.repeat(np.arange(near.size), np.diff(merged.starts))
        return Copies(merged.row, rule, merged.letters)

    def _list_near(self, lists: dict[int, _Listed], counts: np.ndarray) -> _Listed:
        assert self._near is not None, "there are rows near others"
        starts = np.concatenate([[0], np.cumsum(counts)])
        if self._anchor is None:
            row = np.tile(self._near.rows, counts.size)
        else:
            first, sizes = self._find_ranges(lists[self._anchor])
            places = np.repeat(first - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(starts[-1]))
            row = self._near.rows[places]
        return _Listed(starts, row, self._letters[row] & self._free)


def required_variables(plan: Plan) -> set[str]:
    """Variables that every trend has an event of."""
    found = [_required(template) for template in plan.templates]
    return set.intersection(*found)


def _required(template: Template) -> set[str]:
    return {
        variable
        for variable in {state.variable for state in template.states}
        if not _has_trend(template, {state.number for state in template.states if state.variable != variable})
    }


def _has_trend(template: Template, states: set[int]) -> bool:
    """Is there a trend through these states alone?"""
    reached = {start.state for start in template.starts} & states
    waiting = list(reached)
    while waiting:
        source = waiting.pop()
        for step in template.transitions:
            if step.source == source and step.target in states - reached:
                reached.add(step.target)
                waiting.append(step.target)
    return any(end.state in reached for end in template.ends)


def _take(listed: _Listed, low: int, high: int) -> _Listed:
    begin, end = listed.starts[low], listed.starts[high]
    return _Listed(listed.starts[low : high + 1] - begin, listed.row[begin:end], listed.letters[begin:end])


def _merge(left: _Listed, right: _Listed) -> _Listed:
    """Rows of both lists; one that is in both is there once, with the letters of both."""
    width = 1 + max(int(left.row.max(initial=0)), int(right.row.max(initial=0)))
    place = np.concatenate([left.rules * width + left.row, right.rules * width + right.row])
    order = np.argsort(place, kind="stable")
    place, letters = place[order], np.concatenate([left.letters, right.letters])[order]
    again = place[1:] == place[:-1]
    letters[:-1][again] |= letters[1:][again]
    kept = np.concatenate([[True], ~again])[: place.size]
    starts = np.searchsorted(place[kept], np.arange(left.starts.size) * width)
    return _Listed(starts, place[kept] % width, letters[kept])


def _cut(sizes: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Ranges of places that together have not more than `most`, if one alone does not; those without anything are in
    none at the ends."""
    ranges = []
    ends = np.cumsum(sizes)
    first = int(np.searchsorted(ends, 0, side="right"))
    while first < sizes.size:
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        ranges.append((first, end))
        first = max(int(np.searchsorted(ends, ends[end - 1], side="right")), end)
    return ranges
