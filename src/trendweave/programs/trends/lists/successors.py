"""The graph of successors: which events can follow which, found for all events at once, state by state.

A vertex is (event, state), an edge one step of a trend, a path a trend. It has the vertices and edges that lie on a way
from a beginning to an end; in which windows such a way is a trend is left to the walk. Which later rows an event can be
followed by is told first by time and windows, then by equal values, and then by loops over pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

import numpy as np

from trendweave.kernels import NO_MATCH, Rows, Selection, Template
from trendweave.kernels.lists.graph import NO_WINDOW, NOWHERE, TrendGraph, latest_before, latest_behind
from trendweave.kernels.numbering import number_present
from trendweave.kernels.sorting import stable_order
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


@dataclass(frozen=True, slots=True)
class LinkTask:
    """The rows of a piece, what trends are words of, and where they may begin and end.

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

    def cut(self, first: int, end: int) -> LinkTask:
        """The same for some of the segments."""
        starts, rows = self.rows.segment_starts, self.rows
        at = slice(int(starts[first]), int(starts[end]))
        columns = (part[at] for part in rows[1:])
        return LinkTask(
            Rows(starts[first : end + 1] - at.start, *columns),
            self.template,
            [condition.cut(at) for condition in self.conditions],
            self.selection,
            {state: guard[at] for state, guard in self.start_guards.items()},
            {state: guard[at] for state, guard in self.final_guards.items()},
            self.keeps_ends,
        )


def link_graph(task: LinkTask, linker: Linker, room: int) -> TrendGraph | None:
    """Link the rows of a piece.

    Args:
        task: The rows and what is looked for.
        linker: What finds links.
        room: Links that there is room for.

    Returns:
        The graph, or None where it does not fit.
    """
    readable, reach = _find_readable(task), find_reach(task.rows)
    order, repeats = order_states(task.template)
    # Per state, the rows that it was reached with, and the row that each has come from.
    reached: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    # What links lead from and to, as row * states + state.
    found: list[tuple[np.ndarray, np.ndarray]] = []
    states = len(readable)
    for state in order:
        begun = _begin(task, state, readable[state], everywhere=bool(repeats[state]))
        for rows, first in reached.pop(state, ()):
            np.maximum.at(begun, rows, first)
        for asked in _narrow_to_next(task, _find_candidates(task, state, begun, readable, reach), linker):
            pairs = linker(asked, room)
            if pairs is None:
                return None
            earlier, later = asked.sources[pairs[0]], asked.targets[pairs[1]]
            room -= earlier.size
            found.append((earlier * states + state, later * states + asked.state))
            if not repeats[asked.state]:
                reached.setdefault(asked.state, []).append((later, begun[earlier]))
    return _join(task, readable, found)


def keep_unlinked(task: LinkTask, linker: Linker) -> TrendGraph:
    """The graph of a piece without edges, which are too many to be listed: every row in every state that it can be
    read in, and with skip-till-next-match the time at which each can be followed."""
    states = len(task.template.state_variable)
    readable = _find_readable(task)
    key = np.sort(np.concatenate([readable[state] * states + state for state in range(states)]))
    row, state = key // states, key % states
    follow = np.empty(0, np.int64)
    if task.selection == Selection.NEXT:
        follow, reach = np.full(key.size, -1), find_reach(task.rows)
        for number in range(states):
            rows, begun = readable[number], np.full(task.rows.tick.size, -1)
            begun[rows] = rows
            found = _find_candidates(task, number, begun, readable, reach)
            if found:
                soonest = np.min([_find_first(task.rows.tick, asked, linker)[1] for asked in found], axis=0)
                follow[np.searchsorted(key, rows * states + number)] = np.where(soonest == _NEVER, -1, soonest)
    start, until = _find_windows(task, row, state)
    return _make_graph(task, row, state, start, until, np.empty(0, np.int64), np.empty(0, np.int32), follow)


