"""WITHIN, SLIDE, AFTER MATCH SKIP and PER START -> the window of a plan, and which of the trends that are found are
taken.
"""

from __future__ import annotations

from dataclasses import replace

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.syntax_tree import problem_at
from trendweave.planning import plan as p
from trendweave.planning.matches.certainty import covered_by_longer
from trendweave.planning.plan import MovingWindow, Plan, Selection
from trendweave.planning.variables import Variables


def plan_window(query: st.QueryTree, problems: list[Problem]) -> p.Window:
    """The window as the clauses say it."""
    if query.within is None:
        if query.slide is not None:
            hint = "add WITHIN with the length of the window"
            problems.append(problem_at(query.slide.span, "TW221", "SLIDE needs WITHIN", hint))
        return p.WholeInput()
    length = query.within.nanoseconds or 1
    if query.session:
        if query.slide is not None:
            message = "a session begins and ends with its events, so it does not slide"
            problems.append(problem_at(query.slide.span, "TW233", message, "leave SLIDE out, or SESSION"))
        return p.SessionWindow(length)
    if query.slide is None:
        return p.MovingWindow(length)
    slide = query.slide.nanoseconds or 1
    if slide > length and query.within.nanoseconds is not None:
        message = "SLIDE is larger than WITHIN, so events between windows would be lost"
        hint = "make SLIDE at most as long as WITHIN; equal lengths give tumbling windows"
        problems.append(problem_at(query.slide.span, "TW220", message, hint))
    return p.SlidingWindow(length, slide)


def settle_window(
    query: st.QueryTree, window: p.Window, templates: tuple[p.Template, ...], problems: list[Problem]
) -> p.Window:
    """The window with what its trends ask for: of lists under WITHIN alone, each trend has one.

    It stands at the trend's last event, where all that matters has happened. A trailing NOT looks ahead to the end of
    the window, which only the first event tells.
    """
    if not isinstance(window, p.MovingWindow):
        return window
    trailing = any(not end.guard.always_open for template in templates for end in template.ends)
    leading = any(not start.guard.always_open for template in templates for start in template.starts)
    if query.return_kind == "aggregates":
        if trailing:
            message = "at the moment a trend ends nothing can have followed it yet, so NOT at its end has no effect"
            hint = "add SLIDE: the NOT then holds up to the end of each window; or return EACH, TRENDS or ROWS"
            problems.append(problem_at(query.pattern.span, "TW230", message, hint))
        return window
    if trailing or query.after_match is not None or query.per_start is not None:
        return replace(window, by="first", wide=leading or query.complete)
    strategy = query.strategy or "skip-till-any-match"
    # A longer trend that holds it and ends with the same event lies in the same window.
    longer = query.complete and any(covered_by_longer(template, strategy) for template in templates)
    # Trends are then certain in the order of their beginnings, but chosen among those of one end.
    by_first = longer and not leading and query.choice is None
    return replace(window, by="first" if by_first else "last", wide=longer)


def check_listing(query: st.QueryTree, plan: p.Plan, problems: list[Problem]) -> None:
    """What lists under WITHIN alone cannot tell."""
    window = plan.window
    if isinstance(window, p.SessionWindow) and plan.limit is not None:
        hidden = [".".join(key.path) for key in plan.partition_key if key.path not in plan.grouping_keys]
        if hidden:
            message = (
                f"ORDER BY and LIMIT choose among the rows of a session, which do not contain its {', '.join(hidden)}"
            )
            hint = f"add {', '.join(hidden)} to GROUP-BY, or leave LIMIT out"
            problems.append(problem_at(query.span, "TW234", message, hint))
    if not isinstance(window, p.MovingWindow) or window.by != "first":
        return
    ends, starts = plan.template.ends, plan.template.starts
    leading = any(not start.guard.always_open for start in starts)
    if plan.complete and leading and not plan.has_alike_edges:
        message = "if only some trends begin or end with NOT, it is not known whether a trend is complete"
        hint = "let all alternatives begin and end with the same NOTs, add SLIDE, or return TRENDS"
        problems.append(problem_at(query.pattern.span, "TW231", message, hint))
    if (plan.choice is not None or plan.limit is not None) and any(end.guard.always_open for end in ends):
        kind = "LIMIT" if plan.choice is None else plan.choice.kind.upper()
        message = f"{kind} chooses among the trends of one time, and these become final at different times"
        hint = f"let all trends end with NOT, add SLIDE, or leave {kind} out"
        span = query.choice.span if query.choice is not None else query.span
        problems.append(problem_at(span, "TW232", message, hint))


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
