"""How pairs are found: the active windows of the other side and what must be equal give candidates, a band of sorted
values leaves fewer of them where it is narrow, and the rest of the condition is asked of those; block by block of time,
on one core, on all, or on a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.devices.names import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import AROUND_CONDITION, argument_names, read_operand, without_nulls
from trendweave.gpu.card import find_card, memory_told, refuse_work
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.joins import Condition, find_pairs
from trendweave.kernel_cache.kernel import load_text
from trendweave.kernels.columns import read_only
from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression
from trendweave.programs.operators.joins.candidates import (
    ActiveWindow,
    Candidates,
    JoinSide,
    find_candidates,
    look_into,
)
from trendweave.programs.operators.joins.conditions import Band, JoinCondition, as_floats, rename
from trendweave.programs.operators.windows.edges import Moving, StepSpan
from trendweave.rows.codes import order_codes
from trendweave.rows.segments import sort_by, take_rows
from trendweave.rows.times import check_edges

#: To compile a condition takes as long as to test so many pairs with Arrow.
FEW = 10_000_000
#: The share of members in a band that is narrow: a loop tests many pairs in the time in which one candidate is handled.
NARROW = 0.05
#: Values that are looked at to tell how wide a band is.
_SAMPLE = 1_000
_SMALLEST_CHUNK, _LARGEST_CHUNK = 8, 20
#: A chunk has 2 ** so many times fewer buckets than members.
_PER_BUCKET = 2


@dataclass(frozen=True)
class PairTest:
    """Conditions on pairs that must all be true.

    Attributes:
        parts: The conditions.
        left: The left events.
        right: The right events.
    """

    parts: tuple[st.Expression, ...]
    left: JoinSide
    right: JoinSide

    @cached_property
    def compiled(self) -> Compiled | None:
        """All parts that have a compiled form, as one condition; None where there are none."""
        found = tuple(part for part in self.parts if self._is_compiled(part))
        if not found:
            return None
        whole = compile_condition(found[0] if len(found) == 1 else st.AllOf(found), self._schemas)
        return whole if isinstance(whole, Compiled) else None

    @cached_property
    def others(self) -> tuple[st.Expression, ...]:
        """The parts without a compiled form."""
        return tuple(part for part in self.parts if not self._is_compiled(part))

    def _is_compiled(self, part: st.Expression) -> bool:
        return isinstance(compile_condition(part, self._schemas), Compiled)

    @cached_property
    def _schemas(self) -> dict[str, pa.Schema]:
        return {"left": without_nulls(self.left.table), "right": without_nulls(self.right.table)}

    def column(self, side: str, name: str) -> pa.ChunkedArray:
        """A column of a side, by place."""
        return (self.left if side == "left" else self.right).table.column(name)

    def arrays(self, orders: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """What the compiled condition reads, by place, or in another order of a side."""
        assert self.compiled is not None
        found = []
        for operand in self.compiled.operands:
            order = orders.get(operand.side, slice(None))
            arrays = read_operand(operand, self.column(operand.side, operand.column))
            found += [read_only(array[order]) for array in arrays]
        return found

    def mask(self, parts: Sequence[st.Expression], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """For which pairs of places some conditions are true."""
        holds = np.ones(left.size, np.bool_)
        for part in parts:
            kept = np.flatnonzero(holds)
            taken = {}
            for side, name in {node.names[:2] for node in part.walk() if isinstance(node, st.Attribute)}:
                places = left if side == "left" else right
                taken[f"{side}.{name}"] = take_rows(self.column(side, name), places[kept])
            holds[kept] = is_true(rename(part, lambda names: (".".join(names[:2]), *names[2:])), pa.table(taken))
        return holds


class Chunks(NamedTuple):
    """Members in chunks of 2 ** bits. Between its least and its largest value a chunk has buckets of one width, with
    four values in each on average: where a value would stand is read from a table, and hardly searched.

    Attributes:
        values: Their values, sorted within chunks: finite ones, then infinity for members that are always looked at,
            then NaN for those that never are.
        members: The members in this order.
        finite: Where in each chunk infinity begins.
        present: Where in each chunk NaN begins.
        table: Per chunk and bucket, how many values of the chunk stand before it; then how many are finite.
        scale: Buckets per unit of value; 0 where values are too near or too far from each other for more than one.
        bits: A chunk has 2 ** so many members.
    """

    values: np.ndarray
    members: np.ndarray
    finite: np.ndarray
    present: np.ndarray
    table: np.ndarray
    scale: np.ndarray
    bits: int


def sort_into_chunks(given: np.ndarray, bits: int) -> Chunks:
    """Values of members in their order as `Chunks` has them."""
    size, buckets = 1 << bits, 1 << (bits - _PER_BUCKET)
    starts = np.arange(0, given.size, size)
    filled = np.append(given, np.full(starts.size * size - given.size, np.nan))
    members = np.argsort(filled.reshape(-1, size), axis=1) + starts[:, None]
    lines = filled[members]
    known, numbers = np.isfinite(lines), np.arange(starts.size)
    finite, present = np.count_nonzero(known, axis=1), np.count_nonzero(~np.isnan(lines), axis=1)
    with np.errstate(all="ignore"):
        scale = buckets / (lines[numbers, finite - 1] - lines[:, 0])
        scale = np.where(np.isfinite(scale), scale, 0.0)
        bucket = np.where(scale[:, None] > 0, np.minimum((lines - lines[:, :1]) * scale[:, None], buckets - 1), 0)
    places = bucket[known].astype(np.int64) + np.repeat(numbers * (buckets + 1) + 1, finite)
    counts = np.bincount(places, minlength=starts.size * (buckets + 1))
    table = counts.reshape(starts.size, buckets + 1).cumsum(axis=1).ravel().astype(np.int32)
    return Chunks(lines.ravel(), members.ravel(), starts + finite, starts + present, table, scale, bits)


@dataclass(frozen=True)
class SortedBand:
    """Members sorted by value in chunks about as long as windows are, for a look into each of the two or three chunks
    that a window touches.

    Attributes:
        band: What the condition says of the values.
        candidates: What is searched. NULL has no partner: events without a value do not look.
        own: The values of those that look, by number.
        others: The values of members, in their order, as `sort_into_chunks` takes them.
    """

    band: Band
    candidates: Candidates
    own: np.ndarray
    others: np.ndarray

    @cached_property
    def share(self) -> float:
        """The share of members that lie in the band of an event, about."""
        own, others = (values[:: max(values.size // _SAMPLE, 1)] for values in (self.own, self.others))
        if not own.size:
            return 0.0
        least, most = self.band.around(own, self.candidates.of_left)
        others = np.sort(others[np.isfinite(others)])
        inside = np.searchsorted(others, most, "right") - np.searchsorted(others, least)
        return float(inside.mean() / max(others.size, 1))

    @property
    def is_narrow(self) -> bool:
        """Does the band leave few candidates?"""
        return self.share <= NARROW

    @cached_property
    def bits(self) -> int:
        """A chunk has 2 ** so many members: about as many as half of the windows have."""
        widths = self.candidates.high - self.candidates.low
        typical = int(np.median(widths)) if widths.size else 1
        return min(max((typical - 1).bit_length(), _SMALLEST_CHUNK), _LARGEST_CHUNK)

    @cached_property
    def chunks(self) -> Chunks:
        return sort_into_chunks(self.others, self.bits)

    def bounds(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Between which values partners of some events lie."""
        return self.band.around(self.own[first:last], self.candidates.of_left)


