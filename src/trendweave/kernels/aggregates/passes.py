"""Passes over blocks of windows: what an aggregate query asks for, as sums and extrema, and what is done when a number
does not fit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import localcontext
from typing import Any

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.aggregates.blocks import (
    Blocks,
    cut_blocks,
    find_first,
    find_longest_overlap,
    find_span,
    narrow_blocks,
    select_blocks,
)
from trendweave.kernels.columns import make_writable
from trendweave.kernels.inputs import (
    NO_CONDITION,
    NO_TREND,
    Condition,
    QueryLanes,
    Rows,
    Selection,
    Template,
    Way,
)
from trendweave.kernels.loops.fold import fold_shape, fold_windows
from trendweave.kernels.loops.memory import NUMBER_TYPES, arguments_for, count_steps
from trendweave.kernels.loops.plan import Columns, LoopPlan, choose_methods, make_plan
from trendweave.kernels.loops.propagate import write_propagate
from trendweave.kernels.loops.run import interprets, is_interpreted, run_loop
from trendweave.kernels.loops.vectors import INTERPRETED, Numbers, Shape
from trendweave.kernels.query_masks import ALL, QueryMasks, check_queries, find_accepted, masks_of, split_masks

LANE_NUMBERS = 256  # numbers of a vertex vector that blocks of overlapping windows aim at
LIMBS_EXPECTED = 8  # of them, when numbers have limbs
FIRST_LIMBS = 8  # at most so many limbs in the first attempt with limbs
MORE_LIMBS = 4  # times as many in the next one: each attempt goes over the rows again, and memory is for the most
MANY_BLOCKS = 100  # from so many on, a few are tried first: they cost a twentieth of what a vain attempt would
SAMPLE_BLOCKS = 5  # the few, spread over all of them; most of them decide
MEMORY_LIMIT = 6 * 2**30
BEYOND_WINDOWS = 2**54  # numbers of windows are smaller
INT64_BITS = 61  # of a number in one word: sums of a few such numbers still fit


class CountTooLargeError(OverflowError):
    """Exact numbers would need more memory than allowed."""


def normalise_rows(rows: Rows) -> Rows:
    """Contiguous, writable arrays of the declared types; copies only what differs."""
    letters = np.asarray(rows.letters)
    if letters.ndim == 1:
        letters = letters[:, None]
    return Rows(
        *(make_writable(np.ascontiguousarray(a, np.int64)) for a in rows[:4]),
        make_writable(np.ascontiguousarray(letters, np.uint64)),
    )


def shut_out_rows(rows: Rows) -> Rows:
    """Let rows in no window be read as no variable: they take part in nothing but the time that passes."""
    outside = rows.window_first > rows.window_last
    if not outside.any():
        return rows
    return rows._replace(letters=np.where(outside[:, None], np.uint64(0), rows.letters))


def normalise_conditions(conditions: Sequence | None, transitions: int) -> list[Condition]:
    """One condition per transition."""
    if conditions is None:
        return [NO_CONDITION] * transitions
    if len(conditions) != transitions:
        raise ValueError(f"one condition per transition is needed: {transitions}, not {len(conditions)}")
    return [NO_CONDITION if condition is None else condition for condition in conditions]


def is_empty(condition) -> bool:
    """Whether a condition asks for nothing."""
    return not condition.comparisons and condition.guard is None and condition.pair_test is None


def clip_windows(guard: np.ndarray) -> np.ndarray:
    """Guards that are before or after all windows stay so when they are multiplied."""
    return np.clip(np.asarray(guard, np.int64), -BEYOND_WINDOWS, BEYOND_WINDOWS)


class Engine:
    """One call's rows, template and conditions, ready for several passes over the same blocks of windows."""

    def __init__(
        self, rows: Rows, template: Template, conditions: Sequence | None, selection: Selection,
        start_guards: Mapping[int, np.ndarray] | None = None,
        final_guards: Mapping[int, np.ndarray] | None = None, memory_limit: int = 0, folds: bool | None = None,
        queries: QueryLanes | None = None,
    ) -> None:  # fmt: skip
        self.side_by_side = 1 if queries is None else queries.count
        self.rows = shut_out_rows(normalise_rows(rows))
        self.template = template
        self.conditions = normalise_conditions(conditions, len(template.source))
        self.selection = Selection(selection)
        self.start_guards: Mapping[int, np.ndarray] = start_guards or {}
        self.final_guards: Mapping[int, np.ndarray] = final_guards or {}
        self.memory_limit = memory_limit
        self.count = self.rows.tick.size
        self.plans: dict[tuple[Way, ...], tuple[LoopPlan, Columns]] = {}
        unconditional = (
            selection is Selection.ANY and not start_guards and not final_guards and all(map(is_empty, self.conditions))
        )
        if folds and not unconditional:
            raise ValueError("totals per state serve only templates without conditions under skip-till-any-match")
        self.sums_totals = unconditional and folds is not False
        self.masks: QueryMasks | None = None
        if queries is not None:
            self.sums_totals = False
            self.lay_side_by_side(queries)
        self.overlap = int(find_longest_overlap(self.rows.window_first, self.rows.window_last))
        self.span = find_span(self.rows)
        self.blocks = cut_blocks(self.rows, self.lanes_for(1))

    def lay_side_by_side(self, queries: QueryLanes) -> None:
        """Number windows by query and window (see `query_masks.py`), and find who may read which row."""
        check_queries(queries, len(self.template.state_variable), len(self.template.source))
        self.template = self.template._replace(
            is_start=np.asarray(queries.is_start, bool).any(axis=1),
            is_final=np.asarray(queries.is_final, bool).any(axis=1),
        )
        count, rows = queries.count, self.rows
        here, starts, finals = (masks_of(flags) for flags in (np.asarray(queries.variable) >= 0, *queries[2:4]))
        finals &= here
        finals[finals == here] = ALL
        readers = split_masks(queries, self.template)
        self.masks = QueryMasks(count, find_accepted(queries, rows.letters), here, starts & here, finals, readers)
        self.rows = rows._replace(
            window_first=rows.window_first * count, window_last=rows.window_last * count + (count - 1)
        )
        starting, ending = self.start_guards.items(), self.final_guards.items()
        self.start_guards = {state: clip_windows(guard) * count for state, guard in starting}
        self.final_guards = {state: clip_windows(guard) * count + (count - 1) for state, guard in ending}

    def lanes_for(self, components: int) -> int:
        """Windows per block: about the overlap, or all of a segment if each has few rows, as long as vectors stay
        short; one if windows do not overlap. All queries of a window are in one block."""
        overlap = self.overlap // self.side_by_side
        windows = 1 if overlap == 1 else (max(overlap, self.span // self.side_by_side) + 7) // 8 * 8
        return self.side_by_side * max(1, min(windows, LANE_NUMBERS // (components * self.side_by_side)))

    def plan(self, exact_sums: bool) -> tuple[LoopPlan, Columns]:
        """The plan of a loop and its columns; sums of integers may use methods that subtract."""
        methods = choose_methods(self.template, self.conditions, self.selection, exact_sums)
        if methods not in self.plans:
            readers = [-1] * len(self.conditions) if self.masks is None else list(self.masks.readers)
            self.plans[methods] = make_plan(
                self.template, self.conditions, methods, self.start_guards, self.final_guards, readers
            )
        return self.plans[methods]

    def run(self, blocks, values, states, numbers: Numbers, limbs=1, bits_at_most=INT64_BITS, row_results=None):
        """One pass over the given blocks.

        Args:
            blocks: The blocks.
            values: What rows add, [component, digit, row]: of components but for the count of sums.
            states: Per component, the states whose rows add; with queries side by side, for which of them.
            numbers: What vectors hold.
            limbs: The most limbs of a number.
            bits_at_most: The most bits of a limb.
            row_results: The best of each row so far, which is all that is wanted then.

        Returns:
            (results[window, limb * components + component], whether each block fits, bits per limb).
        """
        sums = numbers not in (Numbers.LARGEST, Numbers.LATEST)
        plan, columns = self.plan(numbers in (Numbers.EXACT, Numbers.INT64, Numbers.LIMBS))
        masks = self.masks
        lanes = self.overlap > 1 or masks is not None
        counted = () if masks else tuple(tuple(map(bool, of_states)) for of_states in states)
        shape = Shape(
            numbers, len(states) + sums, counted, self.selection, self.rows.letters.shape[1], lanes, masks is not None,
            values.shape[1], row_results is not None,
        )  # fmt: skip
        # Of all blocks: a few of many are run as the others will be.
        steps = count_steps(self.blocks, plan, shape.components)
        interpreted = interprets(steps, plan) or numbers in INTERPRETED
        shape = replace(shape, packs=lanes and not interpreted)
        bits = limb_bits(blocks, len(plan.variable), bits_at_most)
        kind = NUMBER_TYPES.get(numbers, np.int64)
        results = np.zeros((int(blocks.offset[-1]), shape.components * limbs), kind)
        fits = np.ones(blocks.lanes.size, np.bool_)
        if not blocks.lanes.size or not self.count:
            return results, fits, bits
        text, takes = write_propagate(plan, shape)
        found = {"results": results.reshape(-1), "fits": fits, "row_results": row_results, "bits_of_limbs": bits}
        more = arguments_for(takes, plan, columns, shape, self.rows, blocks, limbs, values, states, masks, interpreted)
        run_loop("propagate", text, takes, {**more, **found}, interpreted)
        return results, fits, bits

    def fold(self, blocks, values: np.ndarray, states: np.ndarray, numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
        """Totals of all windows and whether they fit, for a template without conditions."""
        overlapping, words = self.overlap > 1, self.rows.letters.shape[1]
        key = fold_shape(self.template, states, Numbers.FLOAT64, words, overlapping)
        steps = int((blocks.row_end - blocks.row_start).sum()) * key.steps // key.lines
        if numbers is Numbers.INT64 and is_interpreted(steps, key):
            numbers = Numbers.EXACT
        results = np.zeros((int(blocks.offset[-1]), key.components), NUMBER_TYPES.get(numbers, np.int64))
        if not blocks.lanes.size or not self.count:
            return results, np.ones(0, np.bool_)
        if not overlapping and not key.plan.is_written:  # as any other template, which is faster where it is large
            found, of_blocks, _ = self.run(blocks, values[:, None, :], states, numbers)
            return found, of_blocks
        interpreted = interprets(steps, key) or numbers in INTERPRETED
        fits = fold_windows(replace(key, numbers=numbers), blocks, self.rows, values, results, interpreted)
        return results, fits

    def exact_pass(self, values: np.ndarray, states: np.ndarray) -> np.ndarray | list:
        """Exact totals per window: the number of trends, then each linear component."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        total = int(blocks.offset[-1])
        small: Any = np.zeros((total, numbers), np.int64)
        pending = np.arange(blocks.lanes.size)
        if self.sums_totals:
            small, fits = self.fold(blocks, values, states, Numbers.INT64)
            if not fits.all():
                repeating = find_repeating_variable(self.template)
                if repeating is not None and numbers == 1:
                    counts, large = small[:, 0].astype(object), np.flatnonzero(~fits)
                    counts[large] = count_large(repeating, self.rows, blocks, large)
                    return [counts]
                pending = np.flatnonzero(np.add.reduceat(~fits, blocks.offset[:-1]))
            else:
                pending = pending[:0]
        elif is_interpreted(count_steps(self.blocks, self.plan(True)[0], numbers), self.plan(True)[0]):
            found, _, _ = self.run(blocks, values[:, None, :].astype(object), states, Numbers.EXACT)
            return found.T
        elif self.likely_fits(blocks, values, states):
            small, fits, _ = self.run(blocks, values[:, None, :], states, Numbers.INT64)
            pending = np.flatnonzero(~fits)
        if pending.size == 0:
            return small.T
        columns = list(small.T)
        bits, at_most, digits = exact.value_bits(values), exact.DIGIT_BITS, values[:, None, :]
        if bits <= 31:
            at_most = INT64_BITS - max(bits, 1)
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
            wide, fits, of_limbs = self.run(blocks, digits, states, Numbers.LIMBS, limbs, at_most)
            done = np.repeat(fits, blocks.lanes)
            of_limbs = np.repeat(of_limbs, blocks.lanes)[done]
            for k in range(numbers):
                part = exact.from_limbs(wide[done, k::numbers], of_limbs)
                if part.dtype == object and columns[k].dtype != object:
                    columns[k] = columns[k].astype(object)
                columns[k][positions[done]] = part
            pending = np.flatnonzero(~fits)
            limbs *= MORE_LIMBS
        return columns

    def likely_fits(self, blocks, values: np.ndarray, states: np.ndarray) -> bool:
        """Whether int64 is worth a try: where there are many blocks that are not short, a few of them tell."""
        longest = int((blocks.row_end - blocks.row_start).max(initial=0))
        if blocks.lanes.size < MANY_BLOCKS or longest * len(self.template.state_variable) < INT64_BITS:
            return True
        some = select_blocks(blocks, np.linspace(0, blocks.lanes.size - 1, SAMPLE_BLOCKS + 2).astype(int)[1:-1])
        _, fits, _ = self.run(some, values[:, None, :], states, Numbers.INT64)
        return 2 * int(fits.sum()) > SAMPLE_BLOCKS

    def check_memory(self, blocks, components: int) -> None:
        """Refuse, naming the window, before memory runs out."""
        cells = (blocks.row_end - blocks.row_start) * blocks.lanes
        plan, _ = self.plan(True)
        stores = sum(plan.kinds[kind].method is not Way.RUNNING for kind in plan.store_kind)
        worst = int(cells.argmax())
        window = int(blocks.window[worst]) // self.side_by_side
        if int(cells[worst]) * components * 8 * stores > self.memory_limit:
            raise CountTooLargeError(
                f"segment {int(blocks.segment[worst])}, window {window}: exact numbers need more "
                f"than {self.memory_limit >> 20} MiB; ask for numbers='float64', or use smaller windows"
            )

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> np.ndarray:
        """float64 totals per window."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        if self.sums_totals:
            out, _ = self.fold(blocks, values, states, Numbers.FLOAT64)
        else:
            out, _, _ = self.run(blocks, values[:, None, :], states, Numbers.FLOAT64)
        return out.T

    def decimal_pass(self, values: np.ndarray, states: np.ndarray, wanted: np.ndarray) -> list:
        """Totals of floats as decimals, in the windows that are wanted."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        chosen = np.logical_or.reduceat(wanted, blocks.offset[:-1])
        places = np.repeat(chosen, blocks.lanes)
        blocks, decimals = select_blocks(blocks, np.flatnonzero(chosen)), exact.as_decimals(values)
        with localcontext(exact.DECIMALS):
            if self.sums_totals and self.overlap == 1:
                found, _ = self.fold(blocks, decimals, states, Numbers.DECIMAL)
            else:
                found, _, _ = self.run(blocks, decimals[:, None, :], states, Numbers.DECIMAL)
        totals = np.zeros((wanted.size, numbers), object)
        totals[places] = found
        return list(totals.T)

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> np.ndarray:
        """The largest code per window; NO_TREND or NO_VALUE where there is none."""
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(max(1, len(codes))))
        out, _, _ = self.run(blocks, codes[:, None, :], states, Numbers.LARGEST)
        return out.T

    def latest_starts(self) -> np.ndarray:
        """Per row the latest tick at which a trend that ends with it began; NO_TREND where none does."""
        best = np.full(self.count, NO_TREND, np.int64)
        states = np.zeros((1, len(self.template.state_variable)), np.bool_)
        nothing = np.zeros((1, 1, self.count), np.int64)
        self.run(cut_blocks(self.rows, 1), nothing, states, Numbers.LATEST, row_results=best)
        return best


def limb_bits(blocks, states: int, at_most: int) -> np.ndarray:
    """Bits per limb of each block, such that the sum over all vertices stays below 2**62."""
    vertices = (blocks.row_end - blocks.row_start) * states + 1
    return np.minimum(INT64_BITS - np.floor(np.log2(vertices)).astype(np.int64) - 1, at_most)


# Numbers of trends of S+ without any condition


def find_repeating_variable(template: Template) -> int | None:
    """The variable of the only state of a template, if trends begin and end in it and it follows itself."""
    only = len(template.state_variable) == len(template.source) == 1 and template.is_start[0] and template.is_final[0]
    return int(template.state_variable[0]) if only else None


def count_large(variable: int, rows: Rows, blocks: Blocks, wanted: np.ndarray) -> list[int]:
    """Numbers of trends of a variable that repeats, in the windows with these result numbers (ascending). Rows in no
    window are read as nothing.

    A trend takes one row, or none, of each tick of its window, but not none of all. So the number of trends is a
    product over ticks, less 1; a tick enters the product with its window and is divided out of it when it leaves.
    Factors of 2, all that there is where ticks have one row, are only counted.
    """
    new = np.ones(rows.tick.size, np.bool_)
    new[1:] = rows.tick[1:] != rows.tick[:-1]
    new[rows.segment_starts[:-1][np.diff(rows.segment_starts) > 0]] = True
    readable = (rows.letters[:, variable >> 6] >> np.uint64(variable & 63)).astype(np.uint8) & 1
    factors = np.add.reduceat(readable, np.flatnonzero(new), dtype=np.int32) + 1
    twos = np.bitwise_count((factors & -factors) - 1)
    odd = factors >> twos
    # Windows begin and end with whole ticks.
    tick, shifts = np.zeros(new.size + 1, np.int32), np.zeros(twos.size + 1, np.int64)
    np.cumsum(new, out=tick[1:])
    np.cumsum(twos, out=shifts[1:])
    block = np.searchsorted(blocks.offset, wanted, side="right") - 1
    window = blocks.window[block] + wanted - blocks.offset[block]
    begin, end = blocks.row_start[block], blocks.row_end[block]
    if blocks.lanes.max() > 1:
        begin = find_first(rows.window_last, begin, end, window)
        end = find_first(rows.window_first, begin, end, window + 1)
    begin, end = tick[begin], tick[end]
    shift = (shifts[end] - shifts[begin]).tolist()
    places = np.flatnonzero(odd > 1)
    if not places.size:
        known = {bits: (1 << bits) - 1 for bits in set(shift)}
        return [known[bits] for bits in shift]
    counts, others = list[int](), odd[places].tolist()
    product, first, last = 1, 0, 0  # of the odd factors first:last
    bounds = (np.searchsorted(places, edge).tolist() for edge in (begin, end))
    for low, high, bits in zip(*bounds, shift, strict=True):
        if low >= last:
            product, first, last = 1, low, low
        product = product // math.prod(others[first:low]) * math.prod(others[last:high])
        first, last = low, high
        counts.append((product << bits) - 1)
    return counts
