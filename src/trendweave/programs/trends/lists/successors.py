"""The graph of successors: which events can follow which, found for all events at once, state by state.

A vertex is (event, state), an edge one step of a trend, a path a trend. It has the vertices and edges that lie on a way
from a beginning to an end; in which windows such a way is a trend is left to the walk. Which later rows an event can be
followed by is told first by time and windows, then by equal values, and then by loops over pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from trendweave.kernels import NO_MATCH, Rows, Selection, Template
from trendweave.kernels.lists.graph import NO_WINDOW, NOWHERE, TrendGraph, latest_before, latest_behind
from trendweave.kernels.sorting import number_present, stable_order
from trendweave.programs.trends.lists.edges import Candidates, LinkCondition, Linker
from trendweave.rows.codes import different_numbers
from trendweave.rows.segments import can_be_read

#: Products below this stay whole numbers of 64 bits.
_MOST = 2**62


@dataclass(frozen=True, slots=True)
class Reach:
    """Per row, the first row of a later time, and the first row that no window holds together with it; both of its
    segment, or where that ends."""

    later: np.ndarray
    beyond: np.ndarray


def find_reach(rows: Rows) -> Reach:
    """Find how far each row reaches.

    Args:
        rows: The rows of some segments.

    Returns:
        What it reaches.
    """
    count = rows.tick.size
    sizes = np.diff(rows.segment_starts)
    segment = np.repeat(np.arange(sizes.size), sizes)
    ends = np.repeat(rows.segment_starts[1:], sizes)
    begins = np.ones(count, np.bool_)
    begins[1:] = (rows.tick[1:] != rows.tick[:-1]) | (segment[1:] != segment[:-1])
    starts = np.append(np.flatnonzero(begins), count)
    later = starts[np.cumsum(begins)]
    first, last = number_in_segments(rows.segment_starts, rows.window_first, rows.window_last)
    return Reach(np.minimum(later, ends), np.minimum(np.searchsorted(first, last, side="right"), ends))


def number_in_segments(starts: np.ndarray, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of numbers so that those of a segment come after those of all before it: one search does for all.

    Args:
        starts: Where segments begin, and the end of the last.
        one: A number per row.
        other: Another one.

    Returns:
        Both, in their order inside of a segment.
    """
    if starts.size <= 2 or not one.size:
        return one, other
    segment = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    low = min(int(one.min()), int(other.min()))
    width = max(int(one.max()), int(other.max())) - low + 2
    if width * starts.size >= _MOST:
        numbers = different_numbers(np.concatenate([one, other]))
        one, other, low, width = np.searchsorted(numbers, one), np.searchsorted(numbers, other), 0, numbers.size + 1
    return segment * width + (one - low), segment * width + (other - low)


#: Vertices are numbered by a table of all that could be where that is not much larger than the links.
_FEW_PLACES, _PLACES_PER_LINK = 1 << 21, 16
_NEVER = np.iinfo(np.int64).max
#: Codes below this can be put together with row numbers.
_SMALL_CODES = 1 << 31


