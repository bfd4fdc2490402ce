"""Passes over the rows: exact numbers, float64, extrema. Each gives the same entries in the same order."""

import numpy as np

from trendweave.kernels.aggregates import exact_numbers
from trendweave.kernels.aggregates.passes import MEMORY_LIMIT, CountTooLargeError
from trendweave.kernels.columns import make_writable
from trendweave.kernels.shared import book as names
from trendweave.kernels.shared import workspace as ws
from trendweave.kernels.shared.inputs import MergedTemplate, SharedMeasures, SharedRows, Sharing, SharingCounts
from trendweave.kernels.shared.numbers import EXTREMUM, LIMB_BITS, LINEAR, NO_TREND
from trendweave.kernels.shared.patterns import find_borders, find_patterns
from trendweave.kernels.shared.plan import build_plan
from trendweave.kernels.shared.run import ALWAYS, AUTO, NEVER, run_segments

SETTINGS = {Sharing.NEVER: NEVER, Sharing.ALWAYS: ALWAYS, Sharing.AUTO: AUTO}
FIRST_ROOM = 8
VALUE_BITS = 27  # of a value that is multiplied with limbs; longer ones are cut into digits


class Entries:
    """What one or several runs found, one after the other."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.places: list[np.ndarray] = []  # [3, entries]: query, segment, window
        self.columns: list[list[np.ndarray]] = [[] for _ in range(parts)]

    def take(self, places: np.ndarray, found: np.ndarray) -> None:
        """Results as the kernel writes them: query, segment, window, where the numbers are, limbs."""
        self.places.append(places[:, :3].T.copy())
        at, limbs, count = places[:, 3], places[:, 4], places.shape[0]
        for part, column in enumerate(self.columns):
            if (limbs == 1).all():
                column.append(found[at + part])
                continue
            numbers = np.empty(count, object)
            for length in np.unique(limbs):
                chosen = np.flatnonzero(limbs == length)
                which = at[chosen, None] + part * length + np.arange(length)
                bits = np.full(chosen.size, LIMB_BITS)
                numbers[chosen] = exact_numbers.from_limbs(found[which], bits)
            column.append(numbers)

    def where(self) -> np.ndarray:
        return np.concatenate(self.places, axis=1)

    def column(self, part: int) -> np.ndarray:
        pieces = self.columns[part]
        if any(piece.dtype == object for piece in pieces):
            pieces = [piece.astype(object) for piece in pieces]
        return np.concatenate(pieces)


class Passes:
    """One call's rows and template, ready for several passes."""

    def __init__(
        self,
        rows: SharedRows,
        template: MergedTemplate,
        measures: SharedMeasures,
        sharing: Sharing,
        memory_limit: int = MEMORY_LIMIT,
        traced: int = 0,
    ) -> None:
        first, last = (self.ready(np.atleast_2d(x), np.int64) for x in (rows.window_first, rows.window_last))
        slots = np.maximum(1, (last - first).max(axis=1, initial=0) + 1)
        states = template.class_of.size
        marks = [
            np.array([m.states for m in part], np.bool_).reshape(len(part), states)
            for part in (measures.linear, measures.extrema)
        ]
        plan = build_plan(template, slots, *marks)
        self.classes, self.lists = plan.classes, plan.lists
        letters = np.asarray(rows.letters)
        letters = self.ready(letters[:, None] if letters.ndim == 1 else letters, np.uint64)
        number, self.patterns = find_patterns(letters, plan.readers, self.classes.bundle_from)
        tick, starts = self.ready(rows.tick, np.int64), self.ready(rows.segment_starts, np.int64)
        self.rows = ws.KernelRows(
            starts, tick, number, find_borders(first, last), first, last, np.empty((0, tick.size), np.int64)
        )
        self.sharing = SETTINGS[sharing]
        self.memory_limit = memory_limit
        self.trace = None
        self.traced = traced
        self.counts = SharingCounts()

    @staticmethod
    def ready(array: np.ndarray, dtype: type) -> np.ndarray:
        return make_writable(np.ascontiguousarray(array, dtype))

    def run(self, values: np.ndarray, marks: np.ndarray, kind: int, number: type, first: int, room: int, into):
        """From a segment on: (the segment that it stopped at, what was shared, the trace)."""
        parts = values.shape[0] + (kind == LINEAR)
        how = ws.How(parts, room, kind, self.sharing)
        self.check_memory(how, first)
        marks = self.ready(marks, np.int64)
        empty = 0 if kind == LINEAR else NO_TREND
        work = ws.make_work(self.classes, self.lists, self.patterns, marks, how, number, empty)
        book = work.book
        book[names.WIDE] = room > 1
        trace = np.zeros((self.traced, 7), number)
        rows = self.rows._replace(values=self.ready(values, number))
        exact = None if number == np.float64 else True
        entries = 64 + self.lists.query_window.size
        places, found = np.empty((entries, 5), np.int64), np.empty(2 * entries * parts, number)
        segment, places, found = run_segments(*work, places, found, rows, trace, first, exact)
        into.take(places[: book[names.ENTRIES]], found)
        counted = book[[names.BURSTS_SHARED, names.BURSTS_ALONE, names.SNAPSHOTS, names.SPLITS, names.MERGES]]
        return int(segment), counted, trace[: book[names.TRACED]]

    def check_memory(self, how: ws.How, segment: int) -> None:
        if sum(ws.sizes_of_numbers(self.classes, how).values()) * 8 > self.memory_limit:
            raise CountTooLargeError(
                f"segment {segment}: exact numbers need more than {self.memory_limit >> 20} MiB; ask for "
                "numbers='float64', or use smaller windows"
            )

    def linear_pass(self, values: np.ndarray, marks: np.ndarray, number: type) -> Entries:
        """The number of trends and linear measures: float64, or exact. Keeps the counts of the first pass."""
        entries = Entries(values.shape[0] + 1)
        counted = np.zeros(5, np.int64)
        segment, room, segments = 0, 1, self.rows.segment_starts.size - 1
        digits = None
        while True:
            if room > 1 and digits is None:
                digits = Digits(values)
            if digits is not None and digits.needed:
                wide = Entries(digits.values.shape[0] + 1)
                segment, found, trace = self.run(
                    digits.values, marks[digits.measure], LINEAR, number, segment, room, wide
                )
                digits.combine(wide, entries)
            else:
                segment, found, trace = self.run(values, marks, LINEAR, number, segment, room, entries)
            counted += found
            if segment >= segments:
                break
            room = FIRST_ROOM if room == 1 else 2 * room
        if self.trace is None:
            self.trace, self.counts = trace, SharingCounts(*counted.tolist())
        return entries

    def extremum_pass(self, codes: np.ndarray) -> Entries:
        """The largest codes."""
        entries = Entries(codes.shape[0])
        self.run(codes, self.lists.marks_extrema, EXTREMUM, np.int64, 0, 1, entries)
        return entries


