"""Passes over the windows of one call: exact, float64, extremum. Each chooses blocks, numbers and a kernel.

Exact numbers are int64 first; blocks that overflow are run again with limbs, as many as they need. A run that does not
fit stops at the first vertex that shows it.
"""

from collections.abc import Sequence

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.aggregates.blocks import cut_blocks, find_longest_overlap, narrow_blocks, select_blocks
from trendweave.kernels.aggregates.compile_program import build_program, order_by_target
from trendweave.kernels.aggregates.one_state.few_rows import serves_few
from trendweave.kernels.aggregates.one_state.ranked import serves
from trendweave.kernels.aggregates.one_state.sliding import OneState, count_large, find_repeating_state
from trendweave.kernels.aggregates.plain_loop import serves_plainly
from trendweave.kernels.aggregates.program import RUNNING, Columns, Measures
from trendweave.kernels.aggregates.propagate import Choice, propagate
from trendweave.kernels.aggregates.state_sums import sum_unconditional
from trendweave.kernels.aggregates.vectors import EXTREMUM, SUM, pad_lanes
from trendweave.kernels.aggregates.workspace import Ask
from trendweave.kernels.columns import ColumnList, make_writable
from trendweave.kernels.inputs import NO_CONDITION, Condition, Kernel, QueryLanes, Rows, Selection
from trendweave.kernels.query_masks import ALL, QueryMasks, check_queries, find_accepted, masks_of, split_masks