@dataclass(frozen=True, eq=False)
class GraphBuilder:
    """Builds the graphs of a piece, of some of its segments at a time.

    Attributes:
        rows: The rows of all segments.
        template: The template.
        conditions: One per transition of the template.
        selection: Which later events can follow.
        start_guards: Per state the first window in which a trend may begin with each row.
        final_guards: Per state the last window in which a trend may end with each row.
        keeps_ends: Whether final states are ends also where no trend may end, as others can be part of a longer one.
    """

    rows: Rows
    template: Template
    conditions: Sequence[LinkCondition]
    selection: Selection
    start_guards: Mapping[int, np.ndarray]
    final_guards: Mapping[int, np.ndarray]
    keeps_ends: bool

    @cached_property
    def _reach(self) -> Reach:
        return find_reach(self.rows)

    @cached_property
    def _readable(self) -> list[np.ndarray]:
        """Per state the rows that can be read in it, in some window."""
        rows = self.rows
        inside, variables = rows.window_first <= rows.window_last, self.template.state_variable.tolist()
        known = {one: np.flatnonzero(can_be_read(rows.letters, one) & inside) for one in set(variables)}
        return [known[one] for one in variables]

    @cached_property
    def _until_guards(self) -> list[np.ndarray | None]:
        """Per transition and row, the first row of its segment of which the guard keeps it out."""
        rows, known = self.rows, dict[int, np.ndarray]()
        for guard in (condition.guard for condition in self.conditions):
            if guard is not None and id(guard) not in known:
                shut = np.where(guard == NO_MATCH, -1, guard)
                out, tick = number_in_segments(rows.segment_starts, shut, rows.tick)
                known[id(guard)] = np.searchsorted(out, tick, side="right")
        return [known.get(id(condition.guard)) for condition in self.conditions]

    def link(self, first: int, end: int, linker: Linker, room: int) -> TrendGraph | None:
        """Link the rows of some segments.

        Args:
            first: The first segment.
            end: The one after the last.
            linker: What finds links.
            room: Links that there is room for.

        Returns:
            The graph, or None where it does not fit.
        """
        order, repeats = order_states(self.template)
        base, states = int(self.rows.segment_starts[first]), len(repeats)
        # Per state, the rows that it was reached with, and the row that each has come from.
        reached: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        # What links lead from and to, as row * states + state.
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for state in order:
            begun = self._begin(state, first, end, everywhere=bool(repeats[state]))
            for rows, begin in reached.pop(state, ()):
                np.maximum.at(begun, rows - base, begin)
            sources = np.flatnonzero(begun >= 0) + base
            candidates = self._find_candidates(state, sources, begun[sources - base])
            if self.selection == Selection.NEXT and candidates:
                candidates = self._narrow_to_next(candidates, linker)
            for asked in candidates:
                pairs = linker(asked, room)
                if pairs is None:
                    return None
                earlier, later = asked.sources[pairs[0]], asked.targets[pairs[1]]
                room -= earlier.size
                found.append((earlier * states + state, later * states + asked.state))
                if not repeats[asked.state]:
                    reached.setdefault(asked.state, []).append((later, begun[earlier - base]))
        return self._join(first, end, found)

    def keep_unlinked(self, segment: int, linker: Linker) -> TrendGraph:
        """The graph of a segment without edges, which are too many to be listed: every row in every state that it can
        be read in, and with skip-till-next-match the time at which each can be followed."""
        states = len(self._readable)
        readable = [self._inside(state, segment, segment + 1) for state in range(states)]
        key = np.sort(np.concatenate([rows * states + state for state, rows in enumerate(readable)]))
        follow = np.empty(0, np.int64)
        if self.selection == Selection.NEXT:
            follow = np.full(key.size, -1)
            for state, rows in enumerate(readable):
                found = self._find_candidates(state, rows, rows)
                if found:
                    soonest = np.min([self._find_first(asked, linker)[1] for asked in found], axis=0)
                    follow[np.searchsorted(key, rows * states + state)] = np.where(soonest == _NEVER, -1, soonest)
        return self._make_graph(segment, segment + 1, key // states, key % states)._replace(follow=follow)

    def _inside(self, state: int, first: int, end: int) -> np.ndarray:
        """The rows of some segments that can be read in a state."""
        readable, bounds = self._readable[state], self.rows.segment_starts[[first, end]]
        return readable[slice(*np.searchsorted(readable, bounds))]

    def _begin(self, state: int, first: int, end: int, everywhere: bool) -> np.ndarray:
        """Per row, the latest row with which a trend begins that has come to it in this state: itself where one begins
        there, or `everywhere`; -1 where none has."""
        base, stop = self.rows.segment_starts[[first, end]].tolist()
        begun, starting = np.full(stop - base, -1, np.int64), self._inside(state, first, end)
        if not everywhere:
            starting = starting[self._find_windows(starting, np.full(starting.size, state))[0] != NO_WINDOW]
        begun[starting - base] = starting
        return begun

    def _find_candidates(self, state: int, sources: np.ndarray, begun: np.ndarray) -> list[Candidates]:
        """Where the rows that can follow some sources in a state lie, along all transitions from it; `begun` is the
        latest row with which a trend begins that has come to each."""
        found: list[Candidates] = []
        for number in np.flatnonzero(np.asarray(self.template.source) == state).tolist() if sources.size else ():
            target, condition, tick = int(self.template.target[number]), self.conditions[number], self.rows.tick
            after, before = self._reach.later[sources], self._reach.beyond[begun]
            if self.selection == Selection.CONTIGUOUS:
                next_row = np.minimum(after, tick.size - 1)
                nearest = tick[next_row] == tick[sources] + 1
                before = np.where(nearest, np.minimum(before, self._reach.later[next_row]), after)
            guard = self._until_guards[number]
            if guard is not None and self.selection != Selection.NEXT:
                before = np.minimum(before, guard[sources])
            before = np.maximum(before, after)
            targets = self._readable[target]
            if condition.equal is None:
                low, high = np.searchsorted(targets, after), np.searchsorted(targets, before)
            else:
                bounds = np.searchsorted(targets, (after.min(), before.max()))
                targets, low, high = _find_equal(*condition.equal, sources, targets[slice(*bounds)], after, before)
            found.append(Candidates(target, condition, sources, targets, low, high))
        return found

    def _narrow_to_next(self, found: Sequence[Candidates], linker: Linker) -> list[Candidates]:
        """Only the first time at which some event can follow each source on some transition."""
        tick = self.rows.tick
        firsts = [self._find_first(asked, linker) for asked in found]
        soonest = np.min([at for _, at in firsts], axis=0)
        narrowed = []
        for asked, (first, at) in zip(found, firsts, strict=True):
            low = np.where((at == soonest) & (at != _NEVER), first, asked.high)
            high = np.minimum(asked.high, _end_of_tick(tick, asked.targets)[np.minimum(low, asked.targets.size)])
            guard = asked.condition.guard
            if guard is not None and asked.targets.size:
                # Those of one time have one guard.
                is_open = tick[asked.sources] >= guard[asked.targets[np.minimum(low, asked.targets.size - 1)]]
                high = np.where(is_open, high, low)
            narrowed.append(replace(asked, low=low, high=np.maximum(low, high)))
        return narrowed

    def _find_first(self, asked: Candidates, linker: Linker) -> tuple[np.ndarray, np.ndarray]:
        """The first target of each source, and its time."""
        first, at = np.full(asked.sources.size, -1), np.full(asked.sources.size, _NEVER)
        pairs = linker(asked, None)
        assert pairs is not None, "there is room for one of each source"
        first[pairs[0]], at[pairs[0]] = pairs[1], self.rows.tick[asked.targets[pairs[1]]]
        return first, at

    def _find_windows(self, row: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first window in which a trend may begin with each row in a state, and the last in which one may end."""
        first, last = self.rows.window_first[row], self.rows.window_last[row]
        start = np.where(self.template.is_start[state], first, NO_WINDOW)
        until = np.where(self.template.is_final[state], last, -NO_WINDOW)
        for number, guard in self.start_guards.items():
            here = state == number
            start[here] = np.maximum(start[here], guard[row[here]])
        for number, guard in self.final_guards.items():
            here = state == number
            until[here] = np.minimum(until[here], guard[row[here]])
        return np.where(start <= last, start, NO_WINDOW), np.where(until >= first, until, -NO_WINDOW)

    def _join(self, first: int, end: int, found: Sequence[tuple[np.ndarray, np.ndarray]]) -> TrendGraph:
        """The graph of all links, without those that no way from a beginning to an end passes."""
        template, states = self.template, len(self._readable)
        base, stop = (self.rows.segment_starts[[first, end]] * states).tolist()
        # What can be a trend by itself is a vertex, too.
        both = np.flatnonzero(template.is_start & template.is_final).tolist()
        alone = [self._inside(state, first, end) * states + state for state in both]
        ends = [side[0] for side in found] + [side[1] for side in found]
        keys, links = np.concatenate([np.empty(0, np.int64), *ends, *alone]) - base, sum(one.size for one, _ in found)
        if stop - base <= _FEW_PLACES + _PLACES_PER_LINK * keys.size:
            numbers, key = number_present(keys, stop - base)
        else:
            key = different_numbers(keys)
            numbers = np.searchsorted(key, keys)
        earlier, later = numbers[:links], numbers[links : 2 * links]
        if len(found) > 1:
            order = stable_order(earlier, key.size)[0]
            earlier, later = earlier[order], later[order]
        order, edge_starts = stable_order(later, key.size)
        edges = earlier[order].astype(np.int32)
        graph = self._make_graph(first, end, (key + base) // states, (key + base) % states)
        final = np.asarray(template.is_final)[graph.state] if self.keeps_ends else graph.end_until != -NO_WINDOW
        kept = latest_before(edge_starts, edges, np.where(graph.start_from != NO_WINDOW, 0, NOWHERE))[1] != NOWHERE
        kept &= latest_behind(edge_starts, edges, np.where(final, 0, NOWHERE))[1] != NOWHERE
        if not kept.all():
            new_number, after = np.cumsum(kept) - 1, np.repeat(np.arange(key.size), np.diff(edge_starts))
            kept_edges = kept[edges] & kept[after]
            edges = new_number[edges[kept_edges]].astype(np.int32)
            graph = self._make_graph(first, end, graph.row[kept], graph.state[kept])
            edge_starts = np.zeros(graph.row.size + 1, np.int64)
            np.cumsum(np.bincount(new_number[after[kept_edges]], minlength=graph.row.size), out=edge_starts[1:])
        return graph._replace(edge_starts=edge_starts, edges=edges)

    def _make_graph(self, first: int, end: int, row: np.ndarray, state: np.ndarray) -> TrendGraph:
        """The graph of some vertices, without edges."""
        rows, nothing = self.rows, np.empty(0, np.int64)
        return TrendGraph(
            row,
            state.astype(np.int32),
            rows.tick[row],
            rows.window_first[row],
            rows.window_last[row],
            *self._find_windows(row, state),
            nothing,
            nothing,
            nothing.astype(np.int32),
            np.searchsorted(row, rows.segment_starts[first : end + 1]),
        )


def _find_equal(
    previous: np.ndarray,
    following: np.ndarray,
    sources: np.ndarray,
    targets: np.ndarray,
    after: np.ndarray,
    before: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets sorted by their codes, and where those of equal codes between two rows lie among them."""
    codes, rows = previous[sources], previous.size + 1
    targets = targets[following[targets] >= 0]
    values = following[targets]
    if max(int(codes.max(initial=0)), int(values.max(initial=0))) >= _SMALL_CODES:
        known = different_numbers(np.concatenate([codes, values]))
        codes, values = np.where(codes < 0, -1, np.searchsorted(known, codes)), np.searchsorted(known, values)
    order = np.argsort(values, kind="stable")
    targets, keys = targets[order], (values * rows + targets)[order]
    low, high = np.searchsorted(keys, codes * rows + after), np.searchsorted(keys, codes * rows + before)
    return targets, low, np.where(codes < 0, low, high)


def _end_of_tick(tick: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Per place of some rows, the next place with another tick; where they end, their number. Ticks of two segments
    that are equal and next to each other are told apart by the bounds of their source."""
    here = tick[rows]
    begins = np.ones(rows.size, np.bool_)
    begins[1:] = here[1:] != here[:-1]
    starts = np.append(np.flatnonzero(begins), rows.size)
    return np.append(starts[np.cumsum(begins)], rows.size)


def order_states(template: Template) -> tuple[list[int], np.ndarray]:
    """Put states after those that lead to them, as far as that can be.

    Args:
        template: A template.

    Returns:
        The states in order, and of each state whether another one leads to it that does not come before it, or it leads
        to itself.
    """
    before: dict[int, list[int]] = {state: [] for state in range(len(template.state_variable))}
    for source, target in zip(template.source.tolist(), template.target.tolist(), strict=True):
        if source != target:
            before[target].append(source)
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError:
        order = list(before)  # they are numbered by their distance from the beginning
    place, repeats = np.argsort(order), np.zeros(len(order), np.bool_)
    repeats[template.target[place[template.source] >= place[template.target]]] = True
    return order, repeats
