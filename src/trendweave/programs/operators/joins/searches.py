"""How pairs are found among candidates: all of them, by sorted values, by a compiled scan, or by Arrow in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import AROUND_CONDITION, argument_names, read_operand
from trendweave.kernel_cache.kernel import load_text
from trendweave.language import syntax_tree as st
from trendweave.programs.operators.joins.candidates import Candidates
from trendweave.programs.operators.joins.conditions import Band, rename
from trendweave.programs.operators.kernels.pairs import Chunks, find_in_bands, sort_into_chunks
from trendweave.programs.operators.ordering import OrderedSide
from trendweave.rows.ordering import take_rows

#: To compile a condition takes as long as to test so many pairs with Arrow.
FEW = 10_000_000


@dataclass(frozen=True)
class PairTest:
    """Conditions on pairs that must all be true.

    Attributes:
        parts: The conditions.
        left: The left events.
        right: The right events.
        columns: By side: the names of its columns, and those of prepared rows.
        tested: How many pairs were tested so far.
    """

    parts: tuple[st.Expression, ...]
    left: OrderedSide
    right: OrderedSide
    columns: Mapping[str, Mapping[str, str]]
    tested: list[int] = field(default_factory=lambda: [0])

    @cached_property
    def compiled(self) -> Compiled | None:
        """All parts that have a compiled form, as one condition; None where there are none."""
        sides = self._sides()
        found = [part for part in self.parts if isinstance(compile_condition(part, sides), Compiled)]
        if not found:
            return None
        whole = compile_condition(found[0] if len(found) == 1 else st.AllOf(tuple(found)), sides)
        return whole if isinstance(whole, Compiled) else None

    @cached_property
    def others(self) -> tuple[st.Expression, ...]:
        """The parts without a compiled form."""
        sides = self._sides()
        return tuple(part for part in self.parts if not isinstance(compile_condition(part, sides), Compiled))

    def _sides(self) -> dict[str, pa.Schema]:
        """The columns of both sides; those without NULL are not nullable."""
        found = {}
        for side, rows in (("left", self.left), ("right", self.right)):
            fields = []
            for name, prepared in self.columns[side].items():
                column = rows.table.column(prepared)
                fields.append(pa.field(name, column.type, column.null_count > 0 or pa.types.is_null(column.type)))
            found[side] = pa.schema(fields)
        return found

    def arrays(self, orders: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """What the compiled condition reads, by rank, or in another order of a side."""
        assert self.compiled is not None
        found = []
        for operand in self.compiled.operands:
            rows = self.left if operand.side == "left" else self.right
            column = rows.table.column(self.columns[operand.side][operand.column])
            for array in read_operand(operand, column):
                order = orders.get(operand.side)
                found.append(array if order is None else array[order])
        return found

    @cached_property
    def _by_rank(self) -> list[np.ndarray]:
        return self.arrays({})

    def mask(self, left: np.ndarray, right: np.ndarray, is_compiled: bool | None) -> np.ndarray:
        """Which pairs of ranks pass.

        Args:
            left: The left ranks.
            right: The right ranks.
            is_compiled: Shall the compiled condition be used? None: as soon as there are many.
        """
        self.tested[0] += left.size
        if is_compiled is None:
            is_compiled = self.tested[0] > FEW
        if not is_compiled or self.compiled is None:
            return self.mask_by_arrow(self.parts, left, right)
        holds = check_pairs(self.compiled, self._by_rank, left, right)
        if self.others:
            holds[holds] = self.mask_by_arrow(self.others, left[holds], right[holds])
        return holds

    def mask_by_arrow(self, parts: Sequence[st.Expression], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """For which pairs of ranks some conditions are true."""
        holds = np.ones(left.size, np.bool_)
        for part in parts:
            kept = np.flatnonzero(holds)
            needed = {node.names[:2] for node in part.walk() if isinstance(node, st.Attribute)}
            taken = {}
            for side, name in needed:
                rows, ranks = (self.left, left) if side == "left" else (self.right, right)
                taken[f"{side}.{name}"] = take_rows(rows.table.column(self.columns[side][name]), ranks[kept])
            holds[kept] = is_true(rename(part, lambda names: (".".join(names[:2]), *names[2:])), pa.table(taken))
        return holds


#: Members are looked at in tiles of this many by several events in turn, so that they stay near the processor.
TILE = 512
#: Events that look at a tile in turn.
GROUP = 32

_SCAN = """
@loop
def scan(low, high, probes, limit, {arguments}):
    event = np.empty(4096, np.int64)
    member = np.empty(4096, np.int64)
    found = 0
    first = 0
    while first < low.size and found < limit:
        # Events that look at the same members.
        begin, end = low[first], high[first]
        last = first + 1
        while last < low.size and last - first < {group} and low[last] < end:
            end = max(end, high[last])
            last += 1
        for tile in range(begin, end, {tile}):
            for number in range(first, last):
                start, stop = max(low[number], tile), min(high[number], tile + {tile})
                if start >= stop:
                    continue
                row = probes[number]
                {own}
                {cut}
                matches = 0
                for place in range(stop - start):
                    matches += np.int64(test({values}))
                if matches == 0:
                    continue
                if found + matches > event.size:
                    event, member = grow(event, found + matches), grow(member, found + matches)
                for place in range(stop - start):
                    if test({values}):
                        event[found] = number
                        member[found] = start + place
                        found += 1
        first = last
    return first, event[:found], member[:found]


