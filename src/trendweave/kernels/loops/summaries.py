"""Matrices that stand for rows which are forgotten: many of them, each of one key in one pane of time.

`extend` folds further rows onto them, `finish` applies those of a window one after the other. What is counted and
measured is sorted into groups, one for each kind of number: whole numbers (checked words; Python's own integers where
these do not fit), sums of floats (float64; decimals where trends are too many for these), largest values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import localcontext
from typing import Any, NamedTuple

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.aggregates.entry import extremum_order, find_states, read_values, sort_out, tidy
from trendweave.kernels.inputs import NO_VALUE, Aggregate, Measure, Results, Rows, Template
from trendweave.kernels.loops.fold import (
    CHECKED_BITS,
    LIMB_BITS,
    FoldShape,
    any_between,
    fold_shape,
    run_apply,
    run_fold,
)
from trendweave.kernels.loops.run import interprets
from trendweave.kernels.loops.vectors import Numbers
from trendweave.kernels.sorting import from_ordered_bits

#: Added to codes that two numbers which are no codes stand among.
_SHIFT = 2**64


@dataclass(frozen=True)
class Group:
    """The aggregates with these numbers, which are of one kind of number."""

    shape: FoldShape
    aggregates: tuple[int, ...]
    widens: bool  # whether numbers that do not fit become wide

    @property
    def cells(self) -> int:
        """Numbers of a matrix: [state after, component, line]."""
        return self.shape.cells

    @property
    def kind(self) -> type:
        return np.float64 if self.shape.numbers is Numbers.FLOAT64 else np.int64


@dataclass(frozen=True)
class Algebra:
    """What is counted and measured of trends, as groups. `kinds` says of each aggregate what it measures, and whether
    of floats."""

    kinds: tuple[tuple[str, bool], ...]
    groups: tuple[Group, ...]
    exact: bool


class Maps(NamedTuple):
    """The matrices of a group: numbers[n, cells], and per matrix None, or numbers that these do not hold: as a list; if
    they are whole, as words in two's complement, lowest first, all with the same number of words."""

    numbers: np.ndarray
    wide: np.ndarray

    def is_wide(self) -> np.ndarray:
        return self.wide.astype(np.bool_)


class Summaries(NamedTuple):
    """Matrices of each group, side by side."""

    maps: tuple[Maps, ...]

    @property
    def size(self) -> int:
        return int(self.maps[0].wide.size)

    def take(self, index: np.ndarray | slice) -> Summaries:
        """Those with the given numbers, in this order."""
        return Summaries(tuple(Maps(numbers[index], wide[index]) for numbers, wide in self.maps))


def make_algebra(
    template: Template,
    aggregates: Sequence[Aggregate] = (),
    numbers: str = "exact",
    only_beginnings: bool = False,
    resets: Sequence[tuple[int, int]] = (),
) -> Algebra:
    """How trends of the template are summed up.

    Args:
        template: The template.
        aggregates: What is measured of them; values only tell whether they are floats.
        numbers: "exact": whole numbers of any size; "float64": counts and sums as floats.
        only_beginnings: Whether no trend goes on from one summary to the next.
        resets: Pairs (state, variable): rows of the variable make trends in the state nothing.
    """
    exactly = numbers == "exact"
    kinds = (Numbers.INT64 if exactly else Numbers.FLOAT64, Numbers.FLOAT64, Numbers.LARGEST)
    groups = []
    for kind, chosen in zip(kinds, sort_out(aggregates, exactly), strict=True):
        states = find_states([aggregates[number] for number in chosen], template)
        shape = replace(fold_shape(template, states, kind, 1, not only_beginnings), resets=tuple(resets))
        groups.append(Group(shape, tuple(chosen), exactly or kind is Numbers.LARGEST))
    kinds_of = tuple((str(one.kind), np.asarray(one.values).dtype == np.float64) for one in aggregates)
    return Algebra(kinds_of, tuple(groups), exactly)


