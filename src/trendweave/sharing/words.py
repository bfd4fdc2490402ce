"""Words for the units of a sharing plan."""

from __future__ import annotations

from trendweave.language.printer import print_expression
from trendweave.sharing.constants import Alike, Compared
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.lanes import Lanes
from trendweave.sharing.merged_words import describe_merged
from trendweave.sharing.units import Alone, Unit

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


def describe_unit(unit: Unit) -> list[tuple[str, str]]:
    """What is shared in a unit, or why nothing is: labels and texts."""
    match unit:
        case Alone():
            return [("because", unit.reason)]
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
        case Graphlets(merged=merged):
            return list(describe_merged(merged))


def _compared_text(compared: Compared, unit: Alike) -> str:
    """The comparison with a gap, and the variable that it is about."""
    variable = unit.plan.variables[compared.variable].name
    test = "IN (...)" if compared.test == "in" else f"{compared.test} ..."
    return f"{print_expression(compared.value)} {test} of {variable}"