class Digits:
    """Values too long to be multiplied with limbs, as several shorter measures each."""

    def __init__(self, values: np.ndarray) -> None:
        lengths = [-(-max(1, exact_numbers.value_bits(row)) // VALUE_BITS) for row in values]
        self.needed = any(length > 1 for length in lengths)
        self.lengths = lengths
        self.measure = np.repeat(np.arange(len(lengths)), lengths)
        if self.needed:
            self.values = np.concatenate([cut(row, length) for row, length in zip(values, lengths, strict=True)])

    def combine(self, wide: Entries, entries: Entries) -> None:
        """Entries of digits as entries of values."""
        entries.places += wide.places
        entries.columns[0] += wide.columns[0]
        part = 1
        for column, length in zip(entries.columns[1:], self.lengths, strict=True):
            for pieces in zip(*wide.columns[part : part + length], strict=True):
                total = pieces[-1].astype(object)
                for piece in pieces[-2::-1]:
                    total = (total << VALUE_BITS) + piece.astype(object)
                column.append(total)
            part += length


def cut(values: np.ndarray, digits: int) -> np.ndarray:
    """int64[n] as int64[digits, n]: base 2**VALUE_BITS, the last with the sign."""
    out = np.empty((digits, values.size), np.int64)
    rest = values.astype(np.int64)
    for digit in range(digits - 1):
        out[digit] = rest & (2**VALUE_BITS - 1)
        rest = rest >> VALUE_BITS
    out[digits - 1] = rest
    return out
