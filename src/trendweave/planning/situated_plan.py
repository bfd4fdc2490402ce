"""The plan of a trend query whose events lie in situations, and what all plans have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class SituatedPlan:
    """The plan of a trend query with situations (`S DURING X`).

    `situations` are found first, per partition of the trend; then each event has a boolean column per situation.
    `columns` are the names of these columns, in the order of the situations; `trend` reads them like any others.
    """

    text: str
    trend: Plan
    situations: IntervalPlan
    columns: tuple[str, ...]

    def _repr_html_(self) -> str:
        from trendweave.planning.show.cards import make_plan_card

        return make_plan_card(self, "Plan").html()


#: The plan of a query, whatever its kind; the class tells the kind.
QueryPlan: TypeAlias = Plan | IntervalPlan | SituatedPlan
