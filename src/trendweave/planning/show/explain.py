"""Plan -> text that a user understands."""

from __future__ import annotations

from collections.abc import Iterable

from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import type_text
from trendweave.planning.chunks import choose_chunks
from trendweave.planning.plan import Kernel, MovingWindow, Plan, ShownAttribute, Template
from trendweave.planning.show import describe
from trendweave.planning.ways import finds_extrema, plan_pieces, steps_from_row_to_row, takes_directly

_LABEL = 13
_BY_WINDOW = "rows are copied into their windows: what is under NOT, or which reading counts, depends on the window"

_SAME_TIME = "events with the same timestamp never follow each other, unless order_by= names a column that orders them"


def explain_text(plan: Plan) -> str:
    """The whole plan as aligned text."""
    return "\n".join([*_query(plan), "", *explain_plan(plan)])


def explain_plan(plan: Plan, tasks: str | None = None) -> list[str]:
    """The plan line by line, without the query. `tasks` is what Spark does, where that is not what the plan alone
    would ask for."""
    lines = _overview(plan, tasks or describe.chunks_text(choose_chunks(plan), plan.window))
    for title, template in zip(_titles(plan), plan.templates, strict=True):
        lines += ["", *_template(title, template, plan)]
    for negated in plan.negations:
        lines += ["", *_template(f"negation: NOT {negated.text}", negated.template, plan)]
    return [*lines, "", *_columns(plan)]


def _titles(plan: Plan) -> tuple[str, ...]:
    return ("first pattern", "second pattern", "both patterns") if plan.is_conjunction else ("template",)


def _query(plan: Plan) -> list[str]:
    return ["query", *(f"  {line}" for line in plan.text.split("\n"))]


def _overview(plan: Plan, tasks: str) -> list[str]:
    unqualified = ", ".join(describe.key_text(key) for key in plan.partition_key)
    bound = ", ".join(describe.key_text(key) for key in plan.bound_keys)
    rows = [
        ("returns", _returns(plan)),
        ("window", describe.window_text(plan.window)),
        ("strategy", plan.strategy),
        *([("same time", _SAME_TIME)] if any(template.transitions for template in plan.templates) else []),
        *_detection(plan),
        *([("by window", _BY_WINDOW)] if plan.window_apart else []),
        *_kernels(plan),
        ("partitions", f"by {unqualified}" if unqualified else "none: all events are one partition"),
    ]
    if bound:
        rows.append(("bound keys", f"{bound}; each binds only events read as its variable"))
    rows += [("lanes", describe.anchor_text(condition)) for condition in plan.anchors]
    groups = ", ".join(describe.qualified(group.variable, group.path) for group in plan.groups)
    rows.append(("groups", f"by {groups}" if groups else "none: one row per window"))
    rows += _chosen_rows(plan)
    rows += [("on Spark", tasks), ("exchange", describe.COLUMNS_TEXT)]
    rows += [("rows come", describe.emission_text(plan)), ("on streams", describe.folding_text(plan))]
    for variable in plan.variables:
        for expression in variable.local:
            rows.append(("filter", describe.local_text(variable.name, expression)))
    return [f"{label:<{_LABEL}}{text}" for label, text in rows]


def _returns(plan: Plan) -> str:
    of = "complete trends" if plan.complete else "trends"
    if plan.returns in ("trends", "rows"):
        shown = ", ".join(_shown(attribute) for attribute in plan.shown)
        each = f"{of}, each as its events in order" if plan.returns == "trends" else f"one row per event of {of}"
        return each + (f" with {shown}" if shown else "")
    shown = ", ".join(describe.output_text(plan, name) for name in plan.shown_values)
    if plan.returns == "each":
        return f"one row per {'complete trend' if plan.complete else 'trend'}: {shown}"
    over = f", over {of} that are found one by one" if plan.finds_trends else ""
    return (shown or "groups that have a trend") + over


def _chosen_rows(plan: Plan) -> list[tuple[str, str]]:
    """Which rows are shown, and in which order."""
    rows = [("having", describe.computed_text(plan, condition)) for condition in plan.having]
    if plan.order_by:
        keys = ", ".join(
            describe.computed_text(plan, order.value) + (" descending" if order.descending else "")
            for order in plan.order_by
        )
        place = "window" if plan.returns == "aggregates" else "window and group"
        first = "" if plan.limit is None else f"; the first {plan.limit:,} rows of each {place} are kept"
        rows.append(("ordered by", f"{keys}, inside each window{first}"))
    return rows


def _shown(attribute: ShownAttribute) -> str:
    if attribute.variables is None:
        return describe.path_text(attribute.path)
    return ", ".join(describe.qualified(variable, attribute.path) for variable in attribute.variables)