def no_summaries(algebra: Algebra) -> Summaries:
    """None at all."""
    return Summaries(
        tuple(Maps(np.zeros((0, group.cells), group.kind), np.zeros(0, object)) for group in algebra.groups)
    )


def begin_summary(algebra: Algebra, variable: int) -> Summaries:
    """That of one row, read as a variable whose states follow no other and have nothing counted."""
    begun = [q for q, own in enumerate(algebra.groups[0].shape.plan.variable) if own == variable]
    return Summaries(tuple(Maps(group.shape.identity(begun)[None], np.full(1, None)) for group in algebra.groups))


def concat_summaries(parts: Sequence[Summaries]) -> Summaries:
    """All of them, one after another."""
    if len(parts) == 1:
        return parts[0]
    of_groups = zip(*(part.maps for part in parts), strict=True)
    return Summaries(tuple(Maps(*map(np.concatenate, zip(*maps, strict=True))) for maps in of_groups))


# Rows behind summaries


def extend(
    algebra: Algebra, earlier: Summaries, which: np.ndarray, rows: Rows, aggregates: Sequence[Aggregate]
) -> Summaries:
    """One summary per segment of the rows: of those that the earlier one with the number `which[segment]` sums up (-1:
    of none), followed by the segment's rows.

    Rows of a segment are sorted by tick, and none has a tick of rows that were added before.
    """
    found = []
    for number, (group, maps) in enumerate(zip(algebra.groups, earlier.maps, strict=True)):
        if number and not group.aggregates:
            found.append(Maps(np.zeros((which.size, group.cells), group.kind), np.full(which.size, None)))
            continue
        values, odd = _read_values(group, [aggregates[one] for one in group.aggregates], rows.tick.size)
        found.append(_extend(group, maps, which, rows, values, odd))
    return Summaries(tuple(found))


def _read_values(group: Group, aggregates: Sequence[Aggregate], count: int) -> tuple[np.ndarray, np.ndarray]:
    """What rows add to each component, and where that is a code that stands for something else, or no number."""
    if group.shape.numbers is not Numbers.LARGEST:
        values = read_values(aggregates, count, group.kind)
        return values, np.isnan(values)
    values, odd = np.full((len(aggregates), count), NO_VALUE), np.zeros((len(aggregates), count), np.bool_)
    for row, is_odd, given in zip(values, odd, aggregates, strict=True):
        codes = extremum_order(np.asarray(given.values))
        known = np.True_ if given.valid is None else np.asarray(given.valid, np.bool_)
        row[:] = np.where(known, ~codes if given.kind == Measure.MIN else codes, NO_VALUE)
        is_odd[:] = known & (row <= NO_VALUE)
    return values, odd


def _extend(group: Group, earlier: Maps, which: np.ndarray, rows: Rows, values: np.ndarray, odd: np.ndarray) -> Maps:
    old = which >= 0
    numbers = np.empty((which.size, group.cells), group.kind)
    numbers[:] = group.shape.identity()
    numbers[old] = earlier.numbers[which[old]]
    wide = np.full(which.size, None)
    wide[old] = earlier.wide[which[old]]
    ends = rows.segment_starts[1:]
    is_wide = wide.astype(np.bool_)
    begins = np.where(is_wide, ends, rows.segment_starts[:-1])
    before = numbers.copy() if group.widens and group.shape.numbers is not Numbers.INT64 else numbers
    fits = _fold(group, (begins, ends), rows, values, numbers)
    if not group.widens:
        return Maps(numbers, wide)
    if group.shape.numbers is not Numbers.INT64:
        has_odd = any_between(odd.any(axis=0), rows.segment_starts[:-1], ends)
        if group.shape.numbers is Numbers.LARGEST:
            fits = ~has_odd
        else:
            fits = _is_finite(numbers, has_odd | np.isnan(before).any(axis=1))
    chosen = np.flatnonzero(is_wide | ~fits)
    if chosen.size:
        _fold_wide(group, chosen, rows, (values, odd), before, Maps(numbers, wide))
    return Maps(numbers, wide)


