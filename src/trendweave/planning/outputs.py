"""RETURN and GROUP-BY -> the columns of the result."""

from __future__ import annotations

from collections import defaultdict

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.functions import SCALAR_FUNCTIONS
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.plan import AggregateColumn, GroupColumn, MovingWindow, Path, ShownAttribute, Window
from trendweave.planning.predicates import split_key
from trendweave.planning.variables import Variables

#: What a row that shows a trend has besides its window and group, and what each of its events has besides attributes.
TREND_COLUMNS = ("length", "events")
EVENT_FIELDS = ("variable", "time", "type")


def not_built(span: Span | None, what: str) -> Problem:
    """A clause that the language has and no plan yet."""
    return problem_at(span, "TW299", f"{what} is not built yet", "leave it out")


def window_names(window: Window) -> tuple[str, ...]:
    """Name the columns of a result that tell windows apart: one for a window that moves with the stream, else two."""
    return ("time",) if isinstance(window, MovingWindow) else ("window_start", "window_end")


def plan_groups(query: st.QueryTree, variables: Variables, problems: list[Problem]) -> tuple[GroupColumn, ...]:
    """Grouping attributes in the order of GROUP-BY; RETURN may rename them, and show one under several names."""
    names: dict[tuple[str | None, Path], dict[str, None]] = defaultdict(dict)
    for output in query.returns.outputs if query.returns is not None else ():
        if isinstance(output.value, st.Attribute):
            variable, path = split_key(output.value, variables)
            names[variable, path][output.alias if output.alias is not None else "_".join(path)] = None
    columns: dict[tuple[str | None, Path], list[GroupColumn]] = {}
    for attribute in query.group_by:
        variable, path = split_key(attribute, variables)
        if variable is not None and variable not in variables.positive:
            hint = "group by a variable that trends contain"
            problems.append(problem_at(attribute.span, "TW212", f"{variable} occurs only under NOT", hint))
        shown = names.get((variable, path)) or {"_".join(path): None}
        columns[variable, path] = [GroupColumn(name, path, variable) for name in shown]
    return tuple(column for of_attribute in columns.values() for column in of_attribute)


def plan_aggregates(
    query: st.QueryTree, groups: tuple[GroupColumn, ...], variables: Variables, problems: list[Problem]
) -> tuple[AggregateColumn, ...]:
    columns = []
    grouped = {(group.variable, group.path) for group in groups}
    for output in query.returns.outputs if query.returns is not None else ():
        value = output.value
        if isinstance(value, st.Aggregate):
            each = query.returns is not None and query.returns.kind == "each"
            column = _aggregate(value, output.alias, variables, each, problems)
            if column is not None:
                columns.append(column)
        elif isinstance(value, st.Call) and value.function not in SCALAR_FUNCTIONS:
            continue  # told when the text was read
        elif not isinstance(value, st.Attribute):
            problems.append(not_built(value.span, "an expression in RETURN"))
        elif split_key(value, variables) not in grouped:
            name = print_expression(value)
            hint = f"add {name} to GROUP-BY, or aggregate it"
            problems.append(problem_at(value.span, "TW215", f"{name} is not a grouping attribute", hint))
    return tuple(columns)


def _aggregate(
    value: st.Aggregate, alias: str | None, variables: Variables, each: bool, problems: list[Problem]
) -> AggregateColumn | None:
    function, argument = value.function, value.argument
    names = argument.names if argument is not None else ()
    wrong = ""
    if each and function == "COUNT" and not names:
        wrong = f"a row is one trend; COUNT({next(iter(variables.types))}) counts its events"
    elif function == "COUNT" and len(names) > 1:
        wrong = f"COUNT(*) counts trends, COUNT({names[0]}) counts events read as {names[0]}"
    elif function != "COUNT" and len(names) < 2:
        known = names[0] if names and names[0] in variables.types else next(iter(variables.types))
        wrong = f"write {function}({known}.attribute)"
    if wrong:
        message = f"{print_expression(value)} has the wrong kind of argument"
        problems.append(problem_at(value.span, "TW213", message, wrong))
        return None
    if names and names[0] not in variables.types:
        problems.append(variables.unknown(names[0], value.span))
        return None
    if names and names[0] not in variables.positive:
        message = f"{names[0]} occurs only under NOT, so no trend contains it"
        problems.append(problem_at(value.span, "TW212", message, "aggregate a variable that trends contain"))
        return None
    name = alias if alias is not None else "_".join((function.lower(), *names))
    return AggregateColumn(name, function, names[0] if names else None, names[1:] if len(names) > 1 else None)


