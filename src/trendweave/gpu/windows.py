"""Sums, counts and extremes over stretches of rows on a card.

Sums are differences of running totals in whole numbers, also of floats: totals that round would leave traces of
what is outside of a stretch. Extremes are those of two overlapping stretches of 2**k rows, which are doubled until the
longest stretch is covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trendweave.gpu.card import Card
from trendweave.gpu.sources import cuda_text

_THREADS = 256
_BLOCK_ROWS = _THREADS * 8
#: What the exponent 0 of a float would stand for, as a power of two.
_UNIT = -1075
#: Below this, sums leave the normal floats, and are not rounded here.
_LEAST_UNIT = -900
_EMPTY_BITS = (4096, 0, 0)


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of rows, from `low[i]` up to `high[i]`; without arrays, `length` rows from `first + i * slide` on.

    Attributes:
        count: How many there are.
        longest: How many rows the longest has.
        low: On the card.
        high: The same.
        first: The first row of the first one.
        slide: Where there are no arrays.
        length: The same.
    """

    count: int
    longest: int
    low: Any | None = None
    high: Any | None = None
    first: int = 0
    slide: int = 1
    length: int = 0

    def lengths(self, card: Card) -> Any:
        """How many rows each has, on the card."""
        if self.low is None or self.high is None:
            return card.xp.full(self.count, self.length, np.int64)
        return self.high - self.low

    def ends(self, card: Card) -> tuple[Any, Any]:
        """The first row of each, and the row behind its last, on the card."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        low = card.xp.arange(self.count) * self.slide + self.first
        return low, low + self.length

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels take."""
        return self.low, self.high, self.first, self.slide, self.length, self.count


def put_stretches(card: Card, low: np.ndarray, high: np.ndarray) -> Stretches:
    """Stretches of this process."""
    longest = int((high - low).max(initial=0))
    return Stretches(low.size, longest, card.put(low.astype(np.int64)), card.put(high.astype(np.int64)))