def sort_band(test: PairTest, bands: Sequence[Band], candidates: Candidates) -> SortedBand | None:
    """The first of some bands whose values can be sorted; None where there is none."""
    for band in bands:
        values = _values_of(test, band)
        if values is None:
            continue
        (own, has_own), (others, has_others) = values if candidates.of_left else values[::-1]
        looking = has_own[candidates.probes]
        probes, low, high = (ends[looking] for ends in (candidates.probes, candidates.low, candidates.high))
        others = np.where(np.isfinite(others), others, np.inf)
        others = np.where(has_others, others, np.nan)[candidates.members]
        return SortedBand(band, replace(candidates, probes=probes, low=low, high=high), own[probes], others)
    return None


def _values_of(test: PairTest, band: Band) -> Sequence[tuple[np.ndarray, np.ndarray]] | None:
    """The values that a band compares, and which of them are valid: floats, or, where only the order is asked, numbers
    in that order."""
    left, right = test.left.evaluate(band.left), test.right.evaluate(band.right)
    floats = [found for column in (left, right) if (found := as_floats(column)) is not None]
    if len(floats) == 2:
        return floats
    if not band.is_order:
        return None
    return [(part.astype(np.float64), part >= 0) for part in order_codes(left, right)]


@dataclass(frozen=True)
class Search:
    """Pairs of the events of one side.

    Attributes:
        candidates: What is searched.
        test: What is asked of pairs.
        band: What leaves fewer candidates; None where nothing does.
        by: What asks pairs: "arrow" column by column, "loop" the loop that lists candidates as far as the condition is
            compiled, "gpu" a GPU likewise.
    """

    candidates: Candidates
    test: PairTest
    band: SortedBand | None
    by: Literal["arrow", "loop", "gpu"]

    def expect(self) -> int:
        """About how many pairs there are, for the size of blocks: of those that are compared in loops few pass."""
        share = _PASSING[self.by] if self.band is None else self.band.share
        return int(self.candidates.pairs * share)

    def find(self, first: int, last: int, limit: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The pairs of some events that look.

        Args:
            first: The number of the first event.
            last: Up to but without this one.
            limit: So many are too many.

        Returns:
            The left and the right places of pairs; None where too many were listed.
        """
        listed = (self._list_on_gpu if self.by == "gpu" else self._list)(first, last, limit)
        if listed is None:
            return None
        own, other = self.candidates.probes[listed[0]], self.candidates.members[listed[1]]
        left, right = (own, other) if self.candidates.of_left else (other, own)
        parts = self.test.parts if self.by == "arrow" else self.test.others
        if parts:
            holds = self.test.mask(parts, left, right)
            left, right = left[holds], right[holds]
        return left, right

    def _list(self, first: int, last: int, limit: int) -> Sequence[np.ndarray] | None:
        """Numbers of events and of members; None where they are too many."""
        found, compiled, arrays = self.candidates, None, list[np.ndarray]()
        if self.by == "loop":
            compiled, arrays = self.test.compiled, self._arrays
        if self.band is not None:
            loop, given = _load_loop(_BAND, compiled, found.of_left), (found.low, found.high, found.probes)
            done, *pairs = loop(first, last, limit, *given, *self.band.bounds(first, last), *self.band.chunks, *arrays)
            return pairs if done == last else None
        # Events whose members lie together look at them in turn.
        event = first + np.argsort(found.low[first:last], kind="stable")
        begin, end = found.low[event], found.high[event]
        if compiled is not None:
            loop = _load_loop(_SCAN, compiled, found.of_left)
            done, *pairs = loop(event, begin, end, found.probes, limit, *arrays)
            return pairs if done == event.size else None
        sizes = end - begin
        if sizes.sum() > limit:
            return None
        return [np.repeat(event, sizes), np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - end, sizes)]

    @cached_property
    def _arrays(self) -> list[np.ndarray]:
        """What the condition reads: of events, and of members in their order."""
        members = self.candidates.members
        in_order = np.array_equal(members, np.arange(members.size))
        return self.test.arrays({} if in_order else {"right" if self.candidates.of_left else "left": members})

    def _list_on_gpu(self, first: int, last: int, limit: int) -> Sequence[np.ndarray] | None:
        card = find_card()
        with memory_told(card):
            low, high, columns = self._on_gpu
            assert self.test.compiled is not None
            event = first + card.xp.argsort(low[first:last])
            own = "left" if self.candidates.of_left else "right"
            chosen = {name: one.take(event) if name[0] == own else one for name, one in columns.items()}
            pairs = find_pairs(card, Condition(self.test.compiled, own, chosen), low[event], high[event], limit)
            return None if pairs is None else (card.get(event[pairs.probe]), card.get(pairs.other))

    @cached_property
    def _on_gpu(self) -> tuple[Any, Any, dict[tuple[str, str], CardColumn]]:
        """The ranges of members, and what the condition reads: of events by their numbers, of members by place."""
        card, found, compiled = find_card(), self.candidates, self.test.compiled
        if compiled is None:
            shown = " AND ".join(print_expression(part) for part in self.test.others)
            refuse_work(f"no part of {shown} is evaluated on a GPU", "threads")
        own, other = ("left", "right") if found.of_left else ("right", "left")
        arrays = iter(self.test.arrays({own: found.probes, other: found.members}))
        columns = {}
        for operand in compiled.operands:
            values = card.put(next(arrays))
            valid = card.put(next(arrays).view(np.uint8)) if operand.nullable else None
            columns[operand.side, operand.column] = CardColumn(values, valid)
        return card.put(found.low), card.put(found.high), columns


#: Members are looked at in tiles of this many by several events in turn, so that they stay near the processor.
TILE = 512
#: Events that look at a tile in turn.
GROUP = 32

#: Arrays of pairs, which grow.
_PAIRS = """
from trendweave.kernels.growing import grow
from trendweave.kernels.searching import first_not_below


@called
def grow_both(events, members, least):
    room = max(least, 2 * events.size)
    return grow(events, room), grow(members, room)
"""

#: The members of ranges.
_SCAN = """
@loop
def find(event, begin, end, probes, limit, {arguments}):
    events, members = np.empty(4096, np.int64), np.empty(4096, np.int64)
    found = first = 0
    while first < begin.size and found < limit:
        # Events that look at the same members.
        least, most = begin[first], end[first]
        last = first + 1
        while last < begin.size and last - first < {group} and begin[last] < most:
            most = max(most, end[last])
            last += 1
        for tile in range(least, most, {tile}):
            for number in range(first, last):
                start, stop = max(begin[number], tile), min(end[number], tile + {tile})
                if start >= stop:
                    continue
                row = probes[event[number]]
                {own}
                {cut}
                matches = 0
                for place in range(stop - start):
                    matches += np.int64({holds})
                if matches == 0:
                    continue
                if found + matches > events.size:
                    events, members = grow_both(events, members, found + matches)
                for place in range(stop - start):
                    if {holds}:
                        events[found], members[found] = event[number], start + place
                        found += 1
        first = last
    return first, events[:found], members[:found]
"""

#: The members of ranges that have a value between two, or one that is infinite.
_BAND = """
@loop
def find(
    first, last, limit, low, high, probes, least, most,
    values, ordered, finite, present, table, scale, bits, {arguments}
):
    size, buckets = 1 << bits, 1 << (bits - {per_bucket})
    events, members = np.empty(4096, np.int64), np.empty(4096, np.int64)
    found = 0
    for number in range(first, last):
        if found >= limit:
            return number, events[:found], members[:found]
        begin, end = low[number], high[number]
        below, above = least[number - first], most[number - first]
        row = probes[number]
        {own}
        for chunk in range(begin >> bits, ((end - 1) >> bits) + 1):
            if found + size > events.size:
                events, members = grow_both(events, members, found + size)
            start, stop = chunk << bits, finite[chunk]
            place = start
            missing = below - values[place]
            if missing > 0 and place < stop:
                # Values of earlier buckets are less than the least, those of later ones are not.
                bucket = chunk * (buckets + 1)
                if scale[chunk] > 0:
                    bucket += np.int64(min(missing * scale[chunk], buckets - 1))
                place = first_not_below(values, start + table[bucket], start + table[bucket + 1], below)
            while place < present[chunk]:
                if place < stop and values[place] > above:
                    place = stop
                    continue
                member = ordered[place]
                if begin <= member < end and {holds}:
                    events[found], members[found] = number, member
                    found += 1
                place += 1
    return last, events[:found], members[:found]
"""


@lru_cache(128)
def _load_loop(text: str, compiled: Compiled | None, of_left: bool) -> Any:
    looking = "left" if of_left else "right"
    names = [] if compiled is None else argument_names(compiled)
    own = [f"{name}_own = {name}[row]" for name, side in names if side == looking]
    cut = [f"{name}_cut = {name}[start:stop]" for name, side in names if side != looking]
    of_member = "{}[member]" if text is _BAND else "{}_cut[place]"
    values = [f"{name}_own" if side == looking else of_member.format(name) for name, side in names]
    loop = _PAIRS + text.format(
        arguments=", ".join(name for name, _ in names),
        own="; ".join(own) or "pass",
        cut="; ".join(cut) or "pass",
        holds=f"test({', '.join(values)})",
        tile=TILE,
        group=GROUP,
        per_bucket=_PER_BUCKET,
    )
    condition = "def test():\n    return True" if compiled is None else compiled.python
    return load_text(AROUND_CONDITION.format(condition=condition, loop=loop), "find")


#: About the share of candidates that are listed without a band.
_PASSING = {"arrow": 1.0, "loop": 2.0**-8, "gpu": 2.0**-14}
#: Pairs of a block, about, and events of a block, at most; on a GPU.
_TARGET, _EVENTS = 1 << 20, 1 << 16
_TARGET_ON_GPU, _EVENTS_ON_GPU = 1 << 23, 1 << 21
#: A block is done again in smaller ones where so many times more pairs are listed than should be.
_TOO_MANY = 8
#: Blocks per core: what one core has left over another one takes. So few candidates are not worth to be dealt out.
_BLOCKS_PER_CORE, _FEW_TO_DEAL = 2, 1_000_000
#: So few candidates are tested before members are sorted.
_FEW_PAIRS = 20_000
#: Events that look, by their numbers in order of time: whole moments of them.
_Block: TypeAlias = tuple[int, int]
#: The left and the right places of pairs.
_Places: TypeAlias = tuple[np.ndarray, np.ndarray]
#: Makes rows of the left and right places of some pairs.
_Make: TypeAlias = Callable[[np.ndarray, np.ndarray], list[pa.RecordBatch]]


@dataclass(frozen=True)
class PairSearch:
    """All that is to be joined.

    Attributes:
        sides: The left and the right events.
        windows: The windows over them.
        condition: The condition, in parts.
        device: What computes.
    """

    sides: tuple[JoinSide, JoinSide]
    windows: tuple[ActiveWindow, ActiveWindow]
    condition: JoinCondition
    device: str = "cpu"

    @cached_property
    def _looks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What left and what right events look at."""
        left, right = (side.events for side in self.sides)
        ties = not self._both_move
        return [look_into(left, right, self.windows[1], True), look_into(right, left, self.windows[0], ties)]

    @property
    def _both_move(self) -> bool:
        """Both windows move with every moment: left events find all of the same time, so that right ones need not."""
        return all(isinstance(window, Moving) for window in self.windows)

    def _choose(self, wanted: Sequence[np.ndarray | None]) -> tuple[list[Search], int]:
        """How pairs of events of each side are found, and how many candidates there are."""
        for window in self.windows:
            if isinstance(window, StepSpan):
                for side in self.sides:
                    check_edges(side.events.steps, window.length + window.slide)
        candidates = [
            find_candidates(self.sides[side], self.sides[1 - side], self._looks[side], side == 0, wanted[side])
            for side in (0, 1)
        ]
        test, searches, pairs = PairTest(self.condition.pairs, *self.sides), [], sum(one.pairs for one in candidates)
        for one in candidates:
            band = sort_band(test, self.condition.bands, one) if pairs > _FEW_PAIRS else None
            listed = pairs
            if band is not None and (band.is_narrow or test.compiled is None):
                one, listed = band.candidates, int(pairs * band.share)
            else:
                band = None
            by: Literal["arrow", "loop", "gpu"] = "loop" if listed > FEW and test.compiled is not None else "arrow"
            on_gpu = self.device == "gpu" and band is None and bool(test.parts)
            searches.append(Search(one, test, band, "gpu" if on_gpu else by))
        return searches, pairs

    def rows(self, make: _Make, wanted: Sequence[np.ndarray | None] = (None, None)) -> Iterator[pa.RecordBatch]:
        """What is made of pairs, in order of row time, then by left and right event.

        Args:
            make: Makes rows of some pairs.
            wanted: Which left and which right events are asked for, as those that look; None: all.
        """
        searches, pairs = self._choose(wanted)
        threads = count_threads(pairs) if self.device == "threads" else 1
        if threads > 1:
            for search in searches:
                search.find(0, 0, 0)  # what all cores need is made by one
        times = [side.events.steps[one.candidates.probes] for side, one in zip(self.sides, searches, strict=True)]
        moments = np.sort(np.concatenate(times))
        target, most = (_TARGET_ON_GPU, _EVENTS_ON_GPU) if self.device == "gpu" else (_TARGET, _EVENTS)
        if threads > 1:
            most = min(most, -(-moments.size // (threads * _BLOCKS_PER_CORE)))
        expected = sum(one.expect() for one in searches)
        size = max(1, min(most, target * moments.size // max(expected, 1)))

        def cut(first: int, until: int, size: int) -> Iterator[_Block]:
            while first < until:
                last = int(np.searchsorted(moments, moments[min(first + size, until) - 1], "right"))
                yield first, last
                first = last

        def work(block: _Block) -> list[pa.RecordBatch] | None:
            begin, end = moments[block[0]], moments[block[1] - 1]
            # Of one moment there cannot be too many.
            found = self._find_block(searches, times, begin, end, _TOO_MANY * target if begin < end else 2**62)
            return None if found is None else make(*found) if found[0].size else []

        def finish(block: _Block, made: list[pa.RecordBatch] | None) -> Iterator[pa.RecordBatch]:
            if made is not None:
                yield from made
                return
            for part in cut(*block, max((block[1] - block[0]) // 4, 1)):
                yield from finish(part, work(part))

        blocks = cut(0, moments.size, size)
        if threads > 1:
            return _share_out(blocks, work, finish, threads)
        return chain.from_iterable(finish(block, work(block)) for block in blocks)

    def _find_block(
        self, searches: list[Search], times: list[np.ndarray], begin: int, end: int, limit: int
    ) -> _Places | None:
        """The pairs of rows from a moment to another one, in order."""
        lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for search, moments in zip(searches, times, strict=True):
            first, last = np.searchsorted(moments, begin), np.searchsorted(moments, end, "right")
            if first == last:
                continue
            found = search.find(int(first), int(last), limit)
            if found is None:
                return None
            left, right = found
            if not search.candidates.of_left and not self._both_move:
                left, right = self._unless_found(left, right)
            lefts.append(left)
            rights.append(right)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        one, other = (side.events for side in self.sides)
        order = sort_by(np.maximum(one.steps[left], other.steps[right]), one.rank(left), other.rank(right))
        return left[order], right[order]

    def _unless_found(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that right events have found, without those of one time that left events have found, too."""
        low, high = self._looks[0]
        twice = self.sides[0].events.steps[left] == self.sides[1].events.steps[right]
        twice &= (low[left] <= right) & (right < high[left])
        return left[~twice], right[~twice]


def count_threads(candidates: int) -> int:
    """How many threads look at candidates: one where more are not worth it, or this one is one of several."""
    return 1 if candidates < _FEW_TO_DEAL or is_in_pool() else count_cores()


def _share_out(
    blocks: Iterator[_Block],
    work: Callable[[_Block], list[pa.RecordBatch] | None],
    finish: Callable[[_Block, list[pa.RecordBatch] | None], Iterator[pa.RecordBatch]],
    threads: int,
) -> Iterator[pa.RecordBatch]:
    """What is made of blocks, in their order; so many are worked on at the same time."""
    pool, waiting = Pool(threads), deque[tuple[_Block, Future[list[pa.RecordBatch] | None]]]()
    try:
        for block in blocks:
            waiting.append((block, pool.submit(work, block)))
            if len(waiting) > threads:
                block, future = waiting.popleft()
                yield from finish(block, future.result())
        for block, future in waiting:
            yield from finish(block, future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
