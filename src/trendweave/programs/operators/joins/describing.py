"""What a join does, in plain words."""

from __future__ import annotations

import pyarrow as pa

from trendweave.expressions.compiled.condition import NotCompiled, compile_condition
from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.language.printer import print_expression
from trendweave.planning.operator_plans import JoinPlan, RowCount, Window
from trendweave.programs.operators.joins.conjuncts import JoinCondition
from trendweave.programs.operators.joins.sides import Sides


def describe_join(plan: JoinPlan, condition: JoinCondition, sides: Sides, events: pa.Schema) -> list[str]:
    """Lines about windows, how pairs are found, and what is kept on a stream."""
    per_key = f" of each {', '.join(plan.keys)}" if plan.keys else ""
    lines = [
        f"a left event meets {_window(plan.right)}{per_key} on the right",
        f"a right event meets {_window(plan.left)}{per_key} on the left",
    ]
    if sides.marked_by is None:
        lines.append("self-join: every event is on both sides")
    if condition.equal:
        shown = " and ".join(f"{print_expression(one)} = {print_expression(other)}" for one, other in condition.equal)
        lines.append(f"partners are looked up by {shown}")
    for side, parts in (("left", condition.left), ("right", condition.right)):
        if parts:
            shown = " AND ".join(map(print_expression, parts))
            lines.append(f"{side} events are kept out of pairs unless {shown}")
    lines += _describe_tests(condition, sides, events)
    kept = "events of the last " + " and ".join(dict.fromkeys(_kept(window) for window in (plan.left, plan.right)))
    return [*lines, f"kept on a stream: {kept}{per_key}"]


def side_columns(sides: Sides, events: pa.Schema) -> dict[str, pa.Schema]:
    """The columns of each side, under the names that conditions have for them."""
    return {
        side: pa.schema([events.field(column).with_name(name) for name, column in own.items()])
        for side, own in sides.columns.items()
    }


def _describe_tests(condition: JoinCondition, sides: Sides, events: pa.Schema) -> list[str]:
    if not condition.pairs:
        return ["every pair of them is a row"]
    schemas = side_columns(sides, events)
    reasons = []
    for part in condition.pairs:
        found = compile_condition(part, schemas)
        if isinstance(found, NotCompiled):
            reasons.append(f"{print_expression(part)} is tested column by column, as {found.reason} is not compiled")
    if condition.bands:
        band = condition.bands[0]
        found_by = f"{print_expression(band.left)} and {print_expression(band.right)}"
        return [f"partners are found in sorted order of {found_by} where that leaves few, then tested", *reasons]
    rest: st.Expression = condition.pairs[0] if len(condition.pairs) == 1 else st.AllOf(condition.pairs)
    return [f"all pairs are tested by {print_expression(rest)}", *reasons]


def _window(window: Window) -> str:
    if isinstance(window, RowCount):
        every = "" if window.slide == 1 else f", which moves every {window.slide:,} events"
        return f"the last {window.rows:,} events{every}"
    every = "" if window.slide is None else f", which moves every {duration_text(window.slide)}"
    return f"events of the last {duration_text(window.length)}{every}"


def _kept(window: Window) -> str:
    if isinstance(window, RowCount):
        return f"{window.rows + window.slide - 1:,} events"
    return duration_text(window.length + (window.slide or 0))