def count_stretches(rows: int, length: int, slide: int) -> Stretches:
    """All full windows of `length` among so many rows."""
    count = max((rows - length) // slide + 1, 0)
    return Stretches(count, length, slide=slide, length=length)


def sum_whole(card: Card, values: Any, valid: Any | None, stretches: Stretches) -> Any:
    """Exact sums of int64 values: int64[sums, 2] on the card, the lower word first."""
    found = card.xp.empty((stretches.count, 2), np.int64)
    width = _whole_width(card, values, stretches)
    totals = _totals(card, f"whole_{width}", values, valid)
    _take(card, f"words_{width}", totals, stretches, found)
    return found


def sum_floats(card: Card, values: Any, valid: Any | None, stretches: Stretches) -> Any | None:
    """Sums of floats of 32 or 64 bits, rounded once, on the card; infinities and NaN add up as such. None where values
    are too far apart for two words."""
    kind = "float" if values.dtype == np.float32 else "double"
    lowest, above, infinite = _used_bits(card, kind, values, valid)
    bits = max(above - lowest, 0) + stretches.longest.bit_length() + 1
    lowest = min(lowest, 2046)
    unit = lowest + _UNIT
    if bits > 127 or unit < _LEAST_UNIT:
        return None
    width = "wide" if bits > 63 else "narrow"
    totals = _totals(card, f"{kind}_{width}", values, valid, lowest)
    found = card.xp.empty(stretches.count, np.float64)
    _take(card, f"round_{width}", totals, stretches, np.int32(unit), found)
    return add_infinities(card, values, valid, stretches, found) if infinite else found


def count_flags(card: Card, flags: Any, stretches: Stretches) -> Any:
    """How many bytes of each stretch are 1."""
    found = card.xp.empty(stretches.count, np.int64)
    _take(card, "take_narrow", _totals(card, "flags_narrow", flags, None), stretches, found)
    return found


def extremes(card: Card, codes: Any, stretches: Stretches, largest: bool) -> Any:
    """The smallest or the largest of int64 values in each stretch; 0 where a stretch has no row."""
    xp = card.xp
    found = xp.zeros(stretches.count, np.int64)
    if not stretches.count:
        return found
    pick = xp.maximum if largest else xp.minimum
    standing, spare = codes, None
    shortest = int(stretches.lengths(card).min())
    for level in range(stretches.longest.bit_length()):
        if level:
            reach = 1 << (level - 1)
            room = len(standing) - reach
            target = xp.empty(room, np.int64) if spare is None else spare[:room]
            pick(standing[:-reach], standing[reach:], out=target)
            standing, spare = target, (None if level == 1 else standing)
        if shortest < 2 << level:
            arguments = (standing, np.int32(level), np.int32(largest), *stretches.arguments, found)
            _launch(card, "pick_extremes", stretches.count, arguments)
    return found


def ordered_codes(card: Card, values: Any) -> Any:
    """Floats as int64 numbers of the same order, as `kernels.numbering.ordered_bits` makes them."""
    xp = card.xp
    wide = values.astype(np.float64)
    bits = xp.where(xp.isnan(wide), np.nan, wide + 0.0).view(np.int64)
    return xp.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def add_infinities(card: Card, values: Any, valid: Any | None, stretches: Stretches, found: Any) -> Any:
    """Sums or means of finite floats, with what is not finite added: infinity, or NaN."""
    xp = card.xp

    def held(flags: Any) -> Any:
        flags = flags if valid is None else flags & (valid != 0)
        return count_flags(card, flags.astype(np.uint8), stretches) > 0

    above, below, neither = held(values == np.inf), held(values == -np.inf), held(xp.isnan(values))
    found = xp.where(above, np.inf, xp.where(below, -np.inf, found))
    return xp.where((above & below) | neither, np.nan, found)


def _whole_width(card: Card, values: Any, stretches: Stretches) -> str:
    if not len(values) or not stretches.longest:
        return "narrow"
    largest = max(-int(values.min()), int(values.max()), 1)
    return "narrow" if largest * stretches.longest < 2**63 else "wide"


def _used_bits(card: Card, kind: str, values: Any, valid: Any | None) -> tuple[int, int, int]:
    found = card.put(np.array(_EMPTY_BITS, np.int32))
    blocks = min(-(-len(values) // _BLOCK_ROWS), 2048)
    card.launch(cuda_text("windows"), f"find_bits_{kind}", blocks, _THREADS, (values, valid, len(values), found))
    lowest, above, infinite = card.get(found).tolist()
    return lowest, above, infinite


def _totals(card: Card, name: str, values: Any, valid: Any | None, lowest: int = 0) -> Any:
    """Running totals: one more than there are values, words of 64 or of 128 bits."""
    text, count = cuda_text("windows"), len(values)
    width = 2 if name.endswith("wide") else 1
    blocks = -(-count // _BLOCK_ROWS)
    sums = card.xp.empty((blocks, width), np.int64)
    totals = card.xp.empty((count + 1, width), np.int64)
    if not count:
        totals[:] = 0
        return totals
    read = (values, valid, count, np.int32(lowest), sums)
    card.launch(text, f"sum_{name}", blocks, _THREADS, read)
    card.launch(
        text, "sum_sums_wide" if width == 2 else "sum_sums_narrow", 1, 1024 if blocks > 64 else 64, (sums, blocks)
    )
    card.launch(text, f"total_{name}", blocks, _THREADS, (*read, totals))
    return totals


def _take(card: Card, kernel: str, totals: Any, stretches: Stretches, *further: Any) -> None:
    _launch(card, kernel, stretches.count, (totals, *stretches.arguments, *further))


def _launch(card: Card, kernel: str, count: int, arguments: tuple[Any, ...]) -> None:
    card.launch(cuda_text("windows"), kernel, -(-count // _THREADS), _THREADS, arguments)