def plan_shown(
    query: st.QueryTree, variables: Variables, needed: dict[str, set[Path]], problems: list[Problem]
) -> tuple[ShownAttribute, ...]:
    """What is shown of each event: what TRENDS lists, or all attributes that the query names, also those that it names
    of negated variables alone."""
    returns = query.returns
    if query.return_kind not in ("trends", "rows"):
        return ()
    if returns is None or not returns.attributes:
        paths = {path for of_type in needed.values() for path in of_type}
        return tuple(ShownAttribute("_".join(path), path, None) for path in sorted(paths))
    wanted: dict[Path, list[str] | None] = {}
    for attribute in returns.attributes:
        variable, path = split_key(attribute, variables)
        if variable is not None and variable not in variables.positive:
            message = f"{variable} occurs only under NOT, so no trend contains it"
            problems.append(problem_at(attribute.span, "TW212", message, "show a variable that trends contain"))
        elif variable is None or wanted.get(path, ()) is None:
            wanted[path] = None
        else:
            wanted[path] = [*(wanted.get(path) or ()), variable]
    shown = [
        ShownAttribute("_".join(path), path, None if names is None else tuple(dict.fromkeys(names)))
        for path, names in wanted.items()
    ]
    seen = set(EVENT_FIELDS[:1])
    for column in shown:
        if column.name in seen:
            message = f"two fields of an event are named {column.name}"
            problems.append(problem_at(returns.span, "TW214", message, "show one of them"))
        seen.add(column.name)
    return tuple(shown)


def check_choice(query: st.QueryTree, problems: list[Problem]) -> None:
    """LIMIT, LONGEST and SAMPLE choose among trends that are shown."""
    choice = query.choice
    if choice is not None and query.return_kind == "aggregates":
        message = f"{choice.kind.upper()} chooses among trends, and RETURN asks for none"
        hint = "leave it out, or return TRENDS, EACH or COMPLETE TRENDS"
        problems.append(problem_at(choice.span, "TW224", message, hint))


def check_names(
    query: st.QueryTree,
    window: Window,
    groups: tuple[GroupColumn, ...],
    aggregates: tuple[AggregateColumn, ...],
    problems: list[Problem],
) -> None:
    span: Span | None = query.returns.span if query.returns is not None else query.span
    seen: set[str] = set()
    outputs = [column.name for column in aggregates]
    if query.return_kind == "trends":
        outputs = list(TREND_COLUMNS)
    for name in (*window_names(window), *(group.name for group in groups), *outputs):
        if name in seen:
            problems.append(problem_at(span, "TW214", f"two output columns are named {name}", "rename one with AS"))
        seen.add(name)


def check_conjunction(query: st.QueryTree, problems: list[Problem]) -> None:
    """Pairs of trends can only be counted."""
    if not isinstance(query.pattern, st.Conjunction):
        return
    hint = "return COUNT(*) alone, or query each side by itself"
    if query.returns is None or query.returns.kind != "aggregates":
        kind = f"complete {query.return_kind}" if query.complete else query.return_kind
        span = query.pattern.span if query.returns is None else query.returns.span
        problems.append(problem_at(span, "TW211", f"a conjunction cannot return {kind}", hint))
        return
    if query.within is not None and query.slide is None:
        message = "a conjunction cannot be counted in a window that moves with the stream"
        problems.append(problem_at(query.within.span, "TW211", message, "add SLIDE"))
    if query.strategy == "skip-till-next-match":
        message = "a conjunction cannot be counted with skip-till-next-match"
        problems.append(problem_at(query.pattern.span, "TW211", message, "use another strategy, or query each side"))
    for output in query.returns.outputs:
        if isinstance(output.value, st.Aggregate) and output.value.argument is not None:
            name = print_expression(output.value)
            problems.append(problem_at(output.span, "TW211", f"a conjunction cannot return {name}", hint))