def _begin(task: LinkTask, state: int, readable: np.ndarray, everywhere: bool) -> np.ndarray:
    """Per row, the latest row with which a trend begins that has come to it in this state: itself where one begins
    there, or `everywhere`; -1 where none has."""
    begun = np.full(task.rows.tick.size, -1, np.int64)
    starting = readable if everywhere else readable[_start_from(task, state, readable) != NO_WINDOW]
    begun[starting] = starting
    return begun


def _find_readable(task: LinkTask) -> list[np.ndarray]:
    """Per state the rows that can be read in it, in some window."""
    rows = task.rows
    inside, variables = rows.window_first <= rows.window_last, task.template.state_variable.tolist()
    known = {one: np.flatnonzero(can_be_read(rows.letters, one) & inside) for one in set(variables)}
    return [known[one] for one in variables]


def _start_from(task: LinkTask, state: int, chosen: np.ndarray) -> np.ndarray:
    """The first window in which a trend may begin with each of the rows in this state."""
    if not task.template.is_start[state]:
        return np.full(chosen.size, NO_WINDOW)
    window = task.rows.window_first[chosen]
    if state in task.start_guards:
        window = np.maximum(window, task.start_guards[state][chosen])
    return np.where(window <= task.rows.window_last[chosen], window, NO_WINDOW)


def _end_until(task: LinkTask, state: int, chosen: np.ndarray) -> np.ndarray:
    """The last window in which a trend may end with each of the rows in this state."""
    if not task.template.is_final[state]:
        return np.full(chosen.size, -NO_WINDOW)
    window = task.rows.window_last[chosen]
    if state in task.final_guards:
        window = np.minimum(window, task.final_guards[state][chosen])
    return np.where(window >= task.rows.window_first[chosen], window, -NO_WINDOW)


def _find_candidates(
    task: LinkTask, state: int, begun: np.ndarray, readable: list[np.ndarray], reach: Reach
) -> list[Candidates]:
    """Where the rows that can follow those of a state lie, along all of its transitions."""
    sources = np.flatnonzero(begun >= 0)
    found: list[Candidates] = []
    for number in np.flatnonzero(np.asarray(task.template.source) == state).tolist() if sources.size else ():
        target, condition, tick = int(task.template.target[number]), task.conditions[number], task.rows.tick
        after, before = reach.later[sources], reach.beyond[begun[sources]]
        if task.selection == Selection.CONTIGUOUS:
            nearest = tick[np.minimum(after, tick.size - 1)] == tick[sources] + 1
            before = np.where(nearest, np.minimum(before, _end_of_tick(tick, np.arange(tick.size))[after]), after)
        if condition.guard is not None and task.selection != Selection.NEXT:
            before = np.minimum(before, _until_guard(task, condition.guard)[sources])
        before = np.maximum(before, after)
        targets = readable[target]
        if condition.equal is None:
            low, high = np.searchsorted(targets, after), np.searchsorted(targets, before)
        else:
            targets, low, high = _find_equal(*condition.equal, sources, targets, after, before)
        found.append(Candidates(target, condition, sources, targets, low, high))
    return found


def _until_guard(task: LinkTask, guard: np.ndarray) -> np.ndarray:
    """Per row, the first of its segment of which the guard keeps it out."""
    rows = task.rows
    out, tick = number_in_segments(rows.segment_starts, np.where(guard == NO_MATCH, -1, guard), rows.tick)
    return np.searchsorted(out, tick, side="right")


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


def _narrow_to_next(task: LinkTask, found: Sequence[Candidates], linker: Linker) -> Sequence[Candidates]:
    """With skip-till-next-match, only the first time at which some event can follow each source on some transition."""
    if task.selection != Selection.NEXT or not found:
        return found
    tick = task.rows.tick
    firsts = [_find_first(tick, asked, linker) for asked in found]
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