LANE_NUMBERS = 256  # numbers of a vertex vector that blocks of overlapping windows aim at
LIMBS_EXPECTED = 4  # of them, when numbers have limbs
LIMBS_RANKED = 8  # the same for ranked counts: what they go through is so short that vectors should stay in the cache
FIRST_LIMBS = 8  # at most so many limbs in the first attempt with limbs
MORE_LIMBS = 4  # times as many in the next one: each attempt goes over the rows again, and memory is for the most
MANY_BLOCKS = 100  # from so many on, a few are tried first: they cost a twentieth of what a vain attempt would
SAMPLE_BLOCKS = 5  # the few, spread over all of them; most of them decide
PLAIN_FLOATS = 20_000  # rows: beyond, floats gain more in the loop for everything than compiling it costs
MEMORY_LIMIT = 6 * 2**30
BEYOND_WINDOWS = 2**54  # numbers of windows are smaller


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
        self, rows, template, conditions, selection, force_way=None, start_guards=None, final_guards=None,
        memory_limit=0, kernel=None, queries=None,
    ):  # fmt: skip
        self.queries = queries
        self.rows = normalise_rows(rows)
        self.template = template
        self.conditions = normalise_conditions(conditions, len(template.source))
        self.selection = selection
        self.force_way = force_way
        self.start_guards = start_guards or {}
        self.final_guards = final_guards or {}
        self.memory_limit = memory_limit
        self.count = self.rows.tick.size
        self.programs: dict = {}
        self.kernel = None if force_way is not None else kernel
        unconditional = (
            selection is Selection.ANY and not start_guards and not final_guards and all(map(is_empty, self.conditions))
        )
        if self.kernel is Kernel.TOTALS and not unconditional:
            raise ValueError("totals per state serve only templates without conditions under skip-till-any-match")
        self.sums_totals = self.kernel is Kernel.TOTALS or (kernel is None and force_way is None and unconditional)
        self.accepted = None
        if queries is not None:
            self.sums_totals = False
            self.lay_side_by_side(queries)
        self.overlap = int(find_longest_overlap(self.rows.window_first, self.rows.window_last))
        self.blocks = cut_blocks(self.rows, self.lanes_for(1))

    def lay_side_by_side(self, queries: QueryLanes) -> None:
        """Number windows by query and window (see `query_masks.py`), and find who may read which row."""
        check_queries(queries, len(self.template.state_variable), len(self.template.source))
        self.template = self.template._replace(
            is_start=np.asarray(queries.is_start, bool).any(axis=1),
            is_final=np.asarray(queries.is_final, bool).any(axis=1),
        )
        count, rows = queries.count, self.rows
        self.accepted = find_accepted(queries, rows.letters)
        self.rows = rows._replace(
            window_first=rows.window_first * count, window_last=rows.window_last * count + (count - 1)
        )
        starts, finals = self.start_guards.items(), self.final_guards.items()
        self.start_guards = {state: clip_windows(guard) * count for state, guard in starts}
        self.final_guards = {state: clip_windows(guard) * count + (count - 1) for state, guard in finals}

    def lanes_for(self, components: int) -> int:
        """Windows per block: about the overlap, as long as vectors stay short; one if windows do not overlap. All
        queries of a window are in one block."""
        if self.queries is not None:
            count = self.queries.count
            overlap = self.overlap // count
            windows = 1 if overlap == 1 else max((overlap + 7) // 8 * 8, 8)
            return count * max(1, min(windows, LANE_NUMBERS // (components * count)))
        if self.overlap == 1:
            return 1
        return max(1, min(max((self.overlap + 7) // 8 * 8, 8), LANE_NUMBERS // components))

    def lanes_with_limbs(self, numbers: int, limbs: int) -> int:
        """Windows per block where numbers have limbs."""
        program, queries, *_ = self.program(True)
        ranked = self.is_ranked(program, Ask(numbers, limbs, SUM, int(self.selection)), queries)
        return self.lanes_for(numbers * (LIMBS_RANKED if ranked else LIMBS_EXPECTED))

    def is_ranked(self, program, ask: Ask, queries) -> bool:
        """Whether the loop for ranked counts runs a program: it is asked for, or nothing else is and it can."""
        can_rank = serves(program, ask, queries)
        ranked = can_rank if self.kernel is None else self.kernel is Kernel.RANKED_BLOCKS and ask.kind == SUM
        if ranked and not can_rank:
            raise ValueError("ranked blocks serve only counts of one state that repeats under one order comparison")
        return ranked

    def program(self, exact_sums: bool):
        """The program and its columns; sums of integers may use ways that subtract."""
        if exact_sums not in self.programs:
            lists = [ColumnList() for _ in range(4)]
            codes, guards, start, final = lists
            readers = [ALL] * len(self.conditions) if self.queries is None else split_masks(self.queries, self.template)
            stores: list[int] = []
            program = build_program(
                self.template, self.conditions, self.selection, exact_sums, self.force_way, codes, guards,
                (self.start_guards, start), (self.final_guards, final), (readers, stores),
            )  # fmt: skip
            in_order = [readers[t] for t in order_by_target(self.template)]
            masks = None if self.queries is None else self.masks(stores, in_order)
            self.programs[exact_sums] = (program, masks, *(columns.matrix(self.count) for columns in lists))
        return self.programs[exact_sums]

    def masks(self, stores: list[int], transitions: list[int]) -> QueryMasks:
        """What of a program is for which queries."""
        queries = self.queries
        here = masks_of(np.asarray(queries.variable) >= 0)
        starts, finals = masks_of(queries.is_start), masks_of(queries.is_final)
        lanes = pad_lanes(max(self.lanes_for(1), queries.count)) + 8
        query = np.arange(lanes, dtype=np.uint64) % np.uint64(queries.count)
        everyone = np.uint64((1 << queries.count) - 1)
        along = (np.array(masks, np.uint64) for masks in (stores, transitions))
        return QueryMasks(self.accepted, here, starts & here, finals & here, *along, query, everyone)

    def run(self, blocks, values, value_states, kind, limbs, bits_at_most, numbers, row_results=None):
        """One pass over the given blocks."""
        program, queries, codes, guards, start, final = self.program(kind == SUM and bits_at_most is not None)
        rows = self.rows
        columns = Columns(
            rows.tick, rows.window_first, rows.window_last, rows.letters, codes, guards, start, final,
            Measures(values, value_states), queries,
        )  # fmt: skip
        ask = Ask(numbers, limbs, kind, int(self.selection))
        choice = Choice(
            ranked=self.is_ranked(program, ask, queries),
            few=self.force_way is None and serves_few(program, ask, queries),
            plain=self.force_way is None
            and serves_plainly(program, ask, queries)
            and (bits_at_most is not None or self.count <= PLAIN_FLOATS),
        )
        return propagate(program, columns, blocks, ask, bits_at_most, row_results, choice)

    def exact_pass(self, values: np.ndarray, digits, states: np.ndarray) -> list:
        """Exact totals per window: the number of trends, then each linear component. `values` int64[k, n] or None if
        only `digits` int64[k, d, n] can hold them."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        total = int(blocks.offset[-1])
        small = np.zeros((total, numbers), np.int64)
        pending = np.arange(blocks.lanes.size)
        if values is not None and self.sums_totals:
            small, fits = sum_unconditional(
                self.rows, self.template, blocks, self.overlap, Measures(values, states), True
            )
            if not fits.all():
                repeating = find_repeating_state(self.template)
                if repeating is not None and numbers == 1:
                    return [self.count_with_large(repeating, blocks, small[:, 0], fits)]
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
            blocks = narrow_blocks(blocks, self.rows, self.lanes_with_limbs(numbers, limbs))
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
            limbs *= MORE_LIMBS
        return columns

    def count_with_large(self, state: OneState, blocks, small: np.ndarray, fits: np.ndarray) -> np.ndarray:
        """The given counts, and large ones where these do not fit."""
        counts, large = small.astype(object), np.flatnonzero(~fits)
        words, starts = count_large(state, self.rows, blocks, ~fits)
        counts[large] = exact.from_words(words, np.append(starts[large], starts[-1]), signed=False)
        return counts

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
        stores = int((self.program(True)[0].stores.way != RUNNING).sum())
        worst = int(cells.argmax())
        window = int(blocks.window[worst]) // (1 if self.queries is None else self.queries.count)
        if int(cells[worst]) * components * 8 * stores > self.memory_limit:
            raise CountTooLargeError(
                f"segment {int(blocks.segment[worst])}, window {window}: exact numbers need more "
                f"than {self.memory_limit >> 20} MiB; ask for numbers='float64', or use smaller windows"
            )

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> list:
        """float64 totals per window."""
        numbers = 1 + states.shape[0]
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(numbers))
        if self.sums_totals:
            out, _ = sum_unconditional(self.rows, self.template, blocks, self.overlap, Measures(values, states), None)
        else:
            out, _, _ = self.run(blocks, values[:, None, :], states, SUM, 1, None, numbers)
        return [out[:, k] for k in range(numbers)]

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> list:
        """The largest code per window; NO_TREND or NO_VALUE where there is none."""
        blocks = narrow_blocks(self.blocks, self.rows, self.lanes_for(max(1, len(codes))))
        out, _, _ = self.run(blocks, codes[:, None, :], states, EXTREMUM, 1, 61, len(codes))
        return [out[:, k] for k in range(len(codes))]
