"""Plan of an interval query -> text, drawings and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

from trendweave.language.durations import duration_text
from trendweave.language.interval_tree import RELATIONS
from trendweave.language.printer import print_expression, print_name
from trendweave.planning.chunks import choose_interval_chunks
from trendweave.planning.interval_plan import (
    ANY,
    PREFIX_GROUPS,
    IntervalPlan,
    OutputColumn,
    SituationPlan,
    Statistics,
    evaluation_order,
    names_of,
)
from trendweave.planning.show import describe

_LABEL = 13
JSON_VERSION = 1
#: What makes a relation certain (thesis, Table 5.2): the third of its four ends.
_CERTAIN = ("start of {b}", "start of {b}", "end of {a}", "both ends", "end of {b}", "end of {a}", "both ends",
            "end of {b}", "end of {a}", "both ends", "end of {b}", "start of {a}", "start of {a}")  # fmt: skip


def explain_text(plan: IntervalPlan) -> str:
    return "\n".join(["query", *(f"  {line}" for line in plan.text.split("\n")), "", *explain_plan(plan)])


def explain_plan(plan: IntervalPlan, with_tasks: bool = True) -> list[str]:
    """The plan line by line, without the query; with the tasks that Spark makes unless others say that."""
    lines = [*_overview(plan, with_tasks), "", *_situations(plan)]
    if plan.pairs:
        lines += ["", *_constraints(plan)]
    implied = list(_implied(plan))
    if implied:
        lines += ["", "implied", *_table(implied)]
    columns = ", ".join(".".join(map(print_name, path)) for path in plan.needed_columns)
    return [*lines, "", "columns read", f"  {columns or '(time only)'}"]


def _overview(plan: IntervalPlan, with_tasks: bool) -> list[str]:
    keys = ", ".join(".".join(map(print_name, path)) for path in plan.partition_by)
    rows = [
        ("returns", _returns(plan)),
        ("input", _input(plan)),
        ("partitions", f"by {keys}" if keys else "none: all events are one partition"),
    ]
    if plan.returns != "situations":
        at_end = "when the last situation of a match has ended"
        early = "when a match is certain, whatever happens to situations that have not ended"
        window = "none: matches may last as long as the input"
        if plan.within is not None:
            last = "last end" if plan.at_end else "detection"
            window = f"{duration_text(plan.within)} from the first start to the {last}"
        rows += [
            ("window", window),
            ("detection", at_end if plan.at_end else early),
            ("order", f"{_order(plan)}, at first; it adapts to the data"),
        ]
    if with_tasks:
        exchange = describe.ROWS_TEXT if _in_stretches(plan) else describe.COLUMNS_TEXT
        rows += [("on Spark", _tasks(plan)), ("exchange", exchange)]
    if len(plan.groups) > 1 and plan.returns != "situations":
        groups = " | ".join(", ".join(plan.names[i] for i in group) for group in plan.groups)
        rows.append(("warning", f"nothing relates {groups}: every combination of their matches is a match"))
    return [f"{label:<{_LABEL}}{text}" for label, text in rows]


def _tasks(plan: IntervalPlan) -> str:
    if plan.partition_by:
        return "a task per partition at least"
    if _in_stretches(plan):
        return "time ranges in parallel; their results are merged in one task"
    chunks = choose_interval_chunks(plan)
    if chunks is None:
        return "one task: nothing tells rows apart, and time cannot be cut"
    length, after = duration_text(chunks.length), duration_text(chunks.after)
    return f"time is split into chunks of {length}, each with the {after} after it and the last time before it"


def _in_stretches(plan: IntervalPlan) -> bool:
    """Whether tasks take stretches of time, cut between any two events."""
    alone = not plan.partition_by and plan.intervals is None
    return alone and plan.returns == "situations" and not plan.looks_back


def _order(plan: IntervalPlan) -> str:
    return ", ".join(plan.names[i] for i in evaluation_order(plan, Statistics.of_plan(plan)))


def _input(plan: IntervalPlan) -> str:
    if plan.intervals is not None:
        names = plan.intervals.start, plan.intervals.end, plan.intervals.name
        return "given intervals: " + ", ".join(map(print_name, names))
    return "all events" if plan.source is None else f"events of type {print_name(plan.source)}"


def _returns(plan: IntervalPlan) -> str:
    if plan.returns == "situations":
        return "the situations themselves"
    shown = ", ".join(f"{column.name} = {_output(column, plan)}" for column in plan.outputs)
    if plan.returns == "counts":
        windows = f"windows of {duration_text(plan.within or 0)}, sliding by {duration_text(plan.every or 0)}"
        return f"matches counted in {windows}: {shown}"
    return f"one row per match: {shown}" if shown else "one row per match"


def _output(column: OutputColumn, plan: IntervalPlan) -> str:
    if column.function is None:
        return ".".join(map(print_name, column.path or ()))
    if column.situation is None:
        return f"{column.function}(*)"
    return f"{column.function}({describe.qualified(plan.names[column.situation], column.path or ())})"


def length_text(situation: SituationPlan) -> str:
    low = None if situation.low is None else duration_text(situation.low)
    high = None if situation.high is None else duration_text(situation.high)
    if low is not None and high is not None:
        return f"between {low} and {high}"
    if low is not None:
        return f"at least {low}"
    return "any length" if high is None else f"at most {high}"


def _known(situation: SituationPlan, plan: IntervalPlan) -> str:
    if plan.at_end or situation.high is not None:
        return "from its end on"
    return "from its start on" if situation.low is None else "once it is long enough"


def _situations(plan: IntervalPlan) -> list[str]:
    rows = [("situation", "holds while", "lasts", "can be used")]
    for situation in plan.situations:
        condition = "given" if situation.condition is None else print_expression(situation.condition)
        rows.append((situation.name, condition, length_text(situation), _known(situation, plan)))
    return _table(rows)


def _constraints(plan: IntervalPlan) -> list[str]:
    rows = [("constraint", "relations", "certain at")]
    for pair in plan.pairs:
        left, right = plan.names[pair.left], plan.names[pair.right]
        certain = "the last end" if plan.at_end else "; ".join(_certain(pair.mask, left, right))
        rows.append((f"{left}, {right}", "; ".join(names_of(pair.mask)), certain))
    return _table(rows)


def _certain(mask: int, left: str, right: str) -> list[str]:
    """When each relation is known to hold; those of a whole prefix group are known together, at the later start."""
    found: dict[str, list[str]] = {}
    for number, name in enumerate(RELATIONS):
        if not mask >> number & 1:
            continue
        whole = any(group >> number & 1 and group & mask == group for group in PREFIX_GROUPS)
        when = "later start" if whole else _CERTAIN[number].format(a=left, b=right)
        found.setdefault(when, []).append(name)
    return [f"{when} ({', '.join(names)})" if len(found) > 1 else when for when, names in found.items()]


def _implied(plan: IntervalPlan) -> Iterable[tuple[str, ...]]:
    written = {(pair.left, pair.right): pair.mask for pair in plan.pairs}
    for i in range(len(plan.situations)):
        for j in range(i + 1, len(plan.situations)):
            mask = plan.allowed[i][j]
            if mask not in (written.get((i, j), ANY), ANY):
                yield f"{plan.names[i]}, {plan.names[j]}", "; ".join(names_of(mask))


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def label_of(situation: SituationPlan) -> str:
    """A situation in one line: its name, when it holds, and how long it lasts."""
    parts = [situation.name]
    if situation.condition is not None:
        parts.append(print_expression(situation.condition))
    if situation.low is not None or situation.high is not None:
        parts.append(length_text(situation))
    return ": ".join(parts)


def as_json(plan: IntervalPlan) -> str:
    content = {
        "version": JSON_VERSION,
        "query": plan.text,
        "returns": plan.returns,
        "partition_by": [".".join(path) for path in plan.partition_by],
        "within_ns": plan.within,
        "every_ns": plan.every,
        "detect_at_end": plan.at_end,
        "situations": [
            {
                "name": situation.name,
                "condition": None if situation.condition is None else print_expression(situation.condition),
                "at_least_ns": situation.low,
                "at_most_ns": situation.high,
            }
            for situation in plan.situations
        ],
        "constraints": [
            {"left": plan.names[pair.left], "right": plan.names[pair.right], "relations": names_of(pair.mask)}
            for pair in plan.pairs
        ],
        "groups": [[plan.names[i] for i in group] for group in plan.groups],
        "order": [plan.names[i] for i in evaluation_order(plan, Statistics.of_plan(plan))],
        "outputs": [{"name": column.name, "value": _output(column, plan)} for column in plan.outputs],
    }
    return json.dumps(content, indent=2)
