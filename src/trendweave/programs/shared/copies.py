"""Rows of a plan -> a copy of each for every rule that it may play a part in.

A trend of a rule holds an event of every variable that no trend is without. So where such a variable is compared with
constants, a rule needs only the rows that may share a window with one of its events: rules that rarely fire cost
little, whatever else is in their patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from trendweave.errors import TrendweaveError
from trendweave.kernels.filter_index import find_near
from trendweave.kernels.sorting import list_ranges
from trendweave.planning.plan import Plan, Template
from trendweave.planning.preparation import Preparation
from trendweave.programs.shared.constant_index import VariableRules, match_variable
from trendweave.programs.shared.unit import MemberError
from trendweave.rows.encoded import EncodedRows, encode_rows
from trendweave.rows.segments import bit_of
from trendweave.rows.windows import find_reach

#: So many copies are made at once, if one rule does not have more.
COPIES_AT_ONCE = 1 << 21
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of rows by rule; inside a rule they stand in their order. `letters`: what its rule reads a copy as."""

    rule: np.ndarray
    row: np.ndarray
    letters: np.ndarray


#: The same without letters: rules, and rows.
Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]


class RowCopies:
    """Prepared rows, in order of partition and time, and their copies for some rules."""

    def __init__(
        self, plan: Plan, preparation: Preparation, table: pa.Table, variables: VariableRules, members: Sequence[int]
    ) -> None:
        self._plan, self._members = plan, members
        self._encoded: EncodedRows = encode_rows(plan, preparation, table)
        self.table: pa.Table = self._encoded.table.combine_chunks()
        self._letters = self._encoded.partitions.letters
        words = self._letters.shape[1]
        self._bits = {variable: bit_of(variable, words) for variable in variables}
        self._matches = {
            variable: match_variable(own, self.table, np.flatnonzero((self._letters & bits).any(axis=1)))
            for (variable, own), bits in zip(variables.items(), self._bits.values(), strict=True)
        }
        required = required_variables(plan)
        self._required = {variable for variable in variables if plan.variables[variable].name in required}
        self._counts = {variable: own.count(len(members)) for variable, own in self._matches.items()}
        totals = {variable: int(self._counts[variable].sum()) for variable in sorted(self._required)}
        self._anchor = min(totals, key=lambda variable: totals[variable], default=None)
        # Rows that rules read whatever their constants.
        self._free = ~np.bitwise_or.reduce(list(self._bits.values()))
        of_interest = np.ones(self.table.num_rows, np.bool_)
        if not plan.needs_every_event:
            of_interest = (self._letters & self._free).any(axis=1)
        self._free_rows = np.flatnonzero(of_interest)
        if self._anchor is not None and (self._free_rows.size or len(self._matches) > 1):
            self._low, self._high = self._find_reach()
            before = np.concatenate([[0], np.cumsum(of_interest)])
            self._first_free, self._end_free = before[self._low], before[self._high]

    def _find_reach(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that may share a window with each row."""
        encoded, starts = self._encoded, self._encoded.partitions.starts
        reach = find_reach(self._plan.window, encoded.time_type, encoded.tick_steps, encoded.tick[starts[:-1]])
        if reach is None:
            partition = encoded.partitions.of_rows()
            return starts[partition], starts[partition + 1]
        first_row = np.concatenate(
            [np.searchsorted(encoded.tick, np.arange(encoded.tick_steps.size)), [encoded.tick.size]]
        )
        return first_row[reach[0][encoded.tick]], first_row[reach[1][encoded.tick]]

    def compute(self, work: Callable[[Copies], T]) -> Iterator[T]:
        """Do something with copies for some rules at a time.

        Where it fails, it is done for half of them at a time: so rules that are too much together are computed one
        after the other, and an error is that of one rule.

        Yields:
            What it gives, in the order of the rules.

        Raises:
            MemberError: A rule fails by itself.
        """
        waiting = [(0, len(self._members))]
        while waiting:
            first, end = waiting.pop()
            copies = self._copy(first, end)
            if copies is not None and not copies.row.size:
                continue
            try:
                found = None if copies is None else work(copies)
            except TrendweaveError as error:
                if end - first == 1:
                    raise MemberError.of(error, self._members[first]) from error
                found = None
            if found is not None:
                yield found
                continue
            middle = (first + end) // 2
            waiting += [(middle, end), (first, middle)]

    def _copy(self, first: int, end: int) -> Copies | None:
        """Copies for some rules; None for several that have too many together."""
        most = COPIES_AT_ONCE if end - first > 1 else np.inf
        counts = {variable: counts[first:end] for variable, counts in self._counts.items()}
        has_trends = np.ones(end - first, np.bool_) if self._anchor is None else counts[self._anchor] > 0
        free = 0 if self._anchor is not None else self._free_rows.size * (end - first)
        if free + sum(int(own[has_trends].sum()) for own in counts.values()) > most:
            return None
        pairs = {variable: self._list(variable, first, end) for variable in self._matches}
        if self._anchor is not None:
            self._keep_near(pairs, self._anchor)
        of_rule, low, sizes = self._find_free(None if self._anchor is None else pairs[self._anchor], first, end)
        if int(sizes.sum()) + sum(row.size for _, row in pairs.values()) > most:
            return None
        words = self._letters.shape[1]
        parts = [
            Copies(rule, row, np.broadcast_to(self._bits[variable], (row.size, words)))
            for variable, (rule, row) in pairs.items()
        ]
        place = list_ranges(low, sizes)
        row = self._free_rows[place]
        return _merge([*parts, Copies(np.repeat(of_rule, sizes), row, self._letters[row] & self._free)])

    def _list(self, variable: int, first: int, end: int) -> Pairs:
        """The rows that each rule reads as a variable with constants."""
        counts, own = self._counts[variable][first:end], self._matches[variable]
        matches = own if end - first == len(self._members) else own.take(first, end)
        return np.repeat(np.arange(first, end), counts), matches.list_rows(np.append(0, np.cumsum(counts)), first)

    def _keep_near(self, pairs: dict[int, Pairs], anchor: int) -> None:
        """Only rows near an event of the anchor. That is of no use either where another variable has none near it that
        no trend is without."""
        others = [variable for variable in pairs if variable != anchor]
        needed = [variable for variable in others if variable in self._required]
        for variable in others:
            pairs[variable] = self._near(pairs[variable], pairs[anchor])
        for variable in needed:
            pairs[anchor] = self._near(pairs[anchor], pairs[variable])
        for variable in others if needed else ():
            pairs[variable] = self._near(pairs[variable], pairs[anchor])

    def _near(self, pairs: Pairs, anchors: Pairs) -> Pairs:
        """Rows that may share a window with an anchor of their rule."""
        rule, row = pairs
        near = np.zeros(row.size, np.bool_)
        find_near(rule, row, *anchors, self._low, self._high, near)
        return rule[near], row[near]

    def _find_free(self, anchors: Pairs | None, first: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where rules need rows that they read whatever their constants: ranges of these that do not overlap, as rule,
        first row and number of rows. Without anchors rules need all of them."""
        if anchors is None or not self._free_rows.size:
            rules = np.arange(first, end)
            return rules, np.zeros(rules.size, np.int64), np.full(rules.size, self._free_rows.size)
        rule, row = anchors
        low, high = self._first_free[row], self._end_free[row]
        same = rule[1:] == rule[:-1]
        low[1:][same] = np.maximum(low[1:], high[:-1])[same]
        return rule, low, np.maximum(high - low, 0)


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


def _merge(parts: Sequence[Copies]) -> Copies:
    """Copies of all parts; one that is in several is there once, with the letters of all."""
    parts = [part for part in parts if part.row.size] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    rule, row, letters = (np.concatenate([getattr(part, name) for part in parts]) for name in Copies.__slots__)
    place = rule * (int(row.max()) + 1) + row
    order = np.argsort(place, kind="stable")
    different = np.flatnonzero(np.diff(place[order], prepend=-1))
    letters = np.bitwise_or.reduceat(letters[order], different)
    return Copies(rule[order[different]], row[order[different]], letters)
