"""Can a stream forget events, once the watermark has passed them? Where it can, a few numbers are kept instead.

Where nothing is asked of two neighbours, what events of a pane of time do to trends is a small matrix of numbers: the
trends that lead from each state before them to each state after them (A-Seq, prefix counters). Panes are as long as
windows have in common, so a window is some panes one after the other. Where neighbours are asked for equal values, all
events of a trend have the same ones, and there are numbers per value. An event that must not lie in a gap makes trends
that wait for the end of that gap nothing, as they are in a copy of their state.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import MovingWindow, Plan, SessionWindow, SlidingWindow, Way, WholeInput
from trendweave.planning.template import Blocking, count_states, find_blocking
from trendweave.planning.ways import windows_overlap

#: States of a template, at most: a matrix has as many numbers as their square, and a line as many as they are.
_MOST_STATES, _MOST_STATES_IN_A_LINE = 16, 256
#: Variables that a word of letters holds; a NOT at the beginning needs one more.
_MOST_VARIABLES = 63
#: Panes of a window, at most. With more, a pane has hardly more events than its matrix has numbers.
_MOST_PANES = 1024


@dataclass(frozen=True, slots=True)
class Folding:
    """How events of a stream are folded.

    Attributes:
        why_not: Why they are not, in a few words; None where they are.
        values: Row expressions that all events of a trend have in common, because every two neighbours do.
        blocking: Variables whose events block gaps; None where there is no NOT.
    """

    why_not: str | None
    values: tuple[Expression, ...] = ()
    blocking: Blocking | None = None


def plan_folding(plan: Plan) -> Folding:
    """Decide whether the events of a query are folded on streams.

    Args:
        plan: The plan.

    Returns:
        The decision.
    """
    why_not = _why_not(plan)
    if why_not is not None:
        return Folding(why_not)
    return Folding(None, _find_values(plan) or (), find_blocking(plan) if plan.negations else None)


def _why_not(plan: Plan) -> str | None:
    if isinstance(plan.window, WholeInput):
        return "one window over the whole input never closes"
    if plan.finds_trends:
        return "trends are found one by one"
    if isinstance(plan.window, SessionWindow):
        return "a session may still be joined with another"
    if isinstance(plan.window, MovingWindow):
        return "windows move with the events"
    if plan.strategy != "skip-till-any-match":
        return f"{plan.strategy} asks which events lie between"
    if plan.is_conjunction:
        return "trends of two patterns are paired"
    if plan.bound_keys:
        return "a key of one variable asks for events of all others"
    if plan.anchors:
        return "a condition asks for an earlier event of the trend"
    blocking = find_blocking(plan)
    if blocking.why_not is not None:
        return blocking.why_not
    if _find_values(plan) is None:
        return "an edge predicate needs earlier events"
    if any(column.distinct for column in plan.aggregates):
        return "DISTINCT asks for all values"
    if any(column.is_spread for column in plan.aggregates):
        return "STDDEV and VARIANCE ask for all values"
    if plan.negations and _find_values(plan):
        return "NOT asks for events of every value"
    return _too_many(plan, blocking)


def _find_values(plan: Plan) -> tuple[Expression, ...] | None:
    """What all events of a trend have in common, where this is all that is asked of neighbours: the same equalities
    between each two of them, each of an expression with itself. None where something else is asked."""
    ways = {step.summing.way for step in plan.template.transitions}
    if ways <= {Way.RUNNING_SUMS, Way.QUEUED_SUMS}:
        return ()
    if ways != {Way.SUMS_PER_VALUE}:
        return None
    asked = {frozenset(plan.edge(*pair).comparisons) for pair in plan.template.neighbours()}
    if len(asked) != 1:
        return None
    (comparisons,) = asked
    if any(one.operator != "=" or one.previous != one.next for one in comparisons):
        return None
    return tuple(sorted((one.previous for one in comparisons), key=repr))


def _too_many(plan: Plan, blocking: Blocking) -> str | None:
    most = _MOST_STATES if windows_overlap(plan.window) or blocking.leads else _MOST_STATES_IN_A_LINE
    states = count_states(plan, blocking)
    if blocking.leads and len(plan.variables) > _MOST_VARIABLES:
        return f"the pattern has {len(plan.variables):,} variables, and at most {_MOST_VARIABLES} are worth it"
    if states > most:
        return f"the template has {states:,} states, and at most {most} are worth it"
    panes = plan.window.length // pane_length(plan.window) if isinstance(plan.window, SlidingWindow) else 1
    if panes > _MOST_PANES:
        return f"a window has {panes:,} panes, and at most {_MOST_PANES:,} are worth it"
    return None


def pane_length(window: SlidingWindow) -> int:
    """The length of a pane in nanoseconds: what windows and their distances are whole numbers of."""
    return gcd(window.length, window.slide)
