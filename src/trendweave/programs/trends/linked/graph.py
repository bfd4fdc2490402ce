"""The graph of trends from links that are found for all events at once, state by state.

It has the vertices and edges of `kernels/listing/build_graph.py` that lie on a way from a beginning to an end; in which
windows such a way is a trend is left to the walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.expressions.compiled.paired import PairCondition
from trendweave.kernels import Rows, Selection, Template
from trendweave.kernels.listing.graph import NO_WINDOW, TrendGraph
from trendweave.programs.operators.kernels.linked_graphs import mark_ways
from trendweave.programs.trends.linked.linkers import Linker
from trendweave.programs.trends.linked.reach import Reach, find_reach
from trendweave.programs.trends.linked.states import order_states

#: Vertices are numbered by a table of all that could be where that is not much larger than the links.
_FEW_PLACES, _PLACES_PER_LINK = 1 << 21, 16


@dataclass(frozen=True, slots=True)
class LinkTask:
    """The rows of a piece, what trends are words of, and where they may begin and end.

    Attributes:
        rows: The rows of all segments.
        template: The template.
        conditions: One per transition of the template.
        selection: Any later event, or those at the next time that has one.
        start_guards: Per state the first window in which a trend may begin with each row.
        final_guards: Per state the last window in which a trend may end with each row.
    """

    rows: Rows
    template: Template
    conditions: Sequence[PairCondition]
    selection: Selection
    start_guards: Mapping[int, np.ndarray]
    final_guards: Mapping[int, np.ndarray]


@dataclass(frozen=True, slots=True)
class _Links:
    """Links of one transition: the rows before and after, sorted by the row after and then by the one before."""

    source_state: int
    target_state: int
    earlier: np.ndarray
    later: np.ndarray


def link_graph(task: LinkTask, linker: Linker, room: int) -> TrendGraph | None:
    """Link the rows of a piece.

    Args:
        task: The rows and what is looked for.
        linker: What finds links.
        room: Links that there is room for.

    Returns:
        The graph, or None where it does not fit.
    """
    states = len(task.template.state_variable)
    readable = [_readable(task, state) for state in range(states)]
    reach = find_reach(task.rows)
    order, repeats = order_states(task.template)
    begun = [_begin(task, state, rows, everywhere=bool(repeats[state])) for state, rows in enumerate(readable)]
    found: list[_Links] = []
    for state in order:
        links = _link_state(task, state, begun[state], readable, reach, linker, room)
        if links is None:
            return None
        room -= sum(link.earlier.size for link in links)
        found += links
        for link in links:
            if not repeats[link.target_state]:
                np.maximum.at(begun[link.target_state], link.later, begun[state][link.earlier])
    return _join(task, begun, found)


def _begin(task: LinkTask, state: int, readable: np.ndarray, everywhere: bool) -> np.ndarray:
    """Per row, the latest row with which a trend begins that has come to it in this state: itself where one begins
    there, or `everywhere`; -1 where none has."""
    begun = np.full(task.rows.tick.size, -1, np.int64)
    starting = readable if everywhere else readable[_start_from(task, state, readable) != NO_WINDOW]
    begun[starting] = starting
    return begun


def _readable(task: LinkTask, state: int) -> np.ndarray:
    """The rows that can be read in a state, in some window."""
    variable, rows = int(task.template.state_variable[state]), task.rows
    letters = rows.letters if rows.letters.ndim == 2 else rows.letters[:, None]
    has_letter = (letters[:, variable // 64] >> np.uint64(variable % 64)) & np.uint64(1) != 0
    return np.flatnonzero(has_letter & (rows.window_first <= rows.window_last))


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


def _link_state(
    task: LinkTask,
    state: int,
    begun: np.ndarray,
    readable: Sequence[np.ndarray],
    reach: Reach,
    linker: Linker,
    room: int,
) -> list[_Links] | None:
    """Links from the rows of a state along all of its transitions; None where there are too many."""
    numbers = np.flatnonzero(np.asarray(task.template.source) == state).tolist()
    sources = np.flatnonzero(begun >= 0)
    if not sources.size or not numbers:
        return []
    targets = [int(task.template.target[number]) for number in numbers]
    bounds = [reach.bounds(sources, begun[sources], readable[target]) for target in targets]
    conditions = [task.conditions[number] for number in numbers]
    if task.selection == Selection.NEXT:
        bounds = _narrow_to_next(task, sources, [readable[target] for target in targets], bounds, conditions, linker)
    links = []
    for target, (low, high), condition in zip(targets, bounds, conditions, strict=True):
        pairs = linker.find_all(condition, sources, readable[target], low, high, room)
        if pairs is None:
            return None
        links.append(_Links(state, target, sources[pairs[0]], readable[target][pairs[1]]))
        room -= pairs[0].size
    return links


def _narrow_to_next(
    task: LinkTask,
    sources: np.ndarray,
    targets: Sequence[np.ndarray],
    bounds: Sequence[tuple[np.ndarray, np.ndarray]],
    conditions: Sequence[PairCondition],
    linker: Linker,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The bounds of the first time at which some event can follow each source on some transition."""
    tick, never = task.rows.tick, np.iinfo(np.int64).max
    firsts = [
        linker.find_first(condition, sources, rows, low, high)
        for rows, (low, high), condition in zip(targets, bounds, conditions, strict=True)
    ]
    ticks = [
        np.where(first >= 0, tick[rows[np.maximum(first, 0)]], never) if rows.size else np.full(sources.size, never)
        for rows, first in zip(targets, firsts, strict=True)
    ]
    soonest = np.min(ticks, axis=0)
    narrowed = []
    for rows, first, at, (_, high) in zip(targets, firsts, ticks, bounds, strict=True):
        low = np.where((at == soonest) & (at != never), first, high)
        narrowed.append((low, np.minimum(high, _end_of_tick(tick, rows)[np.minimum(low, rows.size)])))
    return narrowed


