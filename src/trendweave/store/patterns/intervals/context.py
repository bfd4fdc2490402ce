"""What has to be read around a trend so that it means what it means in a full run.

A trend that lies in a stretch without gaps has all events between its own beside it, so that strategies and NOTs inside
it see what they see in a full run. A NOT at its edge looks as far as its window does; and where trends of one window
are chosen among, or taken in pairs, the whole window must be there.
"""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.language import syntax_tree as st
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import NEVER, Plan, SessionWindow, SlidingWindow
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.store.patterns.intervals.reach import Reach
from trendweave.store.patterns.intervals.stretches import Stretches


@dataclass(frozen=True, slots=True)
class Context:
    """Whether stretches reach back, and ahead, to the edges of windows; and whether what lies in different stretches
    must be kept apart."""

    back: bool
    ahead: bool
    apart: bool

    @staticmethod
    def of(plan: Plan) -> Context:
        """What a plan asks for."""
        starts = [start for template in plan.templates for start in template.starts]
        ends = [end for template in plan.templates for end in template.ends]
        leading = any(not start.guard.always_open or start.closed != NEVER for start in starts)
        trailing = any(not end.guard.always_open for end in ends)
        whole = (
            plan.is_conjunction
            or plan.window_apart
            or isinstance(plan.window, SessionWindow)
            or plan.choice is not None
            or (plan.selection is not None and isinstance(plan.window, SlidingWindow))
        )
        apart = bool(plan.negations) or plan.strategy != "skip-till-any-match"
        return Context(leading or whole, trailing or whole, apart)

    def widen(self, stretches: Stretches, reach: Reach) -> Stretches:
        """The stretches with what lies around them."""
        lows = reach.earliest_begin(stretches.lows) if self.back else stretches.lows
        highs = reach.latest_end(stretches.highs) if self.ahead else stretches.highs
        return Stretches.of(lows, highs)


def count_comparisons(plan: QueryPlan) -> int:
    """How many values of each event a query compares with others, for estimates."""
    if isinstance(plan, SituatedPlan):
        return count_comparisons(plan.trend)
    if isinstance(plan, IntervalPlan):
        return len(plan.situations)
    local = [condition for variable in plan.variables for condition in variable.local]
    compared = (st.Comparison, st.Between, st.InList, st.Like, st.RLike, st.IsNull)
    return len(plan.variables) + sum(isinstance(node, compared) for one in local for node in one.walk())


def why_everything(plan: QueryPlan) -> str | None:
    """Why all events have to be read; None where some may do."""
    if isinstance(plan, SituatedPlan):
        return "a situation that began long ago may still hold, so all events are read"
    if isinstance(plan, IntervalPlan):
        return "situations beside other queries are runs of events of any length, so all events are read"
    if plan.choice is not None and plan.choice.kind == "sample":
        return "a sample is drawn from all trends in their order, so all events are read"
    return None
