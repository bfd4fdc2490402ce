"""AFTER MATCH SKIP, LONGEST and SHORTEST PER START -> which of the trends that are found are taken."""

from __future__ import annotations

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.syntax_tree import problem_at
from trendweave.planning.plan import MovingWindow, Plan, Selection
from trendweave.planning.variables import Variables


def plan_selection(query: st.QueryTree, variables: Variables, problems: list[Problem]) -> Selection | None:
    """Settle which trends are taken; None where all are."""
    after, start = query.after_match, query.per_start
    if after is None and start is None:
        return None
    span = query.span if after is None else after.span
    if query.strategy in (None, "skip-till-any-match"):
        clause = f"{str(start).upper()} PER START" if after is None else "AFTER MATCH SKIP"
        message = f"{clause} does not work with skip-till-any-match"
        hint = "add SEMANTICS skip-till-next-match or SEMANTICS contiguous, or choose some: LONGEST 10"
        problems.append(problem_at(span, "TW237", message, hint))
    if isinstance(query.pattern, st.Conjunction):
        message = "a conjunction counts pairs of trends; there are no matches to skip"
        problems.append(problem_at(span, "TW211", message, "query each side alone"))
    variable = None if after is None else after.variable
    if variable is not None and variable not in variables.types:
        problems.append(variables.unknown(variable, span))
    elif variable is not None and variable not in variables.positive:
        message = f"{variable} occurs only under NOT, so no trend contains it"
        problems.append(problem_at(span, "TW212", message, "skip to a variable that trends contain"))
    return Selection("next" if after is None else after.kind, variable, start == "shortest")


def check_matches(query: st.QueryTree, plan: Plan, problems: list[Problem]) -> None:
    """What can be asked of single trends only where they are found one by one."""
    if plan.returns == "aggregates" and plan.finds_trends and isinstance(plan.window, MovingWindow):
        what = "complete trends" if plan.complete else "trends that AFTER MATCH or PER START take"
        message = f"{what} cannot be aggregated with WITHIN alone: each has its own time"
        hint = "add SLIDE, or leave WITHIN out; RETURN EACH lists them one by one"
        span = query.returns.span if query.returns is not None else query.span
        problems.append(problem_at(span, "TW236", message, hint))
    overlap = plan.selection is not None and plan.selection.skip != "past last"
    if overlap and plan.returns == "rows" and isinstance(plan.window, MovingWindow):
        message = "matches are numbered per time, and those that overlap become final at different times"
        hint = "AFTER MATCH SKIP PAST LAST EVENT, add SLIDE, or RETURN TRENDS"
        span = query.returns.span if query.returns is not None else query.span
        problems.append(problem_at(span, "TW236", message, hint))
    if plan.match_conditions and not plan.finds_trends:
        message = "a condition on a whole match needs trends that are found one by one, and COUNT(*), SUM and "
        message += "so on count trends that are not"
        hint = "RETURN EACH lists the trends that meet it; RETURN COMPLETE COUNT(*) or AFTER MATCH SKIP aggregate them"
        problems.append(problem_at(_first_aggregate(query), "TW235", message, hint))


def _first_aggregate(query: st.QueryTree) -> st.Span | None:
    nodes = (node for condition in query.where for node in condition.walk())
    return next((node.span for node in nodes if isinstance(node, st.Aggregate)), query.span)
