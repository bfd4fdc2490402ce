"""The steps from each row to the next: what a block of partitions gives to the kernels of contiguous trends."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.kernels.lists.contiguous import Automaton, find_ranges
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, WholeInput
from trendweave.planning.planner import columns_of
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.programs.trends.aggregates import TaskOptions
from trendweave.rows.encoded import CHUNK, LETTERS, TIME, EncodedRows, PartitionBlock
from trendweave.rows.neighbours import compare_neighbours
from trendweave.rows.reach import find_far_ticks
from trendweave.rows.times import moving_span
from trendweave.rows.windows import Chunks, WindowNumbers, number_windows

#: Rows of several partitions that are worked on together, so that their columns stay in caches.
ROWS_AT_ONCE = 1 << 18
#: Windows of small segments that are listed for each row at most; with more, the general way is taken.
_RANGES_PER_ROW = 8
_NOTHING = np.empty(0, np.int64)


def columns_read(plan: Plan, preparation: Preparation, table: pa.Table) -> list[str]:
    """The columns that steps and results are made of; grouping attributes are read once per partition."""
    read = {
        TIME,
        CHUNK,
        *preparation.shown,
        *preparation.shown_types,
        *(name for name in preparation.values if name is not None),
    }
    for edge in preparation.edges:
        read |= {name for one in edge.comparisons for name in (one.previous, one.next)}
        read |= {path[0] for test in edge.general for later in (False, True) for path in columns_of(test, later)}
    return [name for name in table.column_names if name in read or name.startswith(LETTERS)]


def group_values(plan: Plan, preparation: Preparation, block: PartitionBlock) -> list[pa.Array]:
    """The grouping attributes of each partition of a block: all events of one have them in common."""
    names = {key.path: name for key, name in zip(plan.partition_key, preparation.partition_key, strict=True)}
    return [block.first_values(names[group.path]) for group in plan.groups]


def has_ties(rows: EncodedRows) -> bool:
    """Whether several rows of a partition have one time."""
    return rows.tick_steps.size < rows.tick.size


def make_automaton(plan: Plan) -> Automaton:
    """The template of a plan in numbers."""
    template = plan.template
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    variable = tuple(number[state.variable] for state in template.states)
    steps = sorted((step.source, variable[step.target], step.target) for step in template.transitions)
    return Automaton(
        variable,
        tuple(sorted((start.state for start in template.starts), key=lambda state: variable[state])),
        tuple(sorted({end.state for end in template.ends})),
        tuple((source, target) for source, _, target in steps),
    )


@dataclass(frozen=True, slots=True)
class NeighbourSteps:
    """Bits per row, in as few bytes as there are transitions and states: the transitions that lead to it from the row
    before, and the states in which a trend can begin with it."""

    steps: np.ndarray
    begins: np.ndarray


def find_steps(plan: Plan, preparation: Preparation, automaton: Automaton, rows: EncodedRows) -> NeighbourSteps:
    """Find which transitions lead from each row to the next, and where trends begin.

    Args:
        plan: A plan whose trends are contiguous.
        preparation: The names of prepared columns.
        automaton: Its template.
        rows: Rows of which no two of a partition have one time.

    Returns:
        Bits per row.
    """
    readable, tests = _Readable(rows), _NeighbourTests(rows.table)
    has_previous = np.ones(rows.tick.size, np.bool_)
    has_previous[rows.partitions.starts[:-1]] = False
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    edges = {(number[edge.earlier], number[edge.later]): place for place, edge in enumerate(plan.edges)}
    steps = np.zeros(rows.tick.size, _bits_type(len(automaton.transitions)))
    for place, (source, target) in enumerate(automaton.transitions):
        pair = automaton.variable[source], automaton.variable[target]
        holds = tests.holds(preparation.edges[edges[pair]], has_previous) & readable.of(pair[1])
        holds[1:] &= readable.of(pair[0])[:-1]
        steps |= holds.astype(steps.dtype) << steps.dtype.type(place)
    begins = np.zeros(rows.tick.size, _bits_type(automaton.states))
    for state in automaton.starting:
        begins |= readable.of(automaton.variable[state]).astype(begins.dtype) << begins.dtype.type(state)
    return NeighbourSteps(steps, begins)


def _bits_type(bits: int) -> np.dtype:
    return np.dtype(next(kind for size, kind in ((8, "u1"), (16, "u2"), (32, "u4"), (63, "i8")) if bits <= size))


class _Readable:
    """Which rows can be read as a variable; found once for each."""

    def __init__(self, rows: EncodedRows) -> None:
        self._letters = rows.partitions.letters
        self._known: dict[int, np.ndarray] = {}

    def of(self, variable: int) -> np.ndarray:
        if variable not in self._known:
            bit = np.uint64(1) << np.uint64(variable % 64)
            self._known[variable] = (self._letters[:, variable // 64] & bit) != 0
        return self._known[variable]


class _NeighbourTests:
    """Conditions between a row and the one before it; each is tested once, however many transitions ask for it."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._known: dict[object, np.ndarray] = {}

    def holds(self, edge: PreparedEdge, allowed: np.ndarray) -> np.ndarray:
        """A new array: where it is allowed and the conditions of an edge hold."""
        holds = allowed.copy()
        for one in edge.comparisons:
            if one not in self._known:
                left = self._table.column(one.previous)
                right = left if one.previous == one.next else self._table.column(one.next)
                self._known[one] = compare_neighbours(left, one.operator, right)
            holds &= self._known[one]
        if edge.general:
            holds &= self._general(st.all_of(edge.general))
        return holds

    def _general(self, condition: st.Expression) -> np.ndarray:
        if condition not in self._known:
            count = self._table.num_rows
            holds = np.zeros(count, np.bool_)
            if count > 1:
                holds[1:] = is_true(condition, self._table.slice(0, count - 1), self._table.slice(1))
            self._known[condition] = holds
        return self._known[condition]


