"""Many templates as one automaton, as data: its states, and the parts of it that several queries have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import Path, SlidingWindow, WholeInput


@dataclass(frozen=True, slots=True)
class Reading:
    """What an event must be to be read: of a type (None: of any), and true in conditions on it alone."""

    type: str | None
    local: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedState:
    """A state of one query, or of a beginning that several queries have in common.

    Attributes:
        reading: What is read.
        window: The number of the kind of windows that it lives in.
        starts: Whether its events begin trends.
        queries: Who uses it, by numbers inside the unit.
    """

    reading: Reading
    window: int
    starts: bool
    queries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedStep:
    """A transition. Events of `blocker` between its two events forbid it."""

    source: int
    target: int
    blocker: Reading | None = None


@dataclass(frozen=True, slots=True)
class SharedPart:
    """States that are alike: they read the same type, and may follow themselves over the same NOTs. No transition joins
    two of them. A state that is like no other is a part of its own."""

    states: tuple[int, ...]


MeasureKind: TypeAlias = Literal["count", "known", "sum", "min", "max"]


@dataclass(frozen=True, slots=True)
class MergedMeasure:
    """What is measured over the events that certain states read: their number, those with a known value, a sum or an
    extremum of values."""

    kind: MeasureKind
    path: Path | None
    states: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedQueries:
    """The automaton of all queries of a unit.

    Attributes:
        windows: The kinds of windows.
        states: All states.
        steps: All transitions.
        places: Per query, the state that each state of its template has become.
        finals: Per query, the states in which its trends end.
        query_windows: Per query, the kind of its windows.
        parts: All states, put together where they are alike.
        measures: What is measured.
        reads: Per query and aggregate, the measures that it is made of; none for the number of trends.
    """

    windows: tuple[SlidingWindow | WholeInput, ...]
    states: tuple[MergedState, ...]
    steps: tuple[MergedStep, ...]
    places: tuple[tuple[int, ...], ...]
    finals: tuple[tuple[int, ...], ...]
    query_windows: tuple[int, ...]
    parts: tuple[SharedPart, ...] = ()
    measures: tuple[MergedMeasure, ...] = ()
    reads: tuple[tuple[tuple[int, ...], ...], ...] = ()

    @property
    def prefixes(self) -> tuple[int, ...]:
        """States that several queries use: common beginnings."""
        return tuple(number for number, state in enumerate(self.states) if len(state.queries) > 1)

    @property
    def common(self) -> tuple[SharedPart, ...]:
        """Parts that occur several times."""
        return tuple(part for part in self.parts if len(part.states) > 1)

    def queries_of(self, part: SharedPart) -> tuple[int, ...]:
        """Who uses a part."""
        return tuple(sorted({query for state in part.states for query in self.states[state].queries}))
