"""Aggregates of many queries over all their trends: the one entry.

`aggregate_shared` goes over the rows once for counts and exact sums, once for sums of floats beside exact counts, and
once for extrema, whatever the number of queries. How queries share is decided burst by burst (`loops/bursts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import localcontext
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from trendweave.kernels.aggregates import exact_numbers
from trendweave.kernels.aggregates.blocks import Blocks
from trendweave.kernels.aggregates.entry import NUMBERS, check_choice, find_states, measure, sort_by_query
from trendweave.kernels.aggregates.passes import MEMORY_LIMIT, CountTooLargeError
from trendweave.kernels.columns import make_writable
from trendweave.kernels.inputs import NO_TREND, Aggregate, Results, Template
from trendweave.kernels.loops.bursts import ALWAYS, AUTO, LIMB_BITS, NEVER, BurstShape, write_bursts
from trendweave.kernels.loops.memory import NUMBER_TYPES
from trendweave.kernels.loops.merged import MergedTables, MergedTemplate, number_patterns
from trendweave.kernels.loops.run import interprets, is_interpreted, run_loop
from trendweave.kernels.loops.vectors import INTERPRETED, Numbers

FIRST_LIMBS = 8  # in the first attempt with limbs
MORE_LIMBS = 4  # times as many in the next one
MANY_SEGMENTS = 50  # from so many on, a few are tried first
SAMPLE_SEGMENTS = 5
VALUE_BITS = 27  # of a value that is multiplied with limbs; longer ones are cut into digits
FACTOR_BITS = 29  # of what limbs are multiplied with: the values of all rows of a time
MOST_RESULTS = 2**22  # numbers in the results of one call of a loop, where segments can be taken apart
WAITING_ROWS = 2**12  # rows that wait in all classes together, at least


class Sharing(StrEnum):
    """Whether bursts of rows are computed once for all members of a class (HAMLET's shared graphlets)."""

    AUTO = "auto"  # where it costs less
    ALWAYS = "always"  # wherever several lanes read the same rows
    NEVER = "never"


class SharedRows(NamedTuple):
    """The rows of all segments.

    segment_starts  int64[k+1]          rows of segment i are segment_starts[i]:segment_starts[i+1]
    tick            int64[n]            number of the distinct time, nondecreasing inside a segment
    letters         uint64[n, words]    bit v is set iff the row may be read as variable v (or blocks as letter v)
    window_first    int64[kinds, n]     first and last window of each kind that hold the row, both nondecreasing inside
    window_last     int64[kinds, n]     a segment; first > last: in no window of the kind. Rows with the same tick lie
                                        in the same windows
    """

    segment_starts: np.ndarray
    tick: np.ndarray
    letters: np.ndarray
    window_first: np.ndarray
    window_last: np.ndarray


class SharingCounts(NamedTuple):
    """What was shared. Only classes with several lanes (members times overlapping windows) count.

    bursts_shared  runs of rows of a class of which at least one part was computed once for several lanes
    bursts_alone   the others
    snapshots      points at which values of several lanes went into one matrix
    splits         classes computed together in their last burst and not in this one
    merges         the reverse
    """

    bursts_shared: int = 0
    bursts_alone: int = 0
    snapshots: int = 0
    splits: int = 0
    merges: int = 0


class SharedResults(NamedTuple):
    """The query of each entry of `results`: there is one per (query, segment, window) with at least one trend, sorted
    by the three in this order; and what was shared."""

    query: np.ndarray
    results: Results
    counts: SharingCounts


def aggregate_shared(
    rows: SharedRows,
    template: MergedTemplate,
    aggregates: Sequence[Aggregate] = (),
    sharing: str = Sharing.AUTO,
    numbers: str = "exact",
    memory_limit: int = MEMORY_LIMIT,
) -> SharedResults:
    """Counts, sums and extrema per query, segment and window with at least one trend.

    Args:
        rows: The rows, sorted by segment and tick.
        template: The merged automaton of all queries.
        aggregates: What is measured beside the number of trends, for all queries alike; who needs not all of it, drops
            the rest. The bits of `variables` are states. Give the states of a class the same bit where nobody reads a
            state's result: those with different ones cannot be computed together.
        sharing: "auto", "always" or "never": how bursts are computed. The results are the same, sums of floats up to
            rounding.
        numbers: "exact", or "float64": counts and sums as floats, infinite beyond 2**1024.
        memory_limit: Bytes that numbers may take.

    Raises:
        CountTooLargeError: Exact numbers need more memory.
    """
    check_choice("sharing", sharing, tuple(Sharing))
    check_choice("numbers", numbers, NUMBERS)
    states = np.arange(template.class_of.size)
    ends = np.isin(states, template.final_state)
    of_states = Template(states, template.is_start, ends, template.source, template.target)
    passes = _BurstPasses(rows, template, find_states(aggregates, of_states), Sharing(sharing), memory_limit)
    found = measure(passes, of_states, aggregates, numbers)
    query, results = sort_by_query(found, passes.query[found.window], passes.window[found.window])
    return SharedResults(query, results, SharingCounts(*passes.shared.tolist()))


def _join_digits(columns: Sequence[np.ndarray], bits: int) -> np.ndarray:
    total = columns[-1].astype(object)
    for column in columns[-2::-1]:
        total = (total << bits) + column.astype(object)
    return total


def _cut_values(values: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Values that are too long to be multiplied with limbs, as digits; and whose each is."""
    lengths = [-(-max(1, exact_numbers.value_bits(row)) // bits) for row in values]
    digits = np.zeros((sum(lengths), values.shape[1]), np.int64)
    at = 0
    for row, length in zip(values, lengths, strict=True):
        for digit in range(length):  # the last one has the sign
            rest = row >> digit * bits
            digits[at] = rest if digit == length - 1 else rest & (2**bits - 1)
            at += 1
    return digits, np.repeat(np.arange(len(lengths)), lengths)


class _BurstPasses:
    """One call's rows and template, ready for several passes. The first of them says which windows of which queries
    have trends: each is a block with a number in place of its window."""

    def __init__(
        self, rows: SharedRows, template: MergedTemplate, marks: np.ndarray, sharing: Sharing, memory_limit: int
    ) -> None:
        first, last = (_ready(np.atleast_2d(x)) for x in (rows.window_first, rows.window_last))
        tick, starts = _ready(rows.tick), _ready(rows.segment_starts)
        self.count, self._kinds = tick.size, len(first)
        self._starts, self._segments = starts, np.arange(starts.size - 1)
        self._sharing = {Sharing.NEVER: NEVER, Sharing.ALWAYS: ALWAYS, Sharing.AUTO: AUTO}[sharing]
        self._memory_limit = memory_limit
        self._query_window = np.asarray(template.query_window, np.int64)
        self._blocked = bool((np.asarray(template.blocker) >= 0).any())
        slots = np.maximum(1, (last - first).max(axis=1, initial=0) + 1)
        self._merged = MergedTables(template, slots, marks)
        letters = np.asarray(rows.letters, np.uint64)
        letters = letters[:, None] if letters.ndim == 1 else letters
        pattern, examples = number_patterns(letters, self._merged.letters)
        border = np.zeros(self.count, np.int64)
        border[1:] = ((first[:, 1:] != first[:, :-1]) | (last[:, 1:] != last[:, :-1])).any(axis=0)
        self._most_in_tick = int(np.diff(np.flatnonzero(np.diff(tick, prepend=-1, append=-1))).max(initial=1))
        self._given: dict[str, Any] = {
            **self._merged.tables, **self._merged.read_patterns(examples), "tick": tick, "pattern": pattern,
            "border": border, "window_first": first.reshape(-1), "window_last": last.reshape(-1),
        }  # fmt: skip
        self._find_windows(first, last, border)
        self.shared = np.zeros(5, np.int64)
        self._places: np.ndarray | None = None  # of all results that have trends

    def _find_windows(self, first: np.ndarray, last: np.ndarray, border: np.ndarray) -> None:
        """Number the windows that hold rows, per segment and kind; results have a place per window and query."""
        starts = self._starts
        begins = starts[:-1][np.diff(starts) > 0]
        at = np.unique(np.concatenate([begins, np.flatnonzero(border)]))  # rows that windows may open at
        segment = np.searchsorted(starts, at, side="right") - 1
        per_segment = np.zeros((starts.size - 1, self._kinds), np.int64)
        self._windows = []
        for kind in range(self._kinds):
            opened_from = first[kind, at]
            goes_on = np.flatnonzero(~np.isin(at, begins))
            opened_from[goes_on] = np.maximum(opened_from[goes_on], last[kind, at[goes_on] - 1] + 1)
            opened = np.maximum(0, last[kind, at] - opened_from + 1)
            ends = np.cumsum(opened)
            numbers = np.repeat(opened_from - (ends - opened), opened)
            self._windows.append(numbers + np.arange(numbers.size))
            per_segment[:, kind] = np.bincount(segment, opened, starts.size - 1)
        self._window_from = np.cumsum(per_segment, axis=0) - per_segment
        places = per_segment * self._merged.tables["queries_of"]
        self._place_from = np.concatenate([[0], np.cumsum(places.reshape(-1))])

    def _name_places(self, places: np.ndarray) -> None:
        """Find the query, segment and window of each result."""
        at = np.searchsorted(self._place_from, places, side="right") - 1
        segment, kind = np.divmod(at, self._kinds)
        queries = self._merged.tables["queries_of"]
        ordinal, slot = np.divmod(places - self._place_from[at], queries[kind])
        by_kind = np.zeros((self._kinds, int(queries.max())), np.int64)
        by_kind[self._query_window, self._merged.slot_of] = np.arange(self._query_window.size)
        self._places, self.query, self.window = places, by_kind[kind, slot], np.zeros(places.size, np.int64)
        for one in range(self._kinds):
            own = np.flatnonzero(kind == one)
            self.window[own] = self._windows[one][self._window_from[segment[own], one] + ordinal[own]]
        number, nothing = np.arange(places.size + 1), np.zeros(places.size, np.int64)
        self.blocks = Blocks(segment, nothing, nothing, number[:-1], nothing + 1, number)

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
        """float64 totals."""
        return self._collect([self._pass(Numbers.FLOAT64, self._segments, values, states)])

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
        """The largest code of each line of codes."""
        return self._collect([self._pass(Numbers.LARGEST, self._segments, codes, states)])

    def decimal_pass(self, values: np.ndarray, states: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Totals of floats as decimals, in the segments of what is wanted."""
        assert self._places is not None, "something was summed"
        with localcontext(exact_numbers.DECIMALS):
            decimals = exact_numbers.as_decimals(values)
            part = self._pass(Numbers.DECIMAL, np.unique(self.blocks.segment[wanted]), decimals, states)
        totals = np.zeros((1 + len(values), wanted.size), object)
        totals[:, np.searchsorted(self._places, part.found)] = part.columns
        return totals

    def exact_pass(self, values: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
        """Exact totals."""
        segments = self._segments
        shape = BurstShape(Numbers.EXACT, len(values) > 0, self._blocked)
        if is_interpreted(self._steps(len(values) + 1), shape):
            return self._collect([self._pass(Numbers.EXACT, segments, values, states)])
        parts, few = [], segments[np.linspace(0, segments.size - 1, SAMPLE_SEGMENTS + 2).astype(int)[1:-1]]
        sampled = segments.size >= MANY_SEGMENTS
        if not sampled or 2 * self._pass(Numbers.INT64, few, values, states).fits.sum() > few.size:
            parts.append(self._pass(Numbers.INT64, segments, values, states))
            segments = segments[~parts[0].fits]
        bits = max(1, min(VALUE_BITS, FACTOR_BITS - self._most_in_tick.bit_length()))
        digits, whose = _cut_values(values, bits) if segments.size else (values, np.arange(len(values)))
        room = FIRST_LIMBS
        if segments.size >= MANY_SEGMENTS:
            few = segments[np.linspace(0, segments.size - 1, SAMPLE_SEGMENTS + 2).astype(int)[1:-1]]
            while 2 * self._pass(Numbers.LIMBS, few, digits, states[whose], room).fits.sum() <= few.size:
                room *= MORE_LIMBS
        while segments.size:
            part = self._pass(Numbers.LIMBS, segments, digits, states[whose], room)
            segments = segments[~part.fits]
            if len(digits) > len(values):
                joined = [part.columns[0]]
                for number in range(len(values)):
                    own = [column for column, k in zip(part.columns[1:], whose, strict=True) if k == number]
                    joined.append(_join_digits(own, bits))
                part = part._replace(columns=joined)
            parts.append(part)
            room *= MORE_LIMBS
        return self._collect(parts)

    def _collect(self, parts: Sequence[_Part]) -> list[np.ndarray]:
        """What several calls have found, in the order of the places of the first pass."""
        found = np.concatenate([np.zeros(0, np.int64), *(part.found for part in parts)])
        order = np.argsort(found, kind="stable")
        if self._places is None:
            self._name_places(found[order])
            self.shared = np.sum([np.zeros(5, np.int64), *(part.shared for part in parts)], axis=0)
        else:  # a sum of floats may be 0 where another one is not
            order = order[np.searchsorted(found[order], self._places)] if found.size else order
        if not parts:
            return []
        columns = []
        for pieces in zip(*(part.columns for part in parts), strict=True):
            wide = any(piece.dtype == object for piece in pieces)
            columns.append(np.concatenate([piece.astype(object) if wide else piece for piece in pieces])[order])
        return columns

    def _steps(self, parts: int) -> int:
        """About how many steps a pass takes."""
        per_row = sum(self._merged.lanes) / max(1, self._merged.count)
        return int(self.count * (5 + per_row) * parts)

    def _check_memory(self, numbers: int, segment: int) -> None:
        if self._merged.size * numbers * 8 > self._memory_limit:
            raise CountTooLargeError(
                f"segment {segment}: exact numbers need more than {self._memory_limit >> 20} MiB; ask for "
                "numbers='float64', or use smaller windows"
            )

    def _pass(
        self, numbers: Numbers, segments: np.ndarray, values: np.ndarray, states: np.ndarray, room: int = 1
    ) -> _Part:
        """One pass over some segments, as many at a time as results have room for."""
        parts = len(values) + (numbers is not Numbers.LARGEST)
        if segments.size:
            self._check_memory(parts * room, int(segments[0]))
        shape = BurstShape(numbers, parts > 1, self._blocked)
        steps = self._steps(parts)
        interpreted = interprets(steps, shape) or numbers in INTERPRETED
        given = self._memory(shape, parts, room)
        given["values"] = make_writable(np.ascontiguousarray(values).reshape(-1))
        given["marks"] = np.concatenate([self._merged.mark_bundles(states).reshape(-1), [0]])
        fits = np.ones(segments.size, np.bool_)
        found: list[np.ndarray] = []
        pieces: list[list[np.ndarray]] = [[] for _ in range(parts)]
        bounds = self._place_from[:: self._kinds]
        sizes = np.cumsum((bounds[segments + 1] - bounds[segments]) * parts * room)
        first = 0
        while first < segments.size:
            end = int(np.searchsorted(sizes, (sizes[first - 1] if first else 0) + MOST_RESULTS, side="right"))
            end = max(first + 1, end)
            here = segments[first:end]
            places, numbers_found = self._call(shape, given, here, fits[first:end], room, interpreted)
            found.append(places)
            for column, piece in zip(pieces, numbers_found, strict=True):
                column.append(piece)
            first = end
        columns = [np.concatenate(column) if column else np.zeros(0, np.int64) for column in pieces]
        return _Part(fits, np.concatenate([np.zeros(0, np.int64), *found]), columns, given["counts_of_sharing"])

    def _memory(self, shape: BurstShape, parts: int, room: int) -> dict[str, Any]:
        """What a pass works in. All vectors are empty, as the loop leaves them."""
        merged, classes = self._merged, self._merged.count
        unit = parts * room
        kind: Any = NUMBER_TYPES.get(shape.numbers, np.int64)
        nothing = NO_TREND if shape.numbers is Numbers.LARGEST else 0
        tables = self._given
        nodes = max(WAITING_ROWS, 2 * self._most_in_tick * tables["most_entries"])
        names = ("waiting", "differing", "queued", "queue", "head", "tail", "stale", "is_touched", "touched_list")
        return {
            **tables, **{name: np.zeros(classes, np.int64) for name in names},
            "last_shared": np.full(classes, -1, np.int64),
            **{name: np.zeros(nodes, np.int64) for name in ("node_row", "node_entry", "node_next")},
            **{name: np.zeros(self._kinds, np.int64) for name in ("open_first", "open_last", "closed")},
            **{name: np.ones(classes, np.int64) for name in ("limbs_of", "outside_limbs")},
            "v": np.full(merged.size * unit, nothing, kind), "factors": np.zeros(2 * parts, kind),
            "added": np.zeros(parts, kind), "bounds": np.zeros(4 * classes + 2), "kinds": self._kinds,
            "parts": parts, "columns": parts - (shape.numbers is not Numbers.LARGEST), "room": room, "unit": unit,
            "scratch_at": merged.scratch_at, "sharing": self._sharing, "counts_of_sharing": np.zeros(5, np.int64),
            "counts_before": np.zeros(5, np.int64),
        }  # fmt: skip

    def _call(
        self, shape: BurstShape, given: dict[str, Any], segments: np.ndarray, fits: np.ndarray, room: int,
        interpreted: bool,
    ) -> tuple[np.ndarray, list[np.ndarray]]:  # fmt: skip
        """One call of the loop: the places that have trends, and their numbers."""
        parts, kinds = given["parts"], self._kinds
        of_segment = segments[:, None] * kinds + np.arange(kinds + 1)
        places = self._place_from[of_segment]  # of the segments' kinds, and the end
        sizes = np.diff(places, axis=1).reshape(-1)
        ends = np.cumsum(sizes)
        kind: Any = NUMBER_TYPES.get(shape.numbers, np.int64)
        nothing = NO_TREND if shape.numbers is Numbers.LARGEST else 0
        results = np.full(int(ends[-1]) * parts * room, nothing, kind)
        given |= {
            "row_start": self._starts[segments], "row_end": self._starts[segments + 1], "base": ends - sizes,
            "results": results, "fits": fits, "gathered": np.full(self._merged.count, -1, np.int64),
        }  # fmt: skip
        if self._merged.count:
            text, takes = write_bursts(shape)
            run_loop("bursts", text, takes, given, interpreted)
        table = results.reshape(-1, parts, room)
        there = table[:, 0, 0] != nothing if room == 1 else (table[:, 0] != 0).any(axis=1)
        found = np.flatnonzero(there)
        group = np.searchsorted(ends, found, side="right")
        kept = fits[group // kinds]
        found, group = found[kept], group[kept]
        where = places[:, :-1].reshape(-1)[group] + found - (ends - sizes)[group]
        if room == 1:
            return where, [table[found, part, 0] for part in range(parts)]
        bits = np.full(found.size, LIMB_BITS)
        return where, [exact_numbers.from_limbs(table[found, part], bits) for part in range(parts)]


class _Part(NamedTuple):
    """What a pass has found: the segments that fitted, places that have trends, numbers of each, what was shared."""

    fits: np.ndarray
    found: np.ndarray
    columns: list[np.ndarray]
    shared: np.ndarray


def _ready(array: np.ndarray) -> np.ndarray:
    return make_writable(np.ascontiguousarray(array, np.int64))
