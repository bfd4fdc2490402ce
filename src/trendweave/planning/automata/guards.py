"""Sets of negations as alternatives: the algebra that carries NOTs through the construction of a template.

A NOT reads no event. It is an empty word that may only be used if the gap it stands in is clean, so every empty way
through a pattern, and with it every step between two positions, has the negations met on the way. Several ways
between two positions are alternatives.
"""

from __future__ import annotations

from typing import TypeAlias

from trendweave.planning.plan import Guard

#: Each inner set is one way; all its negations must be clean. No set contains another one.
Ways: TypeAlias = frozenset[frozenset[int]]

NO_WAY: Ways = frozenset()
FREE_WAY: Ways = frozenset({frozenset()})


def unless(negation: int) -> Ways:
    return frozenset({frozenset({negation})})


def either(one: Ways, other: Ways) -> Ways:
    """One way or the other; ways that ask for more than another one are dropped."""
    if one == other or not other:
        return one
    if not one:
        return other
    return _without_needless(one | other)


def both(one: Ways, other: Ways) -> Ways:
    """One after the other, inside the same gap."""
    if one == FREE_WAY or other == NO_WAY:
        return other
    if other == FREE_WAY or one == NO_WAY:
        return one
    return _without_needless(frozenset(first | second for first in one for second in other))


def no_stricter(one: Ways, other: Ways) -> bool:
    """Is `one` open whenever `other` is?"""
    return all(any(way <= asked for way in one) for asked in other)


def as_guard(ways: Ways) -> Guard:
    return Guard(tuple(sorted(tuple(sorted(way)) for way in ways)))


def _without_needless(ways: Ways) -> Ways:
    return frozenset(way for way in ways if not any(other < way for other in ways))