def _is_finite(numbers: np.ndarray, has_odd: np.ndarray) -> np.ndarray:
    """Where floats are what they should be: numbers, or none because some value was none."""
    if np.isfinite(numbers).all():
        return np.ones(has_odd.size, np.bool_)
    return ~(np.isinf(numbers).any(axis=1) | (np.isnan(numbers).any(axis=1) & ~has_odd))


def _fold(
    group: Group, runs: tuple[np.ndarray, np.ndarray], rows: Rows, values: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Fold runs of rows onto matrices, in place; whether they fit."""
    shape = replace(group.shape, words=rows.letters.shape[1])
    return run_fold(shape, runs, rows, values, numbers, interprets(rows.tick.size * shape.steps, shape))


def _fold_wide(
    group: Group, chosen: np.ndarray, rows: Rows, values: tuple[np.ndarray, np.ndarray], before: np.ndarray, maps: Maps
) -> None:
    """The same of some runs with numbers of any size, into `maps`, which has what was wide before."""
    lengths = np.diff(rows.segment_starts)[chosen]
    ends = np.cumsum(lengths)
    index = np.arange(int(ends[-1])) + np.repeat(rows.segment_starts[chosen] - (ends - lengths), lengths)
    some = rows._replace(tick=rows.tick[index], letters=rows.letters[index])
    runs, plain = (ends - lengths, ends), values[0][:, index]
    shape = replace(_wide_shape(group), words=rows.letters.shape[1])
    starts = [_widen(group, before[one]) if maps.wide[one] is None else maps.wide[one] for one in chosen.tolist()]
    maps.numbers[chosen] = 0
    if group.shape.numbers is Numbers.INT64:
        if not interprets(4 * index.size * shape.steps, shape):
            maps.wide[chosen] = _fold_limbs(shape, runs, some, plain, starts)
        else:
            numbers = np.array([unpack(words, group.cells) for words in starts], object)
            run_fold(shape, runs, some, plain, numbers, True)
            maps.wide[chosen] = [pack(cells) for cells in numbers.tolist()]
        narrow(group, chosen, maps)
        return
    given = np.empty(plain.shape, object)
    for row, numbers, is_odd in zip(given, plain, values[1][:, index], strict=True):
        row[:] = widen_codes(numbers, is_odd) if group.kind is np.int64 else _widen(group, numbers)
    numbers = np.array(starts, object)
    with localcontext(exact.DECIMALS):
        run_fold(shape, runs, some, given, numbers, True)
    for one, cells in zip(chosen.tolist(), numbers.tolist(), strict=True):
        maps.wide[one] = cells


def narrow(group: Group, chosen: np.ndarray, maps: Maps) -> None:
    """Take back what words hold, or floats."""
    for one in chosen.tolist():
        if group.kind is np.float64:
            floats = list(map(float, maps.wide[one]))
            if not any(map(math.isinf, floats)):
                maps.numbers[one], maps.wide[one] = floats, None
        elif len(maps.wide[one]) == 8 * group.cells:
            numbers = np.frombuffer(maps.wide[one], np.int64)
            if int(np.abs(numbers).max()) < 2**CHECKED_BITS:
                maps.numbers[one], maps.wide[one] = numbers, None


def widen_codes(codes: np.ndarray, odd: np.ndarray) -> list[int]:
    """Codes that stand for nothing else: moved away from those of no value, which they are where not `odd`."""
    pairs = zip(codes.tolist(), odd.tolist(), strict=True)
    return [code + _SHIFT if is_odd or code > NO_VALUE else code for code, is_odd in pairs]


def _fold_limbs(
    shape: FoldShape, runs: tuple[np.ndarray, np.ndarray], rows: Rows, values: np.ndarray, starts: list[bytes]
) -> np.ndarray:
    """Fold runs of rows onto matrices of limbs: first those that need few, with room to grow."""
    digits = max(1, -(-exact.value_bits(values) // LIMB_BITS))
    found = np.full(len(starts), None)
    needed = np.array([len(words) for words in starts]) * 8 // shape.cells // LIMB_BITS + 1
    shape, pending, limbs = replace(shape, numbers=Numbers.LIMBS, digits=digits), np.arange(len(starts)), 8
    of_values, width = exact.to_digits(values, digits), shape.cells // shape.past
    while pending.size:
        now = pending[2 * needed[pending] <= limbs]
        if now.size:
            numbers = _read_limbs([starts[one] for one in now.tolist()], shape.cells, limbs)
            numbers = numbers.reshape(-1, width, limbs).transpose(0, 2, 1).copy()
            of_runs = runs[0][now], runs[1][now]
            fits = run_fold(shape, of_runs, rows, of_values, numbers, False, needed[now], limbs)
            ready = numbers.reshape(now.size, -1, limbs, width)[fits].transpose(0, 1, 3, 2)
            found[now[fits]] = _write_limbs(ready.reshape(-1, limbs), shape.cells)
            pending = np.setdiff1d(pending, now[fits])
        limbs *= 4
    return found


def _read_limbs(wide: list[bytes], cells: int, most: int) -> np.ndarray:
    """Numbers as digits of `LIMB_BITS`, the highest with the sign: int64[summaries, cells, most]."""
    found = np.zeros((len(wide), cells, most), np.int64)
    lengths = np.array([len(words) for words in wide])
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        words = np.frombuffer(b"".join([wide[one] for one in chosen.tolist()]), np.int64).reshape(
            chosen.size, cells, -1
        )
        limbs = 64 * words.shape[2] // LIMB_BITS + 1
        sign = words[:, :, -1:] >> 63
        bits = np.concatenate([words, sign, sign], axis=2).view(np.uint64)
        place, shift = np.divmod(LIMB_BITS * np.arange(limbs), 64)
        low = bits[:, :, place] >> shift.astype(np.uint64)
        high = (bits[:, :, place + 1] << np.uint64(1)) << (63 - shift).astype(np.uint64)
        parts = ((low | high) & np.uint64(2**LIMB_BITS - 1)).astype(np.int64)
        half = 2 ** (LIMB_BITS - 1)
        parts[:, :, -1] = (parts[:, :, -1] ^ half) - half
        found[chosen, :, :limbs] = parts
    return found


def _write_limbs(limbs: np.ndarray, cells: int) -> list[bytes]:
    """The inverse, of int64[summaries * cells, limbs] between which all is carried."""
    words = exact.settle_numbers(limbs, LIMB_BITS, limbs.shape[1] * LIMB_BITS // 64 + 2).T
    width = exact.count_words(words).reshape(-1, cells).max(axis=1).tolist()
    of_summaries = words.reshape(-1, cells, words.shape[1])
    return [one[:, :size].tobytes() for one, size in zip(of_summaries, width, strict=True)]


def pack(numbers: list[int]) -> bytes:
    """Whole numbers as words, all with the same number of them."""
    size = 8 * (max((~one if one < 0 else one).bit_length() for one in numbers) // 64 + 1)
    return b"".join([one.to_bytes(size, "little", signed=True) for one in numbers])


def unpack(words: bytes, cells: int) -> list[int]:
    """The inverse."""
    size = len(words) // cells
    return [int.from_bytes(words[at : at + size], "little", signed=True) for at in range(0, len(words), size)]


def _wide_shape(group: Group) -> FoldShape:
    return group.shape if group.shape.numbers is Numbers.LARGEST else replace(group.shape, numbers=Numbers.EXACT)


def _widen(group: Group, numbers: np.ndarray) -> Any:
    """Numbers as those of any size."""
    if group.shape.numbers is Numbers.INT64:
        return numbers.tobytes()
    if group.shape.numbers is Numbers.LARGEST:
        return widen_codes(numbers, numbers > NO_VALUE)
    return exact.as_decimals(numbers).tolist()


# Windows of summaries


def finish(algebra: Algebra, summaries: Summaries, low: np.ndarray, high: np.ndarray) -> Results:
    """Aggregates of all trends in the rows of summaries low[entry]:high[entry], which are of one key, in order of time.
    Entries without a trend are left out; `segment` is the number of the entry."""
    order = np.lexsort((high, low))
    totals: list[np.ndarray] = []
    for number, (group, maps) in enumerate(zip(algebra.groups, summaries.maps, strict=True)):
        if number and not group.aggregates:
            totals.append(np.zeros((low.size, 0)))
            continue
        sorted_totals = _apply_all(group, maps, low[order], high[order])
        totals.append(np.empty_like(sorted_totals))
        totals[-1][order] = sorted_totals
    found = np.flatnonzero(np.asarray(totals[0][:, 0] != 0, np.bool_))
    columns: list[np.ndarray] = [found] * len(algebra.kinds)
    valid: list[np.ndarray | None] = [None] * len(algebra.kinds)
    for number, (group, of_group) in enumerate(zip(algebra.groups, totals, strict=True)):
        for column, place in zip(of_group.T[number < 2 :], group.aggregates, strict=True):
            kind, floats = algebra.kinds[place]
            columns[place] = column[found]
            if number == 2:
                columns[place], valid[place] = _read_extremum(kind, floats, columns[place])
            elif number == 0:
                columns[place] = tidy(columns[place])
    return Results(found, np.zeros(found.size, np.int64), tidy(totals[0][found, 0]), tuple(columns), tuple(valid))


def _read_extremum(kind: str, floats: bool, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(values, valid) from the largest codes."""
    if codes.dtype == object:
        known = np.asarray(codes > NO_VALUE, np.bool_)
        codes = np.where(known, codes - _SHIFT, 0).astype(np.int64)
    else:
        known = codes > NO_VALUE
    codes = np.where(known, codes if kind == Measure.MAX else ~codes, 0)
    return from_ordered_bits(codes) if floats else codes, known


def _apply_all(group: Group, maps: Maps, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Totals of windows, [window, component]; of objects where some need more than a word."""
    shape = replace(group.shape, words=1, resets=())
    results = np.zeros((low.size, shape.components), group.kind)
    steps = int((high - low).sum()) * shape.past * shape.components * shape.lines
    fits = run_apply(shape, maps.numbers, (low, high), results, interprets(steps, shape))
    if not group.widens:
        return results
    if group.kind is np.float64:
        fits = _is_finite(results, any_between(np.isnan(maps.numbers).any(axis=1), low, high))
    is_wide = maps.is_wide()
    chosen = np.flatnonzero(~fits | any_between(is_wide, low, high))
    if not chosen.size:
        return results
    needed = np.zeros(is_wide.size + 1, np.int64)
    np.add.at(needed, low[chosen], 1)
    np.add.at(needed, high[chosen], -1)
    used = np.flatnonzero(np.cumsum(needed))
    place = np.searchsorted(used, low[chosen])
    cells = [maps.wide[one] if is_wide[one] else _widen(group, maps.numbers[one]) for one in used.tolist()]
    if group.shape.numbers is Numbers.INT64:
        cells = [unpack(words, group.cells) for words in cells]
    wide = np.zeros((chosen.size, shape.components), object)
    bounds = place, place + (high - low)[chosen]
    with localcontext(exact.DECIMALS):
        run_apply(_wide_shape(replace(group, shape=shape)), np.array(cells, object), bounds, wide, True)
    results = results.astype(object)
    results[chosen] = wide
    if group.shape.numbers is Numbers.LARGEST:  # the others in the same way
        others = np.setdiff1d(np.arange(low.size), chosen)
        for one in others.tolist():
            results[one] = [code + _SHIFT if code > NO_VALUE else code for code in results[one]]
    return results
