"""Passes over the windows of one call on a GPU: exact, float64, extremum; see `kernels.aggregates.entry.Passes`.

A pass of floats comes first. What it finds below 2**52 is exact: whole numbers that small are added and multiplied
without rounding, and no number on the way to a total is larger than the total. Other totals are found modulo as many
primes as their size, which the floats tell, asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trendweave.gpu.card import Card, cuda_text
from trendweave.gpu.columns import send
from trendweave.gpu.trends.fold import Fold
from trendweave.gpu.trends.numbers import FLOATS, LARGEST, SUMS, Kind, Numbers, prime, primes_for, read_residues
from trendweave.gpu.trends.propagate import Propagate
from trendweave.kernels import Comparison, Condition, Rows, Selection, Template, Way
from trendweave.kernels.aggregates.blocks import Blocks, cut_blocks, number_results
from trendweave.kernels.aggregates.passes import Engine, is_empty
from trendweave.kernels.loops.plan import make_plan

#: Floats below this are exact, with a bit to spare for rounded bounds.
EXACT_FLOATS = 2.0**52
#: Bits that are added to what floats say of a size: they are rounded.
_MARGIN = 2
_THREADS = 256


class CardPasses:
    """One call's rows, template and conditions on a card.

    Args:
        card: The card.
        rows: The events.
        template: The automaton of the trends.
        conditions: One per transition.
        selection: Which later rows a row may be followed by.
        start_guards: Per state, the first window in which a trend may begin with each row.
        final_guards: Per state, the last window in which a trend may end with each row.
        part: The rows among those that conditions and guards have columns for.
    """

    def __init__(
        self,
        card: Card,
        rows: Rows,
        template: Template,
        conditions: Sequence[Condition],
        selection: Selection,
        start_guards: Mapping[int, np.ndarray],
        final_guards: Mapping[int, np.ndarray],
        part: slice = slice(None),
    ) -> None:
        self.card, self.count = card, rows.tick.size
        self.blocks = find_blocks(rows)
        taken = [_take_rows(condition, part) for condition in conditions]
        start, final = (
            {state: guard[part] for state, guard in given.items()} for given in (start_guards, final_guards)
        )
        self._on_host = partial(Engine, rows, template, taken, selection, start, final)
        self._lengths = (self.blocks.row_end - self.blocks.row_start) * len(template.state_variable)
        tick = send(card, rows.tick, np.int64)
        packed = pack_states(card, rows, template, tick)
        guarded = bool(start_guards) or bool(final_guards)
        self.loop: Fold | Propagate
        if selection is Selection.ANY and not guarded and all(map(is_empty, conditions)):
            self.loop = Fold(card, rows, template, self.blocks, packed)
        else:
            scans, every = [Way.SCAN] * len(conditions), [-1] * len(conditions)
            plan, columns = make_plan(template, conditions, scans, start_guards, final_guards, every)
            contiguous = selection is Selection.CONTIGUOUS
            self.loop = Propagate(card, plan, columns, part, contiguous, self.blocks, tick, packed)

    def float_pass(self, values: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
        """float64 totals per window: the number of trends, then one per line of values."""
        return self._sum(FLOATS, [send(self.card, line, np.float64) for line in values], states, None)

    def extremum_pass(self, codes: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
        """The largest code per window, per line of codes."""
        found = []
        for line, of_line in zip(codes, _state_bits(states), strict=True):
            asked = (send(self.card, line, np.int64), self.card.put(of_line[None]))
            found.append(self.loop.run(LARGEST, *asked, 0, None)[:, 0])
        return found

    def decimal_pass(self, values: np.ndarray, states: np.ndarray, wanted: np.ndarray) -> list[np.ndarray]:
        """Totals of floats as decimals, in the windows that are wanted; on the processor, as there are few."""
        engine = self._on_host()
        engine.blocks = self.blocks
        return engine.decimal_pass(values, states, wanted)

    def exact_pass(self, values: np.ndarray, states: np.ndarray) -> list[np.ndarray]:
        """Exact totals per window: the number of trends, then one per line."""
        on_card = [send(self.card, line, np.int64) for line in values]
        floats = self._sum(FLOATS, [line.astype(np.float64) for line in on_card], states, None)
        exact = self._are_exact(floats, values)
        value_bits = max((value.bit_length() for line in values for value in _ends(line)), default=0)
        columns = [np.rint(np.where(exact, column, 0)).astype(np.int64) for column in floats]
        pending = np.flatnonzero(~exact)
        if not pending.size:
            return columns
        primes = primes_for(self._bits(floats[0], value_bits if len(states) else 0))
        found: list[list[np.ndarray]] = []
        for place in range(int(primes[pending].max())):
            numbers = Numbers(Kind.RESIDUE, prime(place))
            lines = [_residues(line, numbers.prime) for line in on_card]
            found.append(self._sum(numbers, lines, states, pending[primes[pending] > place]))
        for count in np.unique(primes[pending]):
            at = pending[primes[pending] == count]
            for k, column in enumerate(columns):
                part = read_residues([totals[k][at] for totals in found[:count]])
                if part.dtype == object and column.dtype != object:
                    columns[k] = column = column.astype(object)
                column[at] = part
        return columns

    def _are_exact(self, floats: list[np.ndarray], values: np.ndarray) -> np.ndarray:
        """Whether all totals of each window are so small that they, and all on the way to them, were not rounded."""
        trends, exact = floats[0], floats[0] < EXACT_FLOATS
        with np.errstate(over="ignore", invalid="ignore"):
            for total, line in zip(floats[1:], values, strict=True):
                lowest, highest = _ends(line)
                bound = trends * self._lengths * float(max(-lowest, highest))
                if lowest >= 0:
                    bound = np.fmin(bound, total)
                exact = exact & (bound < EXACT_FLOATS)
        return exact

    def _bits(self, trends: np.ndarray, value_bits: int) -> np.ndarray:
        """Bits of the largest total of each window at most. A trend has no vertex twice, so there are fewer trends than
        sets of vertices, where floats do not tell."""
        longest = np.maximum(self._lengths, 1).astype(np.float64)
        bits = np.where(np.isfinite(trends), np.log2(np.clip(trends, 1, np.finfo(np.float64).max)), longest)
        of_sums = np.log2(longest) + value_bits if value_bits else 0
        return np.ceil(bits + of_sums).astype(np.int64) + _MARGIN

    def _sum(
        self, numbers: Numbers, lines: Sequence[Any], states: np.ndarray, chosen: np.ndarray | None
    ) -> list[np.ndarray]:
        """The number of trends, and the sums of lines on the card, a few of them at a time."""
        bits = _state_bits(states)
        nothing: Any = self.card.put(np.zeros((1, 1), numbers.dtype))
        if not len(lines):
            return [self.loop.run(numbers, nothing, self.card.put(np.zeros(1, np.uint32)), 0, chosen)[:, 0]]
        totals: list[np.ndarray] = []
        for first in range(0, len(lines), SUMS):
            part = self.card.xp.zeros((SUMS, self.count), numbers.dtype)
            of_part = np.zeros(SUMS, np.uint32)
            taken = lines[first : first + SUMS]
            for place, line in enumerate(taken):
                part[place] = line
            of_part[: len(taken)] = bits[first : first + SUMS]
            found = self.loop.run(numbers, part, self.card.put(of_part), SUMS, chosen)
            totals += [found[:, k] for k in range(bool(totals), 1 + len(taken))]
        return totals


def pack_states(card: Card, rows: Rows, template: Template, tick: Any) -> Any:
    """Per row on the card, as which states it may be read (bits), and whether it begins a tick. Rows in no window are
    read as nothing."""
    count, variables = rows.tick.size, np.asarray(template.state_variable, np.int32)
    outside, packed = rows.window_first > rows.window_last, card.xp.empty(count, np.uint32)
    few = rows.letters.shape[1] == 1 and variables.max(initial=0) < 8
    letters = send(card, rows.letters.reshape(-1), np.uint8 if few else np.uint64)
    arguments = (
        *(letters, np.int32(letters.dtype.itemsize), np.int64(rows.letters.shape[1]), tick),
        card.put(outside) if outside.any() else None,
        *(card.put(variables), np.int32(variables.size), np.int64(count), packed),
    )
    card.launch(cuda_text("rows"), "pack_states", -(-count // _THREADS), _THREADS, arguments)
    return packed


def find_blocks(rows: Rows) -> Blocks:
    """Each window of each segment by itself. Where there is but one, nothing is looked for."""
    if not rows.tick.size or (window := rows.window_first.min()) < rows.window_last.max():
        return cut_blocks(rows, 1)
    segment = np.flatnonzero(np.diff(rows.segment_starts))
    starts, ends = rows.segment_starts[segment], rows.segment_starts[segment + 1]
    ones = np.ones(segment.size, np.int64)
    return Blocks(segment, starts, ends, ones * window, ones, number_results(ones))


def _ends(line: np.ndarray) -> tuple[int, int]:
    """The lowest and the highest of all values and 0."""
    return int(line.min(initial=0)), int(line.max(initial=0))


def _state_bits(states: np.ndarray) -> np.ndarray:
    """Per line, the states whose rows count as bits."""
    return (states.astype(np.uint32) << np.arange(states.shape[1], dtype=np.uint32)).sum(axis=1, dtype=np.uint32)


def _residues(line: Any, modulus: int) -> Any:
    """A line of int64 on the card modulo a prime."""
    return ((line % modulus + modulus) % modulus).astype(np.uint64)


def _take_rows(condition: Condition, part: slice) -> Condition:
    """A condition on some rows."""
    pair, guard = condition.pair_test, condition.guard
    comparisons = [Comparison(one.previous[part], one.operator, one.next[part]) for one in condition.comparisons]
    return condition._replace(
        comparisons=tuple(comparisons),
        guard=None if guard is None else guard[part],
        pair_test=None if pair is None else pair._replace(previous=pair.previous[part], next=pair.next[part]),
    )
