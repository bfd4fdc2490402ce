"""The plan of an interval query: everything a runner needs to know, apart from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trendweave.language.interval_tree import IntervalColumns
from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import Path

Returns: TypeAlias = Literal["matches", "situations", "counts"]
#: Situations of one query; conditions are kept as the bits of one word.
MAX_SITUATIONS = 60


@dataclass(frozen=True, slots=True)
class SituationPlan:
    """`low` and `high` bound the length in nanoseconds. `looks_back` says that the condition uses PREV."""

    name: str
    condition: Expression | None
    low: int | None
    high: int | None
    looks_back: bool


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Situation `left` (the smaller number) is one of `mask` to situation `right`, as the query says."""

    left: int
    right: int
    mask: int


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the result: a partition attribute (no function, no situation), or what is told of one situation.

    COUNT(A) and DURATION(A) have no path; COUNT(*) has no situation either.
    """

    name: str
    function: str | None
    situation: int | None = None
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """The plan of an interval query.

    `allowed[i][j]` are the relations between situations i and j that are consistent with all others (path consistency).
    `groups` are the situations that constraints connect. If there are several groups, every combination of their
    matches is a match. Lengths are in nanoseconds.
    """

    text: str
    source: str | None
    intervals: IntervalColumns | None
    partition_by: tuple[Path, ...]
    situations: tuple[SituationPlan, ...]
    pairs: tuple[PairPlan, ...]
    allowed: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    within: int | None
    every: int | None
    at_end: bool
    returns: Returns
    outputs: tuple[OutputColumn, ...]
    needed_columns: tuple[Path, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(situation.name for situation in self.situations)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of partition attributes in a table of situations."""
        return tuple("_".join(path) for path in self.partition_by)

    @property
    def looks_back(self) -> bool:
        return any(situation.looks_back for situation in self.situations)

    def _repr_html_(self) -> str:
        from trendweave.planning.show.cards import make_plan_card

        return make_plan_card(self, "Plan").html()