@called
def grow(numbers, least):
    more = np.empty(max(least, 2 * numbers.size), np.int64)
    more[: numbers.size] = numbers
    return more
"""

_CHECK = """
@loop
def check(one, other, {arguments}):
    holds = np.empty(one.size, np.bool_)
    for number in range(one.size):
        i, j = one[number], other[number]
        holds[number] = test({values})
    return holds
"""


def scan_pairs(compiled: Compiled, of_left: bool, arrays: Sequence[np.ndarray], *given: Any) -> Any:
    """Test events against all of their members.

    Args:
        compiled: The condition.
        of_left: Are those that look the left events?
        arrays: What the condition reads: of those that look by rank, of members in their order.
        given: Per event the first of its members, and up to but without which one; its rank; and a number of pairs
            that are enough.

    Returns:
        How many events were looked at, and events and members of the pairs.
    """
    return _load_scan(compiled, of_left)(*given, *arrays)


def check_pairs(compiled: Compiled, arrays: Sequence[np.ndarray], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Test pairs of ranks; all arrays are by rank."""
    return _load_check(compiled)(left, right, *arrays)


@lru_cache(128)
def _load_scan(compiled: Compiled, of_left: bool) -> Any:
    looking = "left" if of_left else "right"
    names = argument_names(compiled)
    own = [f"{name}_own = {name}[row]" for name, side in names if side == looking]
    cut = [f"{name}_cut = {name}[start:stop]" for name, side in names if side != looking]
    values = [f"{name}_own" if side == looking else f"{name}_cut[place]" for name, side in names]
    text = _SCAN.format(
        arguments=", ".join(name for name, _ in names),
        own="; ".join(own) or "pass",
        cut="; ".join(cut) or "pass",
        values=", ".join(values),
        tile=TILE,
        group=GROUP,
    )
    return _load(text, "scan", compiled)


@lru_cache(128)
def _load_check(compiled: Compiled) -> Any:
    names = argument_names(compiled)
    values = [f"{name}[{'i' if side == 'left' else 'j'}]" for name, side in names]
    text = _CHECK.format(arguments=", ".join(name for name, _ in names), values=", ".join(values))
    return _load(text, "check", compiled)


def _load(text: str, name: str, compiled: Compiled) -> Any:
    return load_text(AROUND_CONDITION.format(condition=compiled.python, loop=text), name)


Way: TypeAlias = Literal["all", "band", "scan", "batches"]
#: Candidates that Arrow tests at a time.
_BATCH = 1 << 20
_SMALLEST_CHUNK, _LARGEST_CHUNK = 8, 20
#: Values that are looked at to tell how wide a band is, and the share of members in it that is narrow.
_SAMPLE, NARROW = 1_000, 0.05


class Search(Protocol):
    """One of the ways, for the events of one side."""

    @property
    def candidates(self) -> Candidates:
        """What it searches."""

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Pairs of some events that look, and members.

        Args:
            first: The number of the first event that looks.
            last: Up to but without this one.
            limit: So many pairs are enough, if they are too many.

        Returns:
            How many events were looked at, and numbers of events and members of the pairs that passed all tests.
        """


def list_ranges(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of some ranges, and which range each is of."""
    sizes = high - low
    owner = np.repeat(np.arange(low.size), sizes)
    begins = np.cumsum(sizes) - sizes
    return owner, np.arange(owner.size) - (begins - low)[owner]


@dataclass(frozen=True)
class TakeAll:
    """Every candidate is a pair."""

    candidates: Candidates

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        event, member = list_ranges(self.candidates.low[first:last], self.candidates.high[first:last])
        return last - first, event + first, member