def _find_first(tick: np.ndarray, asked: Candidates, linker: Linker) -> tuple[np.ndarray, np.ndarray]:
    """The first target of each source, and its time."""
    first, at = np.full(asked.sources.size, -1), np.full(asked.sources.size, _NEVER)
    pairs = linker(asked, None)
    assert pairs is not None, "there is room for one of each source"
    first[pairs[0]], at[pairs[0]] = pairs[1], tick[asked.targets[pairs[1]]]
    return first, at


def _end_of_tick(tick: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Per place of some rows, the next place with another tick; where they end, their number. Ticks of two segments
    that are equal and next to each other are told apart by the bounds of their source."""
    here = tick[rows]
    begins = np.ones(rows.size, np.bool_)
    begins[1:] = here[1:] != here[:-1]
    starts = np.append(np.flatnonzero(begins), rows.size)
    return np.append(starts[np.cumsum(begins)], rows.size)


def _find_windows(task: LinkTask, row: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first window in which a trend may begin with each vertex, and the last in which one may end."""
    start, until = np.empty(row.size, np.int64), np.empty(row.size, np.int64)
    order = np.argsort(state, kind="stable")
    for here in np.split(order, np.flatnonzero(np.diff(state[order])) + 1) if row.size else ():
        number = int(state[here[0]])
        start[here], until[here] = _start_from(task, number, row[here]), _end_until(task, number, row[here])
    return start, until


def _join(task: LinkTask, readable: list[np.ndarray], found: Sequence[tuple[np.ndarray, np.ndarray]]) -> TrendGraph:
    """The graph of all links, without those that no way from a beginning to an end passes."""
    template, states = task.template, len(readable)
    # What can be a trend by itself is a vertex, too.
    alone = [readable[one] * states + one for one in np.flatnonzero(template.is_start & template.is_final).tolist()]
    ends = [side[0] for side in found] + [side[1] for side in found]
    keys, links = np.concatenate([np.empty(0, np.int64), *ends, *alone]), sum(side.size for side, _ in found)
    places = task.rows.tick.size * states
    if places <= _FEW_PLACES + _PLACES_PER_LINK * keys.size:
        numbers, key = number_present(keys, places)
    else:
        key = different_numbers(keys)
        numbers = np.searchsorted(key, keys)
    earlier, later = numbers[:links], numbers[links : 2 * links]
    row, state = key // states, key % states
    start, until = _find_windows(task, row, state)
    if len(found) > 1:
        order = stable_order(earlier, key.size)[0]
        earlier, later = earlier[order], later[order]
    order, edge_starts = stable_order(later, key.size)
    edges = earlier[order].astype(np.int32)
    final = np.asarray(template.is_final)[state] if task.keeps_ends else until != -NO_WINDOW
    kept = latest_before(edge_starts, edges, np.where(start != NO_WINDOW, 0, NOWHERE))[1] != NOWHERE
    kept &= latest_behind(edge_starts, edges, np.where(final, 0, NOWHERE))[1] != NOWHERE
    if not kept.all():
        new_number, after = np.cumsum(kept) - 1, np.repeat(np.arange(row.size), np.diff(edge_starts))
        kept_edges = kept[edges] & kept[after]
        edges = new_number[edges[kept_edges]].astype(np.int32)
        row, state, start, until = row[kept], state[kept], start[kept], until[kept]
        edge_starts = np.zeros(row.size + 1, np.int64)
        np.cumsum(np.bincount(new_number[after[kept_edges]], minlength=row.size), out=edge_starts[1:])
    return _make_graph(task, row, state, start, until, edge_starts, edges, np.empty(0, np.int64))


def _make_graph(
    task: LinkTask,
    row: np.ndarray,
    state: np.ndarray,
    start: np.ndarray,
    until: np.ndarray,
    edge_starts: np.ndarray,
    edges: np.ndarray,
    follow: np.ndarray,
) -> TrendGraph:
    rows = task.rows
    return TrendGraph(
        row,
        state.astype(np.int32),
        rows.tick[row],
        rows.window_first[row],
        rows.window_last[row],
        start,
        until,
        follow,
        edge_starts,
        edges,
        np.searchsorted(row, rows.segment_starts),
    )


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
