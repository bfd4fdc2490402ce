"""Aggregates over all trends: the one entry that runners call.

`aggregate` picks the way of summing per transition and the width of the numbers per block of windows:
  1. exact pass: number of trends, counts of occurrences, integer sums. int64 first; blocks that overflow are run again
     with limbs, as many as they need. A run that does not fit stops at the first vertex that shows it;
  2. float64 pass: sums of floats, or everything linear if floats are asked for;
  3. extremum pass: minima and maxima, on order-preserving codes.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from . import exact_numbers as exact
from .blocks import cut_blocks, longest_overlap, narrow_blocks, select_blocks, windows_of
from .choose_ways import WAYS, ColumnList, build_program, writable
from .inputs import KINDS, NO_CONDITION, SELECTIONS, Aggregate, Results, Rows, Template
from .propagate import propagate
from .state_sums import sum_unconditional
from .tables import RUNNING, WAY, Columns
from .vectors import EXTREMUM, NO_VALUE, SUM

LANE_NUMBERS = 256  # numbers of a vertex vector that blocks of overlapping windows aim at
LIMBS_EXPECTED = 4  # of them, when numbers have limbs
FIRST_LIMBS = 8  # at most so many limbs in the first attempt with limbs
MANY_BLOCKS = 100
SAMPLE_BLOCKS = 5
MEMORY_LIMIT = 6 * 2**30


class CountTooLargeError(OverflowError):
    """Exact numbers would need more memory than allowed."""


def normal_rows(rows: Rows) -> Rows:
    """Contiguous, writable arrays of the declared types; copies only what differs."""
    letters = np.asarray(rows.letters)
    if letters.ndim == 1:
        letters = letters[:, None]
    return Rows(
        *(writable(np.ascontiguousarray(a, np.int64)) for a in rows[:4]),
        writable(np.ascontiguousarray(letters, np.uint64)),
    )


class Linear:
    """Linear components of a pass, each kept once: occurrences (values None) and sums."""

    def __init__(self) -> None:
        self.parts: list = []
        self.keys: dict = {}

    def add(self, variables: int, values, valid) -> int:
        key = (variables, id(values), id(valid))
        if key not in self.keys:
            self.keys[key] = len(self.parts)
            self.parts.append((variables, values, valid))
        return self.keys[key]

    def matrix(self, count: int, dtype) -> np.ndarray:
        matrix = np.zeros((len(self.parts), count), dtype)
        for row, (_, values, valid) in zip(matrix, self.parts, strict=True):
            row[:] = 1 if values is None else values
            if valid is not None:
                row[~np.asarray(valid, bool)] = 0
        return matrix

    def states(self, template: Template) -> np.ndarray:
        return states_of([part[0] for part in self.parts], template)


def is_empty(condition) -> bool:
    """Whether a condition asks for nothing."""
    return not condition.comparisons and condition.guard is None and condition.pair_test is None


def states_of(masks: Sequence[int], template: Template) -> np.ndarray:
    """bool[masks, states]: whether a state's variable is in the mask."""
    flags = [[bool(mask >> int(v) & 1) for v in template.state_variable] for mask in masks]
    return np.array(flags, np.bool_).reshape(len(masks), len(template.state_variable))


