"""How pairs are found among candidates: by sorted values, by a compiled scan, or by Arrow alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias

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
        found = tuple(part for part in self.parts if self._is_compiled(part))
        if not found:
            return None
        whole = compile_condition(found[0] if len(found) == 1 else st.AllOf(found), self._sides)
        return whole if isinstance(whole, Compiled) else None

    @cached_property
    def others(self) -> tuple[st.Expression, ...]:
        """The parts without a compiled form."""
        return tuple(part for part in self.parts if not self._is_compiled(part))

    def _is_compiled(self, part: st.Expression) -> bool:
        return isinstance(compile_condition(part, self._sides), Compiled)

    @cached_property
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

    def mask(self, left: np.ndarray, right: np.ndarray, is_tested: bool = False) -> np.ndarray:
        """Which pairs of ranks pass: by the compiled condition as soon as there are many.

        Args:
            left: The left ranks.
            right: The right ranks.
            is_tested: Have they passed the compiled condition already?
        """
        if is_tested:
            return self._mask_by_arrow(self.others, left, right)
        self.tested[0] += left.size
        if self.tested[0] <= FEW or self.compiled is None:
            return self._mask_by_arrow(self.parts, left, right)
        holds = check_pairs(self.compiled, self._by_rank, left, right)
        if self.others:
            holds[holds] = self._mask_by_arrow(self.others, left[holds], right[holds])
        return holds

    def _mask_by_arrow(self, parts: Sequence[st.Expression], left: np.ndarray, right: np.ndarray) -> np.ndarray:
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


_SMALLEST_CHUNK, _LARGEST_CHUNK = 8, 20
#: Values that are looked at to tell how wide a band is, and the share of members in it that is narrow.
_SAMPLE, NARROW = 1_000, 0.05
#: How many events were looked at, and numbers of events and of members of pairs.
Listed: TypeAlias = tuple[int, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Search:
    """Pairs of the events of one side: all candidates, tested by Arrow.

    Attributes:
        candidates: What is searched.
        test: What is asked of pairs.
    """

    candidates: Candidates
    test: PairTest
    #: Does it list no more than pairs, or few others? And have these passed the compiled condition?
    lists_pairs: ClassVar[bool] = False
    has_tested: ClassVar[bool] = False

    def find(self, first: int, last: int, limit: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The left and the right ranks of the pairs of some events that look.

        Args:
            first: The number of the first event.
            last: Up to but without this one.
            limit: So many pairs are too many.

        Returns:
            None where they are too many.
        """
        done, event, member = self._list(first, last, limit)
        if done < last - first:
            return None
        own, other = self.candidates.probes[event], self.candidates.members[member]
        left, right = (own, other) if self.candidates.of_left else (other, own)
        if self.test.others if self.has_tested else self.test.parts:
            holds = self.test.mask(left, right, self.has_tested)
            left, right = left[holds], right[holds]
        return left, right

    def _list(self, first: int, last: int, limit: int) -> Listed:
        """What is tested; fewer events than are asked for where it is too much."""
        low, high = self.candidates.low[first:last], self.candidates.high[first:last]
        sizes = high - low
        event = np.repeat(np.arange(low.size), sizes)
        return last - first, event + first, np.arange(event.size) - (np.cumsum(sizes) - high)[event]


@dataclass(frozen=True)
class Scan(Search):
    """All candidates, tested by a compiled loop."""

    lists_pairs = has_tested = True

    @cached_property
    def _arrays(self) -> list[np.ndarray]:
        members = self.candidates.members
        in_order = members.size == 0 or (members[0] == 0 and bool((np.diff(members) == 1).all()))
        return self.test.arrays({} if in_order else {"right" if self.candidates.of_left else "left": members})

    def _list(self, first: int, last: int, limit: int) -> Listed:
        assert self.test.compiled is not None
        found = self.candidates
        # Events whose members lie together look at them in turn.
        order = first + np.argsort(found.low[first:last], kind="stable")
        loop = _load_scan(self.test.compiled, found.of_left)
        done, event, member = loop(found.low[order], found.high[order], found.probes[order], limit, *self._arrays)
        return done, order[event], member


@dataclass(frozen=True)
class BandSearch(Search):
    """Members sorted by value in chunks about as long as windows are, and a look into each of the two or three chunks
    that a window touches.

    Attributes:
        band: What the condition says of the values.
        own: The values of those that look, by number; NULL is not among them.
        others: The values of members, in their order, as `sort_into_chunks` takes them.
    """

    band: Band
    own: np.ndarray
    others: np.ndarray
    lists_pairs = True

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
        """Does the band leave few candidates? A scan tests many pairs in the time in which one candidate is handled."""
        return self.share <= NARROW

    @cached_property
    def bits(self) -> int:
        """A chunk has 2 ** so many members: about as many as half of the windows have."""
        widths = self.candidates.high - self.candidates.low
        typical = int(np.median(widths)) if widths.size else 1
        return min(max((typical - 1).bit_length(), _SMALLEST_CHUNK), _LARGEST_CHUNK)

    @cached_property
    def _chunks(self) -> Chunks:
        return sort_into_chunks(self.others, self.bits)

    def _list(self, first: int, last: int, limit: int) -> Listed:
        found = self.candidates
        bounds = self.band.around(self.own[first:last], found.of_left)
        given = (found.low[first:last], found.high[first:last], *bounds, self._chunks, self.bits)
        done, event, member = find_in_bands(*given, limit)
        return done, event + first, member
