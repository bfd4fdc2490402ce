"""Words for the units of a sharing plan."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.language.printer import print_expression
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.sharing.constants import Alike, Compared
from trendweave.sharing.lanes import Lanes
from trendweave.sharing.units import Alone, SharingPlan, Unit

_TITLES = {
    "alone": "alone",
    "alike": "alike but for constants",
    "graphlets": "one merged template",
    "lanes": "one lane per query",
}


def title_of(unit: Unit) -> str:
    """How a unit computes its queries, in a few words."""
    count = len(unit.members)
    return _TITLES.get(unit.kind, unit.kind) + (f", {count:,} different queries" if count > 1 else "")


def describe_unit(unit: Unit, plan: SharingPlan, names: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """What is shared in a unit, or why nothing is: labels and texts.

    Args:
        unit: A unit of the plan.
        plan: The sharing plan.
        names: Per member, the names of its queries.
    """
    match unit:
        case Alone(member=member, reason=reason):
            return [("because", reason or _why_alone(plan.plans[member]))]
        case Lanes(lanes=lanes, shared=shared):
            steps = [("search", text) for text in shared or ("events that can follow each other",)]
            return [*steps, ("lanes", f"{len(lanes):,}: a number per lane and window is added in one go")]
        case Alike(compared=compared):
            return [
                ("differ in", ", ".join(_compared_text(one, unit) for one in compared)),
                (
                    "looked up",
                    "each event among the constants of all queries; it costs what the queries do that want it",
                ),
            ]


def _compared_text(compared: Compared, unit: Alike) -> str:
    """The comparison with a gap, and the variable that it is about."""
    variable = unit.plan.variables[compared.variable].name
    test = "IN (...)" if compared.test == "in" else f"{compared.test} ..."
    return f"{print_expression(compared.value)} {test} of {variable}"


def _why_alone(plan: QueryPlan) -> str:
    """Why a query shares no computation, seen from its plan."""
    if isinstance(plan, IntervalPlan):
        return "it looks for situations; rows and their expressions are shared"
    if isinstance(plan, SituatedPlan):
        return "its trends lie in situations; rows and their expressions are shared"
    if plan.finds_trends:
        return "its trends are found one by one; rows and their expressions are shared"
    return "no other query has a part of its pattern under the same conditions; rows and their expressions are shared"