class Engine:
    """One call's rows, template and conditions, ready for several passes over the same blocks of windows."""

    def __init__(self, rows, template, conditions, selection, force_way, start_guards, final_guards, memory_limit):
        self.rows = normal_rows(rows)
        self.template = template
        self.conditions = conditions
        self.selection = selection
        self.force_way = force_way
        self.start_guards = start_guards
        self.final_guards = final_guards
        self.memory_limit = memory_limit
        self.count = self.rows.tick.size
        self.programs: dict = {}
        self.unconditional = (
            force_way is None and selection == "any" and not start_guards and not final_guards
            and all(c is None or c is NO_CONDITION or is_empty(c) for c in conditions or ())
        )  # fmt: skip
        self.overlap = int(longest_overlap(self.rows.window_first, self.rows.window_last))
        self.blocks = cut_blocks(self.rows, self.lanes_for(1))

    def lanes_for(self, components: int) -> int:
        """Windows per block: about the overlap, as long as vectors stay short; one if windows do not overlap."""
        if self.overlap == 1:
            return 1
        return max(1, min(max((self.overlap + 7) // 8 * 8, 8), LANE_NUMBERS // components))

    def program(self, exact_sums: bool):
        """The program and its columns; sums of integers may use ways that subtract."""
        if exact_sums not in self.programs:
            lists = [ColumnList() for _ in range(4)]
            codes, guards, start, final = lists
            program = build_program(
                self.template, self.conditions, self.selection, exact_sums, self.force_way, codes, guards,
                (self.start_guards, start), (self.final_guards, final),
            )  # fmt: skip
            self.programs[exact_sums] = (
                program,
                *(part.matrix(self.count) for part in lists),
            )
        return self.programs[exact_sums]

    def run(self, blocks, values, value_states, kind, limbs, bits_at_most, numbers, row_results=None):
        """One pass over the given blocks."""
        program, codes, guards, start, final = self.program(kind == SUM and bits_at_most is not None)
        rows = self.rows
        columns = Columns(
            rows.tick, rows.window_first, rows.window_last, rows.letters, codes, guards, start, final, values,
            value_states,
        )  # fmt: skip
        return propagate(
            program, columns, blocks, limbs, bits_at_most, numbers, kind, SELECTIONS.index(self.selection), row_results
        )

    def exact_pass(self, values: np.ndarray, digits, states: np.ndarray) -> list:
        """Exact totals per window: the number of trends, then each linear component. `values` int64[k, n] or None if
        only `digits` int64[k, d, n] can hold them."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        total = int(blocks.offset[-1])
        small = np.zeros((total, numbers), np.int64)
        pending = np.arange(blocks.lanes.size)
        if values is not None and self.unconditional:
            small, fits = sum_unconditional(self.rows, self.template, blocks, self.overlap, values, states, True)
            if not fits.all():
                pending = np.flatnonzero(np.add.reduceat(~fits, blocks.offset[:-1]))
            else:
                pending = pending[:0]
        elif values is not None and self.likely_fits(blocks, values, states):
            small, fits, _ = self.run(blocks, values[:, None, :], states, SUM, 1, 61, numbers)
            pending = np.flatnonzero(~fits)
        columns = [small[:, k] for k in range(numbers)]
        if pending.size == 0:
            return columns
        at_most = exact.DIGIT_BITS
        if values is not None:
            bits = exact.value_bits(values)
            if bits <= 31:
                at_most = 61 - max(bits, 1)
                digits = values[:, None, :]
            else:
                digits = exact.to_digits(values, -(-bits // exact.DIGIT_BITS))
        positions = np.arange(total)
        limbs = FIRST_LIMBS
        while pending.size:
            keep = np.zeros(blocks.lanes.size, bool)
            keep[pending] = True
            positions = positions[np.repeat(keep, blocks.lanes)]
            blocks = select_blocks(blocks, pending)
            blocks = narrow_blocks(blocks, self.rows, self.lanes_for(numbers * LIMBS_EXPECTED))
            self.check_memory(blocks, numbers * limbs)
            wide, fits, bits = self.run(blocks, digits, states, SUM, limbs, at_most, numbers)
            done = np.repeat(fits, blocks.lanes)
            bits = np.repeat(bits, blocks.lanes)[done]
            for k in range(numbers):
                part = exact.from_limbs(wide[done, k::numbers], bits)
                if part.dtype == object and columns[k].dtype != object:
                    columns[k] = columns[k].astype(object)
                columns[k][positions[done]] = part
            pending = np.flatnonzero(~fits)
            limbs *= 4
        return columns

    def likely_fits(self, blocks, values: np.ndarray, states: np.ndarray) -> bool:
        """Whether int64 is worth a try: where there are many blocks, a few of them tell."""
        if blocks.lanes.size < MANY_BLOCKS:
            return True
        some = select_blocks(blocks, np.linspace(0, blocks.lanes.size - 1, SAMPLE_BLOCKS + 2).astype(int)[1:-1])
        _, fits, _ = self.run(some, values[:, None, :], states, SUM, 1, 61, 1 + states.shape[0])
        return 2 * int(fits.sum()) > SAMPLE_BLOCKS

    def check_memory(self, blocks, components: int) -> None:
        """Refuse, naming the window, before memory runs out."""
        cells = (blocks.row_end - blocks.row_start) * blocks.lanes
        stores = int((self.program(True)[0].stores[:, WAY] != RUNNING).sum())
        worst = int(cells.argmax())
        if int(cells[worst]) * components * 8 * stores > self.memory_limit:
            raise CountTooLargeError(
                f"segment {int(blocks.segment[worst])}, window {int(blocks.window[worst])}: exact numbers need more "
                f"than {self.memory_limit >> 20} MiB; ask for numbers='float64', or use smaller windows"
            )

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> list:
        """float64 totals per window."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        if self.unconditional:
            out, _ = sum_unconditional(self.rows, self.template, blocks, self.overlap, values, states, None)
        else:
            out, _, _ = self.run(blocks, values[:, None, :], states, SUM, 1, None, numbers)
        return [out[:, k] for k in range(numbers)]

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> list:
        """The largest code per window; NO_TREND or NO_VALUE where there is none."""
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(max(1, len(codes))))
        out, _, _ = self.run(blocks, codes[:, None, :], states, EXTREMUM, 1, 61, len(codes))
        return [out[:, k] for k in range(len(codes))]


def extremum_codes(aggregate: Aggregate) -> tuple:
    """Codes whose maximum is wanted, and how to read them back: (codes, lookup or None)."""
    values = np.asarray(aggregate.values)
    lookup = None
    codes = exact.order_codes(values)
    if codes.size and (int(codes.min()) < NO_VALUE + 2 or int(codes.max()) > exact.INT64.max - 2):
        lookup, codes = np.unique(values, return_inverse=True)
        codes = codes.astype(np.int64)
    if aggregate.kind == "min":
        codes = ~codes
    if aggregate.valid is not None:
        codes = np.where(aggregate.valid, codes, NO_VALUE)
    return codes, lookup


def read_extremum(aggregate: Aggregate, codes: np.ndarray, lookup) -> tuple:
    """(values, valid) from the largest codes."""
    valid = codes > NO_VALUE
    if aggregate.kind == "min":
        codes = ~codes
    codes = np.where(valid, codes, 0)
    if lookup is not None:
        return lookup[codes], valid
    return exact.values_of_codes(codes, np.asarray(aggregate.values).dtype == np.float64), valid


def aggregate(
    rows: Rows,
    template: Template,
    transition_conditions: Sequence | None = None,
    aggregates: Sequence[Aggregate] = (),
    selection: str = "any",
    numbers: str = "exact",
    force_way: str | None = None,
    start_guards: Mapping[int, np.ndarray] | None = None,
    final_guards: Mapping[int, np.ndarray] | None = None,
    memory_limit: int = MEMORY_LIMIT,
) -> Results:
    """Aggregates over all trends, per segment and window with at least one trend.

    transition_conditions  one Condition (or None) per transition of the template
    selection    "any" (skip-till-any-match), "next" (skip-till-next-match), "contiguous"
    numbers      "exact"; "float64": counts and sums as floats (infinite beyond 2**1024); "log2": exact, then the base-2
                 logarithm of counts and integer sums (NaN for negative sums); avg, min, max and float sums stay as
                 they are
    force_way    None, or one of WAYS where it fits: for tests
    start_guards, final_guards  state -> int64[n]: a vertex may begin trends only in windows >= start_guards[state][row]
                 and end trends only in windows <= final_guards[state][row] (leading and trailing NOT)
    """
    if selection not in SELECTIONS:
        raise ValueError(f"selection is one of {SELECTIONS}, not {selection!r}")
    if numbers not in ("exact", "float64", "log2"):
        raise ValueError(f"numbers is 'exact', 'float64' or 'log2', not {numbers!r}")
    if force_way is not None and force_way not in WAYS:
        raise ValueError(f"force_way is None or one of {WAYS}, not {force_way!r}")
    for part in aggregates:
        if part.kind not in KINDS:
            raise ValueError(f"an aggregate is one of {KINDS}, not {part.kind!r}")
    engine = Engine(
        rows, template, transition_conditions, selection, force_way, start_guards, final_guards, memory_limit
    )
    linear, floats, extrema = Linear(), Linear(), []
    wanted: list = []
    for part in aggregates:
        if part.kind in ("min", "max"):
            wanted.append((len(extrema),))
            extrema.append(part)
            continue
        counted = number = None
        if part.kind in ("count", "avg"):
            counted = linear.add(part.variables, None, part.valid)
        if part.kind in ("sum", "avg"):
            is_float = numbers != "float64" and np.asarray(part.values).dtype.kind == "f"
            number = (floats if is_float else linear).add(part.variables, part.values, part.valid)
        wanted.append((counted, number))

    n = engine.count
    states = linear.states(template)
    if numbers == "float64":
        totals = engine.float_pass(linear.matrix(n, np.float64), states)
    else:
        totals = engine.exact_pass(linear.matrix(n, np.int64), None, states)
    float_totals = float_sums(engine, floats, template) if floats.parts else []
    codes = [extremum_codes(part) for part in extrema]
    largest = []
    if codes:
        masks = states_of([part.variables for part in extrema], template)
        largest = engine.extremum_pass(np.stack([c for c, _ in codes]).astype(np.int64, copy=False), masks)

    found = np.flatnonzero(totals[0] != 0)
    segment, window = windows_of(engine.blocks)
    finish = (lambda a: np.array([exact.log2_of(x) for x in a], np.float64)) if numbers == "log2" else (lambda a: a)
    columns, valid = [], []
    for part, place in zip(aggregates, wanted, strict=True):
        if part.kind in ("min", "max"):
            column, ok = read_extremum(part, largest[place[0]][found], codes[place[0]][1])
        elif part.kind == "count":
            column, ok = finish(tidy(totals[1 + place[0]][found])), None
        else:
            is_float = numbers != "float64" and np.asarray(part.values).dtype.kind == "f"
            exponent = None
            if is_float:
                column, exponent = float_totals[place[1]]
                column = column[found]
            else:
                column = totals[1 + place[1]][found]
            ok = None
            if part.kind == "avg":
                counted = totals[1 + place[0]][found]
                ok = counted != 0
                column = ratios(column, exponent, np.where(ok, counted, 1))
            elif exponent is not None:
                column = np.array([exact.scaled(x, exponent) for x in column], np.float64)
            elif not is_float:
                column = finish(tidy(column))
        columns.append(column)
        valid.append(ok if ok is None else ok.astype(bool))
    return Results(segment[found], window[found], finish(tidy(totals[0][found])), tuple(columns), tuple(valid))


def tidy(column: np.ndarray) -> np.ndarray:
    """int64 if everything fits."""
    return exact.narrowed(column) if column.dtype == object else column


def float_ratio(total: float, count: int) -> float:
    """total / count where the count may be beyond the range of floats."""
    if not np.isfinite(total):
        return float(total)
    numerator, denominator = float(total).as_integer_ratio()
    return numerator / (denominator * int(count))


def ratios(sums: np.ndarray, exponent: int | None, counts: np.ndarray) -> np.ndarray:
    """Averages, rounded once where the sums are exact."""
    if exponent is None and sums.dtype != object and counts.dtype != object:
        with np.errstate(invalid="ignore"):
            return sums / counts
    if sums.dtype == np.float64:
        return np.array([float_ratio(s, c) for s, c in zip(sums, counts, strict=True)], np.float64)
    return np.array([exact.scaled(s, exponent or 0, int(c)) for s, c in zip(sums, counts, strict=True)], np.float64)


def float_sums(engine: Engine, floats: Linear, template: Template) -> list:
    """(totals, exponent) per sum of floats: plain float64 (exponent None) as long as all totals are finite, else
    exact fixed point numbers times 2**exponent."""
    states = floats.states(template)
    totals = engine.float_pass(floats.matrix(engine.count, np.float64), states)
    out: list = []
    for k, (_, values, valid) in enumerate(floats.parts):
        if np.isfinite(totals[k + 1]).all():
            out.append((totals[k + 1], None))
            continue
        usable = np.ones(engine.count, bool) if valid is None else np.asarray(valid)
        if not np.isfinite(np.asarray(values)[usable]).all():
            out.append((totals[k + 1], None))  # NaN and infinities in, NaN and infinities out
            continue
        digits, exponent = exact.float_digits(np.asarray(values, np.float64), usable)
        exactly = engine.exact_pass(None, digits[None], states[k : k + 1])
        out.append((exactly[1].astype(object), exponent))
    return out
