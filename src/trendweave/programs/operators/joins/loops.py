"""Loops over pairs that are written around a compiled condition, for Numba.

A condition is put into the text of a loop, so that both are compiled together: Numba could call a function that it is
given, but not build it into a loop that works on several pairs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from trendweave.expressions.compiled.condition import Compiled
from trendweave.expressions.compiled.loading import AROUND_CONDITION
from trendweave.kernel_cache.kernel import load_text

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


def _arguments(compiled: Compiled) -> list[tuple[str, str]]:
    """The names of arrays in the order of the condition's arguments, and their sides."""
    names = []
    for number, operand in enumerate(compiled.operands):
        names.append((f"a{number}", operand.side))
        if operand.nullable:
            names.append((f"a{number}_valid", operand.side))
    return names


@lru_cache(128)
def _load_scan(compiled: Compiled, of_left: bool) -> Any:
    looking = "left" if of_left else "right"
    names = _arguments(compiled)
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
    names = _arguments(compiled)
    values = [f"{name}[{'i' if side == 'left' else 'j'}]" for name, side in names]
    text = _CHECK.format(arguments=", ".join(name for name, _ in names), values=", ".join(values))
    return _load(text, "check", compiled)


def _load(text: str, name: str, compiled: Compiled) -> Any:
    return load_text(AROUND_CONDITION.format(condition=compiled.python, loop=text), name)