def _detection(plan: Plan) -> list[tuple[str, str]]:
    """How trends are found, where that is done one by one."""
    if not plan.finds_trends:
        return []
    ways = {
        False: "paths through the graph of events and states",
        True: "paths through the reduced graph: a step only where no longer way leads there",
    }
    way = ways[plan.complete]
    if takes_directly(plan):
        way = f"only the one to take of each beginning, along {way}"
    if plan.complete and not plan.reduced_graph_is_exact:
        way = "paths through the graph, each step checked for a longer trend around it"
    if steps_from_row_to_row(plan):
        runs = "by their first events" if plan.selection is None else "only the one to take of each beginning"
        way = f"runs from row to row, {runs}; the graph where events of a partition share a time"
    rows = [("detection", way)]
    rows += [("matches", f"only those with {print_expression(condition)}") for condition in plan.match_conditions]
    if plan.selection is not None:
        rows.append(("taken", describe.selection_text(plan.selection)))
    if plan.selection is not None or plan.match_conditions:
        rows.append(("cost", describe.selection_cost(plan)))
    if plan.choice is not None and (plan.match_conditions or plan.selection is not None or not _is_countable(plan)):
        count = f"{plan.choice.count:,}"
        rows.append(
            (
                "chosen",
                {
                    "limit": f"the first {count} found",
                    "longest": f"the {count} longest, while trends are found",
                    "sample": f"{count} at random, while trends are found; seed {plan.choice.seed}",
                }[plan.choice.kind]
                + ", per window and group",
            )
        )
    elif plan.choice is not None:
        count = f"{plan.choice.count:,}"
        rows.append(
            (
                "chosen",
                {
                    "limit": f"the first {count} found",
                    "longest": f"the {count} longest, by longest ways to each event",
                    "sample": f"{count} drawn at random, all equally likely, by counts of ways to each event; "
                    f"seed {plan.choice.seed}",
                }[plan.choice.kind]
                + ", per window and group",
            )
        )
    return rows


def _is_countable(plan: Plan) -> bool:
    """Can trends be counted without being found?"""
    return not plan.complete or plan.reduced_graph_is_exact


#: What goes over the events of a list, unless its graph has too many edges.
_LINKS = "links: which events can follow which, transition by transition; paths are counted over the graph of them"


def _kernels(plan: Plan) -> list[tuple[str, str]]:
    """What goes over the events: for counts and sums, then for whatever is found apart from them."""
    served: dict[Kernel, list[str]] = {}
    for title, template in () if takes_directly(plan) else zip(_titles(plan), plan.templates, strict=True):
        pieces = plan_pieces(plan, template)
        every = sorted({variable for piece in pieces for variable in piece.bound})
        for piece in pieces:
            with_keys = (
                f"trends with {' and '.join(piece.bound)}" if piece.bound else f"trends without {', '.join(every)}"
            )
            whom = with_keys if not plan.is_conjunction else f"{title}: {with_keys}" if every else title
            served.setdefault(piece.kernel, []).append(whom)
    over_links = plan.finds_trends and not steps_from_row_to_row(plan)
    rows = [
        (
            "large graph" if over_links else "loop",
            kernel.value if len(served) == 1 else f"{kernel.value} ({', '.join(whom)})",
        )
        for kernel, whom in served.items()
    ]
    if over_links and served:
        rows.insert(0, ("loop", _LINKS))
    if finds_extrema(plan) and set(served) != {Kernel.PROPAGATE}:
        rows.append(("MIN and MAX", Kernel.PROPAGATE.value))
    if isinstance(plan.window, MovingWindow) and plan.window.by == "time":
        rows.append(("row times", "propagate: times at which a trend ends that began inside the window"))
    if plan.negations:
        rows.append(("negations", "propagate: the latest start of a match, per negated pattern"))
    return rows


def _template(title: str, template: Template, plan: Plan) -> list[str]:
    names = describe.state_names(template)
    starts = {start.state: describe.gap_text(start.guard, start.closed, plan) or "yes" for start in template.starts}
    ends = {end.state: describe.guard_text(end.guard, plan) or "yes" for end in template.ends}
    states = [("state", "type", "begins", "ends")]
    states += [
        (names[state.number], type_text(state.type), starts.get(state.number, "-"), ends.get(state.number, "-"))
        for state in template.states
    ]
    lines = [f"{title}: {_counted(len(template.states), 'state')}, {_counted(len(template.transitions), 'transition')}"]
    lines += _table(states)
    if template.transitions:
        steps = [("transition", "negation", "edge predicate", "sum method", "cost", "because")]
        for step in template.transitions:
            edge = plan.edge(template.states[step.source].variable, template.states[step.target].variable)
            guard = describe.gap_text(step.guard, step.closed, plan) or "-"
            predicate = describe.edge_text(edge) or "-"
            arrow = f"{names[step.source]} -> {names[step.target]}"
            cost = (*describe.way_text(step.summing), step.summing.reason)
            if takes_directly(plan) and title == "template":
                cost = describe.taking_cost(plan, edge)
            steps.append((arrow, guard, predicate, *cost))
        lines += ["", *_table(steps)]
    return lines


def _columns(plan: Plan) -> list[str]:
    rows = [
        (type_text(needed.type), ", ".join(describe.path_text(path) for path in needed.paths) or "(time and type only)")
        for needed in plan.needed_columns
    ]
    return ["columns read", *_table(rows)]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


#: A template of thousands of states is shown by its beginning.
_MAX_ROWS = 40


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    left_out = len(rows) - _MAX_ROWS
    rows = rows[:_MAX_ROWS]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [*lines, f"  ... and {left_out:,} more"] if left_out > 0 else lines