def _end_of_tick(tick: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Per place of some rows, the next place with another tick; where they end, their number. Ticks of two segments
    that are equal and next to each other are told apart by the bounds of their source."""
    here = tick[rows]
    begins = np.ones(rows.size, np.bool_)
    begins[1:] = here[1:] != here[:-1]
    starts = np.append(np.flatnonzero(begins), rows.size)
    return np.append(starts[np.cumsum(begins)], rows.size)


def _join(task: LinkTask, begun: Sequence[np.ndarray], found: Sequence[_Links]) -> TrendGraph:
    """The graph of all links, without those that no way from a beginning to an end passes."""
    states = len(begun)
    numbers = _number_vertices(task, begun, found)
    key = numbers.key
    row, state = key // states, (key % states).astype(np.int32)
    start, until = np.empty(key.size, np.int64), np.empty(key.size, np.int64)
    for number in range(states):
        here = np.flatnonzero(state == number)
        start[here], until[here] = _start_from(task, number, row[here]), _end_until(task, number, row[here])
    before, after = _number_edges(numbers, states, found)
    edge_starts = _starts_of(after, key.size)
    kept = mark_ways(edge_starts, before, start != NO_WINDOW, until != -NO_WINDOW)
    new_number = np.cumsum(kept) - 1
    kept_edges = kept[before] & kept[after]
    before, after = new_number[before[kept_edges]].astype(np.int32), new_number[after[kept_edges]]
    row = row[kept]
    rows = task.rows
    return TrendGraph(
        row,
        state[kept],
        rows.tick[row],
        rows.window_first[row],
        rows.window_last[row],
        start[kept],
        until[kept],
        np.empty(0, np.int64),
        _starts_of(after, row.size),
        before,
        np.searchsorted(row, rows.segment_starts),
    )


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Vertices as row * states + state, sorted, and the number of each where there is a place for all that could be."""

    key: np.ndarray
    dense: np.ndarray | None

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The numbers of some of them."""
        return np.searchsorted(self.key, keys) if self.dense is None else self.dense[keys]


def _number_vertices(task: LinkTask, begun: Sequence[np.ndarray], found: Sequence[_Links]) -> _Numbers:
    """Number what is linked, and what can be a trend by itself."""
    states, template = len(begun), task.template
    keys = [link.earlier * states + link.source_state for link in found]
    keys += [link.later * states + link.target_state for link in found]
    keys += [
        np.flatnonzero(rows >= 0) * states + state
        for state, rows in enumerate(begun)
        if template.is_start[state] and template.is_final[state]
    ]
    places = task.rows.tick.size * states
    if places <= _FEW_PLACES + _PLACES_PER_LINK * sum(part.size for part in keys):
        present = np.zeros(places, np.bool_)
        for part in keys:
            present[part] = True
        return _Numbers(np.flatnonzero(present), np.cumsum(present) - 1)
    key = np.sort(np.concatenate([np.empty(0, np.int64), *keys]))
    return _Numbers(key[np.append(True, key[1:] != key[:-1])] if key.size else key, None)


def _number_edges(numbers: _Numbers, states: int, found: Sequence[_Links]) -> tuple[np.ndarray, np.ndarray]:
    """The vertices before and after each link, sorted by the later and then by the earlier one."""
    pairs = [
        (numbers.of(link.later * states + link.target_state) << 32)
        | numbers.of(link.earlier * states + link.source_state)
        for link in found
    ]
    both = np.sort(np.concatenate([np.empty(0, np.int64), *pairs]))
    return (both & 0xFFFFFFFF).astype(np.int32), both >> 32


def _starts_of(places: np.ndarray, count: int) -> np.ndarray:
    """Where the runs of 0, 1, ... begin among sorted places, with the end of the last."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(places, minlength=count), out=starts[1:])
    return starts
