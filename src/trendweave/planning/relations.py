"""Allen's thirteen relations: names, inverses, composition, and path consistency of a network of constraints.

A set of relations is a mask of 13 bits. The order of the bits is the order in which relations appear while one interval
moves over another from left to right, so that the inverse of relation i is 12 - i and relations that cannot be told
apart while both intervals still run (the prefix groups of the thesis, Table 5.2) are neighbours.

Finishes and finished-by are Allen's; Table 5.1 of the thesis exchanges the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from trendweave.language.interval_tree import RELATIONS

NUMBER: dict[str, int] = {name: number for number, name in enumerate(RELATIONS)}
ANY: int = (1 << len(RELATIONS)) - 1
#: Both intervals run, and one began earlier, both at once, or the other earlier: what can still become of them.
PREFIX_GROUPS: tuple[int, ...] = (0b0000000011100, 0b0000011100000, 0b0011100000000)


def mask_of(names: Iterable[str]) -> int:
    mask = 0
    for name in names:
        mask |= 1 << NUMBER[name]
    return mask


def names_of(mask: int) -> tuple[str, ...]:
    return tuple(name for number, name in enumerate(RELATIONS) if mask >> number & 1)


def inverse(mask: int) -> int:
    """What B is to A when A is one of these to B."""
    turned = 0
    for number in range(len(RELATIONS)):
        if mask >> number & 1:
            turned |= 1 << (len(RELATIONS) - 1 - number)
    return turned


def relation_between(a_start: int, a_end: int, b_start: int, b_end: int) -> int:
    """The number of the one relation that holds between two intervals."""
    if a_end <= b_start:
        return 0 if a_end < b_start else 1
    if b_end <= a_start:
        return 12 if b_end < a_start else 11
    ends = (a_end > b_end) - (a_end < b_end)
    if a_start < b_start:
        return 3 + ends
    return (6 if a_start == b_start else 9) + ends


@cache
def _compositions() -> tuple[tuple[int, ...], ...]:
    """Allen's composition table, found by trying all orders of the six ends of three intervals."""
    intervals = [(start, end) for start in range(6) for end in range(start + 1, 6)]
    table = [[0] * len(RELATIONS) for _ in RELATIONS]
    for a in intervals:
        for b in intervals:
            first = relation_between(*a, *b)
            for c in intervals:
                table[first][relation_between(*b, *c)] |= 1 << relation_between(*a, *c)
    return tuple(map(tuple, table))


def compose(first: int, second: int) -> int:
    """What A can be to C when A is one of `first` to B and B is one of `second` to C."""
    table = _compositions()
    mask = 0
    for i in range(len(RELATIONS)):
        if first >> i & 1:
            for j in range(len(RELATIONS)):
                if second >> j & 1:
                    mask |= table[i][j]
    return mask


class Contradiction(Exception):
    """No relation is left between two names, because of what a third one demands."""

    def __init__(self, left: int, through: int, right: int, allowed: int, asked: int) -> None:
        super().__init__(left, through, right)
        self.left, self.through, self.right, self.allowed, self.asked = left, through, right, allowed, asked


def make_path_consistent(masks: list[list[int]]) -> list[list[int]]:
    """The network with every relation removed that no third name allows. Raises Contradiction where none is left."""
    count = len(masks)
    closed = [list(row) for row in masks]
    waiting = [(i, j) for i in range(count) for j in range(count) if i != j]
    while waiting:
        i, j = waiting.pop()
        for k in range(count):
            if k in (i, j):
                continue
            for left, through, right in ((i, j, k), (k, i, j)):
                allowed = compose(closed[left][through], closed[through][right])
                kept = closed[left][right] & allowed
                if kept == closed[left][right]:
                    continue
                if not kept:
                    raise Contradiction(left, through, right, allowed, closed[left][right])
                closed[left][right] = kept
                closed[right][left] = inverse(kept)
                waiting.append((left, right))
    return closed