@dataclass(frozen=True)
class TestedPairs:
    """What ways that test pairs have in common."""

    candidates: Candidates
    test: PairTest

    def ranks(self, event: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left and right ranks of pairs."""
        own, other = self.candidates.probes[event], self.candidates.members[member]
        return (own, other) if self.candidates.of_left else (other, own)


@dataclass(frozen=True)
class Batches(TestedPairs):
    """Candidates in batches of columns, tested by Arrow: any condition, and the least to do before the first pair."""

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        low, high = self.candidates.low[first:last], self.candidates.high[first:last]
        ends = np.cumsum(high - low)
        begin, count, events, members = 0, 0, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        while begin < low.size and count <= limit:
            start = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, start + _BATCH, "right")), begin + 1)
            event, member = list_ranges(low[begin:end], high[begin:end])
            for part in range(0, event.size, _BATCH):
                one, other = event[part : part + _BATCH] + first + begin, member[part : part + _BATCH]
                holds = keep_mask(self, one, other, is_compiled=False)
                events.append(one[holds])
                members.append(other[holds])
                count += events[-1].size
            begin = end
        return begin, np.concatenate(events), np.concatenate(members)


def keep_mask(pairs: TestedPairs, event: np.ndarray, member: np.ndarray, is_compiled: bool | None) -> np.ndarray:
    """Which pairs pass all tests."""
    left, right = pairs.ranks(event, member)
    return pairs.test.mask(left, right, is_compiled)


@dataclass(frozen=True)
class Scan(TestedPairs):
    """All candidates, tested by a compiled loop; what has no compiled form is asked of those that pass."""

    @cached_property
    def _arrays(self) -> list[np.ndarray]:
        members = self.candidates.members
        in_order = members.size == 0 or (members[0] == 0 and bool((np.diff(members) == 1).all()))
        return self.test.arrays({} if in_order else {"right" if self.candidates.of_left else "left": members})

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        assert self.test.compiled is not None
        found = self.candidates
        # Events whose members lie together look at them in turn.
        order = first + np.argsort(found.low[first:last], kind="stable")
        given = (found.low[order], found.high[order], found.probes[order], limit)
        done, event, member = scan_pairs(self.test.compiled, found.of_left, self._arrays, *given)
        event = order[event]
        if self.test.others:
            left, right = self.ranks(event, member)
            holds = self.test.mask_by_arrow(self.test.others, left, right)
            event, member = event[holds], member[holds]
        return done, event, member


@dataclass(frozen=True)
class BandSearch(TestedPairs):
    """Members sorted by value in chunks about as long as windows are, and a look into each of the two or three chunks
    that a window touches.

    Attributes:
        band: What the condition says of the values.
        own: The values of those that look, by number; NULL is not among them.
        others: The values of members, in their order, as `sort_into_chunks` takes them.
        alone: Whether the band, of floats, is all that is asked of pairs.
    """

    band: Band
    own: np.ndarray
    others: np.ndarray
    alone: bool = False

    @property
    def is_narrow(self) -> bool:
        """Does the band leave few candidates? A scan tests many pairs in the time in which one candidate is handled."""
        own, others = (values[:: max(values.size // _SAMPLE, 1)] for values in (self.own, self.others))
        if not own.size:
            return True
        least, most = self.band.around(own, self.candidates.of_left)
        others = np.sort(others[np.isfinite(others)])
        inside = np.searchsorted(others, most, "right") - np.searchsorted(others, least)
        return bool(inside.mean() <= NARROW * max(others.size, 1))

    @cached_property
    def bits(self) -> int:
        """A chunk has 2 ** so many members: about as many as half of the windows have."""
        widths = self.candidates.high - self.candidates.low
        typical = int(np.median(widths)) if widths.size else 1
        return min(max((typical - 1).bit_length(), _SMALLEST_CHUNK), _LARGEST_CHUNK)

    @property
    def size(self) -> int:
        """How many members a chunk has."""
        return 1 << self.bits

    @cached_property
    def _chunks(self) -> Chunks:
        return sort_into_chunks(self.others, self.bits)

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        found = self.candidates
        least, most = self.band.around(self.own[first:last], found.of_left)
        given = (found.low[first:last], found.high[first:last], least, most, self._chunks, self.bits)
        done, event, member = find_in_bands(*given, limit)
        event += first
        holds = self._test(event, member)
        return done, event[holds], member[holds]

    def _test(self, event: np.ndarray, member: np.ndarray) -> np.ndarray:
        """Which candidates are pairs. The condition is asked of those alone that lie near an end of the band."""
        if not self.alone:
            return keep_mask(self, event, member, is_compiled=None)
        least, most = self.band.surely_around(self.own[event], self.candidates.of_left)
        values = self.others[member]
        holds = (least <= values) & (values <= most)
        unsure = np.flatnonzero(~holds)
        if unsure.size:
            holds[unsure] = keep_mask(self, event[unsure], member[unsure], is_compiled=None)
        return holds
