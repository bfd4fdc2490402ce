"""Patterns that queries of a workload have in part: a Kleene part, with something before and after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.reference.pattern import Event, Not, Pattern, Seq, bounds, either, leaves, option, plus, seq, star

Leaf = Callable[[str], Event]
#: An event of any type.
ANYTHING = Event(None, "x")

#: Kleene parts of one to three types, nested ones, and one without a Kleene plus.
CORES: tuple[Callable[[Leaf], Pattern], ...] = (
    lambda e: plus(e("B")),
    lambda e: plus(e("B")),
    lambda e: plus(seq(e("B"), e("C"))),
    lambda e: plus(seq(e("B"), e("C"), e("D"))),
    lambda e: plus(seq(plus(e("B")), e("C"))),
    lambda e: plus(either(e("B"), e("C"))),
    lambda e: plus(seq(e("B"), option(e("C")))),
    lambda e: plus(seq(e("B"), Not(Event("N")), e("C"))),
    lambda e: bounds(e("B"), 2, 3),
    lambda e: seq(e("B"), e("C")),
    lambda e: seq(plus(e("B")), plus(e("C"))),
    lambda e: plus(either(e("B"), ANYTHING)),
    lambda e: plus(ANYTHING),
)
BEFORE: tuple[Callable[[Leaf], tuple[Pattern, ...]], ...] = (
    lambda e: (e("A"),),
    lambda e: (e("E"),),
    lambda e: (),
    lambda e: (e("A"), e("E")),
    lambda e: (plus(e("A")),),
    lambda e: (e("A"), Not(Event("N"))),
    lambda e: (Not(Event("N")), e("A")),
    lambda e: (option(e("A")),),
    lambda e: (e("A"), star(e("E"))),
    lambda e: (e("A"), Event(None, "first")),
)
AFTER: tuple[Callable[[Leaf], tuple[Pattern, ...]], ...] = (
    lambda e: (),
    lambda e: (e("D"),),
    lambda e: (e("F"),),
    lambda e: (e("D"), e("F")),
    lambda e: (Not(Event("N")), e("D")),
    lambda e: (plus(e("D")),),
    lambda e: (option(e("F")),),
    lambda e: (Not(Event("M", "m")),),
    lambda e: (Not(Event(None, "none")), e("D")),
)


@dataclass(frozen=True)
class Parts:
    """What queries of a workload have alike or not, as numbers of the lists above."""

    before: int = 0
    core: int = 0
    after: int = 0
    other_names: bool = False

    def leaf(self, kind: str) -> Event:
        return Event(kind, kind.lower() * 2 if self.other_names else kind.lower())

    def pattern(self) -> Pattern:
        core = CORES[self.core](self.leaf)
        around = (*BEFORE[self.before](self.leaf), core, *AFTER[self.after](self.leaf))
        return core if len(around) == 1 else Seq(around)


def _index(things: tuple) -> SearchStrategy[int]:
    return st.integers(0, len(things) - 1)


def rarely(draw: DrawFn, one_in: int) -> bool:
    return draw(st.integers(0, one_in - 1)) == one_in - 1


@st.composite
def parts(draw: DrawFn, base: Parts | None = None, negation: bool = True) -> Parts:
    """Those of a first query, or those of one that comes from it."""
    if base is None:
        drawn = Parts(draw(_index(BEFORE)), draw(_index(CORES)), draw(_index(AFTER)))
    else:
        drawn = Parts(
            before=draw(_index(BEFORE)) if draw(st.booleans()) else base.before,
            core=draw(_index(CORES)) if rarely(draw, 6) else base.core,
            after=draw(_index(AFTER)) if draw(st.booleans()) else base.after,
            other_names=rarely(draw, 8),
        )
    if not negation and any(under_not for _, under_not in leaves(drawn.pattern())):
        return replace(drawn, before=min(drawn.before, 4), core=min(drawn.core, 6), after=min(drawn.after, 3))
    return drawn
