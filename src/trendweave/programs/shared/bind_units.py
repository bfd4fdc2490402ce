"""Units of a sharing plan -> what computes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trendweave.programs.program import Program
from trendweave.programs.shared.alike import bind_alike
from trendweave.programs.shared.alone import AloneUnit
from trendweave.programs.shared.graphlets.unit import bind_graphlets
from trendweave.programs.shared.lanes import bind_lanes
from trendweave.programs.shared.unit import BoundUnit
from trendweave.programs.trends.program import TrendAggregates, TrendLists
from trendweave.sharing.constants import Alike
from trendweave.sharing.graphlets import Graphlets
from trendweave.sharing.lanes import Lanes
from trendweave.sharing.units import Alone, SharingPlan


def bind_units(plan: SharingPlan, programs: Sequence[Program], sharing: str) -> Iterator[BoundUnit]:
    """Bind each unit to the programs of its members.

    Args:
        plan: Units by numbers of members.
        programs: A program per member.
        sharing: "auto", "always" or "never".

    Yields:
        What computes the units, in their order.
    """
    for unit in plan.units:
        match unit:
            case Alone(member=member):
                yield AloneUnit(member, programs[member])
            case Alike(members=members):
                one = programs[members[0]]
                assert isinstance(one, TrendAggregates | TrendLists), "only plans of trends are alike"
                yield bind_alike(unit, one)
            case Lanes():
                yield bind_lanes(unit, programs)
            case Graphlets():
                yield bind_graphlets(unit, programs, sharing)