@dataclass(frozen=True, slots=True)
class WindowRanges:
    """Windows in the segments of a block as ranges of rows, with the keys that tell windows apart everywhere. Trends
    end at the row `ends_from` at the earliest. Where each trend has a window of its own, `moments` are the times of
    rows, and `until` is the row before which a trend has ended that begins with a row."""

    segment: np.ndarray
    window: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ends_from: np.ndarray
    until: np.ndarray | None = None
    moments: np.ndarray | None = None

    @property
    def longest(self) -> int:
        """The most rows that a trend can have."""
        return int((self.high - self.low).max(initial=0))

    def take(self, chosen: np.ndarray) -> WindowRanges:
        names = ("segment", "window", "low", "high", "ends_from")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def find_windows(plan: Plan, rows: EncodedRows, options: TaskOptions) -> WindowRanges | None:
    """Find the windows of each segment that hold rows.

    Args:
        plan: A plan with any windows but those that move with the stream.
        rows: Rows of which no two of a partition have one time.
        options: Which windows are asked for.

    Returns:
        The windows; None where there are too many of them to list.
    """
    starts = rows.partitions.starts
    if isinstance(plan.window, WholeInput):
        return _segments_as_windows(starts)
    # Without ties a tick is a row, so the chunk of a row is that of its tick.
    chunks = None if options.chunk is None else Chunks(rows.table.column(CHUNK).to_numpy(), options.chunk)
    if isinstance(plan.window, MovingWindow):
        return _windows_of_trends(plan.window, rows, options.only, chunks)
    numbers: WindowNumbers
    if isinstance(plan.window, SessionWindow):
        numbers = rows.number_sessions(plan.window)
    else:
        ends = (_NOTHING, _NOTHING)
        numbers = number_windows(plan.window, rows.time_type, rows.tick_steps, ends, options.only, chunks)
    first, last = numbers.first(rows.tick, _NOTHING), numbers.last(rows.tick, _NOTHING)
    segment, window, low, high = np.empty((4, _RANGES_PER_ROW * rows.tick.size), np.int64)
    found = int(find_ranges(starts, first, last, segment, window, low, high))
    if found > low.size:
        return None
    segment, window, low, high = (part[:found].copy() for part in (segment, window, low, high))
    return WindowRanges(segment, numbers.keys(window), low, high, low)


def _segments_as_windows(starts: np.ndarray) -> WindowRanges:
    low, high = starts[:-1], starts[1:]
    return WindowRanges(np.arange(low.size), np.zeros(low.size, np.int64), low, high, low)


def _windows_of_trends(
    window: MovingWindow, rows: EncodedRows, only: tuple[int, int] | None, chunks: Chunks | None
) -> WindowRanges:
    """Each trend has a window of its own, by its last event. Those that are asked for are neighbours in a segment."""
    starts, moments = rows.partitions.starts, rows.tick_steps
    until = find_far_ticks(moments, starts[:-1], moving_span(window, rows.time_type), False)
    asked = np.ones(moments.size, np.bool_)
    if only is not None:
        asked = (moments >= only[0]) & (moments <= only[1])
    if chunks is not None:
        asked &= np.floor_divide(moments, chunks.length) == chunks.of_tick
    before = np.concatenate([[0], np.cumsum(asked)])
    some = before[starts[1:]] > before[starts[:-1]]
    segments = _segments_as_windows(starts).take(np.flatnonzero(some))
    at = np.flatnonzero(asked)
    first, last = at[before[segments.low]], at[before[segments.high] - 1]
    return replace(segments, high=last + 1, ends_from=first, until=until, moments=moments)
