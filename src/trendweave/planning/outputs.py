"""RETURN and GROUP-BY -> the columns of the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, cast

from trendweave.errors import Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.functions import AGGREGATES, NTH, SCALAR_FUNCTIONS
from trendweave.language.printer import print_expression, print_name
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.plan import (
    AggregateColumn,
    GroupColumn,
    MovingWindow,
    OrderColumn,
    OutputColumn,
    Path,
    ShownAttribute,
    Window,
)
from trendweave.planning.predicates import split_key
from trendweave.planning.variables import Variables

#: What a row that shows a trend has besides its window and group, and what each of its events has besides attributes.
TREND_COLUMNS = ("length", "events")
EVENT_FIELDS = ("variable", "time", "type")
#: What tells the trends of a window apart where each event has a row.
MATCH_COLUMN = "match"


def window_names(window: Window) -> tuple[str, ...]:
    """Name the columns of a result that tell windows apart: one for a window that moves with the stream, else two."""
    return ("time",) if isinstance(window, MovingWindow) else ("window_start", "window_end")


def row_fields(window: Window) -> tuple[str, ...]:
    """Name what a row that shows one event has besides attributes; `time` may be that of the window."""
    variable, moment, type_ = EVENT_FIELDS
    return variable, f"event_{moment}" if moment in window_names(window) else moment, type_


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


@dataclass(frozen=True, slots=True)
class PlannedOutputs:
    """What RETURN, HAVING and ORDER BY ask of each row: aggregates, and what is computed of them."""

    aggregates: tuple[AggregateColumn, ...]
    outputs: tuple[OutputColumn, ...] | None
    having: tuple[st.Expression, ...]
    order_by: tuple[OrderColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Name the columns that are shown."""
        return tuple(column.name for column in (self.aggregates if self.outputs is None else self.outputs))


def plan_outputs(
    query: st.QueryTree,
    window: Window,
    groups: tuple[GroupColumn, ...],
    variables: Variables,
    problems: list[Problem],
) -> PlannedOutputs:
    """Settle which aggregates are computed, and what of them.

    Args:
        query: The query.
        window: Its window, whose columns have names of their own.
        groups: Its grouping attributes.
        variables: Its variables.
        problems: Takes what is wrong.

    Returns:
        Aggregates, and expressions over them.
    """
    outputs = query.returns.outputs if query.returns is not None else ()
    planning = _Planning(query, window, groups, variables, problems)
    direct = [planning.plan_direct(output) for output in outputs]
    plain = all(isinstance(output.value, st.Aggregate | st.Attribute) for output in outputs)
    if plain and not query.having and not query.order_by:
        return PlannedOutputs(tuple(column for column in direct if column is not None), None, (), ())
    computed = tuple(
        OutputColumn(name_output(output), planning.rewrite(output.value))
        for output in outputs
        if not isinstance(output.value, st.Attribute) or planning.is_length(output.value)
    )
    having = tuple(planning.rewrite(condition, "HAVING") for condition in resolve_names(query, query.having, groups))
    order_by = resolve_names(query, tuple(item.value for item in query.order_by), groups)
    ordered = tuple(
        OrderColumn(planning.rewrite(value, "ORDER BY"), item.descending)
        for value, item in zip(order_by, query.order_by, strict=True)
    )
    return PlannedOutputs(tuple(planning.aggregates.values()), computed, having, ordered)


#: The number of events of a trend; among aggregates it stands as one without an argument.
LENGTH = "LENGTH"
_OF_ONE_TREND = st.Aggregate(LENGTH, None)


def is_length(value: st.Expression) -> TypeGuard[st.Attribute]:
    """Is it LENGTH, the number of events of a trend?"""
    return isinstance(value, st.Attribute) and [name.upper() for name in value.names] == [LENGTH]


def name_output(output: st.Output) -> str:
    """Name the column of an output: by its alias, as an aggregate is named, or by its text."""
    if output.alias is not None:
        return output.alias
    if isinstance(output.value, st.Aggregate) and not isinstance(output.value.argument, st.Calculated):
        return _name_aggregate(output.value)
    return "_".join(output.value.names) if isinstance(output.value, st.Attribute) else print_expression(output.value)


def _name_aggregate(value: st.Aggregate) -> str:
    names = value.argument.names if value.argument is not None else ()
    if value.function == NTH:  # S[2].x is S_2_x, S[-2].x is S_minus_2_x
        return "_".join((names[0], str(value.parameter).replace("-", "minus_"), *names[1:]))
    if value.parameter is not None:
        names = (*names, str(value.parameter).replace(".", "_"))
    return "_".join((value.function.lower(), *(("distinct",) if value.distinct else ()), *names))


def resolve_names(
    query: st.QueryTree, expressions: tuple[st.Expression, ...], groups: tuple[GroupColumn, ...]
) -> tuple[st.Expression, ...]:
    """Replace names of outputs in HAVING and ORDER BY by what they stand for.

    Args:
        query: The query, whose RETURN names outputs.
        expressions: What names them.
        groups: Grouping attributes, which are named as well.

    Returns:
        The expressions; what remains of single names are attributes.
    """
    named: dict[str, st.Expression] = {}
    for output in query.returns.outputs if query.returns is not None else ():
        named[name_output(output)] = output.value
    for group in groups:
        names = group.path if group.variable is None else (group.variable, *group.path)
        named.setdefault(group.name, st.Attribute(names))

    def resolve(node: st.Expression) -> st.Expression:
        if isinstance(node, st.Attribute) and len(node.names) == 1:
            return replace(named.get(node.names[0], node), span=node.span)
        return node

    return tuple(map_leaves(expression, resolve) for expression in expressions)


def map_leaves(node: st.Expression, change: Callable[[Any], st.Expression]) -> st.Expression:
    """Copy an expression with every attribute and aggregate replaced; places in the text are kept.

    Args:
        node: The expression.
        change: Gives what takes the place of one.

    Returns:
        The copy.
    """
    if isinstance(node, st.Attribute | st.Aggregate):
        return change(node)
    return cast("st.Expression", st.copy_node(node, lambda part: map_leaves(part, change), node.span))


class _Planning:
    """Collects the aggregates of a query, each once; expressions name them."""

    def __init__(
        self,
        query: st.QueryTree,
        window: Window,
        groups: tuple[GroupColumn, ...],
        variables: Variables,
        problems: list[Problem],
    ) -> None:
        self._each = query.return_kind == "each"
        self._finds_trends = query.complete or query.after_match is not None or query.per_start is not None
        self._variables, self._problems = variables, problems
        self._groups = {(group.variable, group.path): group.name for group in groups}
        outputs = query.returns.outputs if query.returns is not None else ()
        self._outputs = tuple(dict.fromkeys((*self._groups.values(), *map(name_output, outputs))))
        self._taken = {*window_names(window), *self._outputs}
        self.aggregates: dict[st.Aggregate, AggregateColumn] = {}

    def plan_direct(self, output: st.Output) -> AggregateColumn | None:
        """An aggregate that is shown as it is, under its own name. Grouping attributes have columns already."""
        if isinstance(output.value, st.Aggregate):
            column = self._plan_aggregate(output.value, name_output(output))
            if column is not None:
                self.aggregates.setdefault(output.value, column)
            return column
        if self.is_length(output.value):
            column = AggregateColumn(name_output(output), LENGTH)
            self.aggregates.setdefault(_OF_ONE_TREND, column)
            return column
        if isinstance(output.value, st.Attribute):
            self._name_group(output.value, "RETURN")
        return None

    def is_length(self, value: st.Expression) -> bool:
        """Is it LENGTH, and no grouping attribute of that name?"""
        return self._each and is_length(value) and split_key(value, self._variables) not in self._groups

    def rewrite(self, expression: st.Expression, clause: str = "RETURN") -> st.Expression:
        """The expression of a clause with the names of columns for aggregates and grouping attributes."""
        if any(isinstance(node, st.Call) and node.function not in SCALAR_FUNCTIONS for node in expression.walk()):
            return expression  # told when the text was read
        for node in expression.walk():
            self._expect_rows(node)
        return st.without_places(map_leaves(expression, lambda node: self._name(node, clause)))

    def _expect_rows(self, node: st.Node) -> None:
        """What WHERE says of neighbours and of keys has no meaning for a row of the result."""
        if isinstance(node, st.NextAttribute | st.PreviousAttribute):
            text = print_expression(node)
            message = f"{text} compares adjacent events of a trend, and a row of the result has none"
            hint = "compare them in WHERE; with RETURN EACH, FIRST and LAST are those of the trend"
            self._problems.append(problem_at(node.span, "TW215", message, hint))
        elif isinstance(node, st.Equivalence):
            text = print_expression(node)
            message = f"{text} is a condition on the events of a trend, not on a row"
            self._problems.append(problem_at(node.span, "TW219", message, f"write WHERE {text}"))

    def _name(self, node: st.Attribute | st.Aggregate, clause: str) -> st.Expression:
        if self.is_length(node):
            node = _OF_ONE_TREND
        if isinstance(node, st.Attribute):
            return st.Attribute((self._name_group(node, clause),))
        if node not in self.aggregates:
            name = _name_aggregate(node)
            while name in self._taken:
                name += "_"
            column = self._plan_aggregate(node, name)
            if column is None:
                return st.Literal(None)
            self._taken.add(name)
            self.aggregates[node] = column
        return st.Attribute((self.aggregates[node].name,))

    def _name_group(self, attribute: st.Attribute, clause: str) -> str:
        key = split_key(attribute, self._variables)
        if key not in self._groups:
            self._problems.append(self._no_group(attribute, clause))
            return ""
        return self._groups[key]

    def _no_group(self, attribute: st.Attribute, clause: str) -> Problem:
        """What is wrong with an attribute that is not in GROUP-BY."""
        name, span = print_expression(attribute), attribute.span
        if clause != "RETURN" and len(attribute.names) == 1:
            hint = (
                near_names(attribute.names[0], self._outputs) or f"outputs: {', '.join(map(print_name, self._outputs))}"
            )
            return problem_at(span, "TW215", f"{clause} names no output {name}", hint)
        if self._each and attribute.names[0] not in self._variables.types:
            contained = [variable for variable in self._variables.types if variable in self._variables.positive]
            owned = [f"{print_name(variable)}.{name}" for variable in contained]
            hint = near_names(name, (LENGTH,)) or f"write {' or '.join(owned[:3])}, or add {name} to GROUP-BY"
            return problem_at(span, "TW203", f"{name} does not say which variable it belongs to", hint)
        hint = f"add {name} to GROUP-BY, or aggregate it"
        if is_length(attribute):
            hint = (
                f"RETURN EACH {name} returns it per trend, RETURN COMPLETE AVG({name}) averages it over complete "
                f"trends; a column {name} must be in GROUP-BY"
            )
            return problem_at(span, "TW215", f"{name} describes one trend, not all trends", hint)
        if clause == "RETURN" and not self._each and attribute.names[0] in self._variables.types:
            hint = f"add {name} to GROUP-BY, aggregate it, or write RETURN EACH for a row per match"
        return problem_at(span, "TW215", f"{name} is not a grouping attribute", hint)

    def _plan_aggregate(self, value: st.Aggregate, name: str) -> AggregateColumn | None:
        function, variables, problems = value.function, self._variables, self._problems
        if value == _OF_ONE_TREND:
            return AggregateColumn(name, LENGTH)
        if not self._each and value.argument is not None and is_length(value.argument):
            return self._plan_lengths(value, name)
        names = value.argument.names if value.argument is not None else ()
        wrong = ""
        if self._each and function == "COUNT" and not names:
            wrong = f"a row is one trend; COUNT({next(iter(variables.types))}) counts its events"
        elif value.distinct and (function != "COUNT" or len(names) < 2):
            known = names[0] if names and names[0] in variables.types else next(iter(variables.types))
            wrong = f"write COUNT(DISTINCT {known}.attribute)"
        elif (
            function == "COUNT" and len(names) > 1 and isinstance(value.argument, st.Calculated) and not value.distinct
        ):
            counted = print_expression(value.argument)
            wrong = f"SUM(CASE WHEN {counted} THEN 1 ELSE 0 END) counts events for which a condition is true"
        elif function == "COUNT" and len(names) > 1 and not value.distinct:
            wrong = (
                f"COUNT(*) counts trends, COUNT({names[0]}) counts events read as {names[0]}, "
                f"COUNT(DISTINCT {'.'.join(names)}) different values"
            )
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
        if not self._each and function not in AGGREGATES:
            problems.append(_of_one_trend(value))
            return None
        return AggregateColumn.of(name, value)

    def _plan_lengths(self, value: st.Aggregate, name: str) -> AggregateColumn | None:
        """Trends that nobody finds one by one have no lengths to look at."""
        text = print_expression(value)
        if value.function not in ("SUM", "AVG", "MIN", "MAX") or value.distinct:
            message = f"{text} has the wrong kind of argument"
            self._problems.append(problem_at(value.span, "TW213", message, "SUM, AVG, MIN and MAX take LENGTH"))
            return None
        if not self._finds_trends:
            message = f"{text} needs trends one by one, and aggregates over all trends do not build them"
            hint = f"RETURN COMPLETE {text}, add AFTER MATCH SKIP, or RETURN EACH LENGTH; COUNT(S) counts events"
            self._problems.append(problem_at(value.span, "TW238", message, hint))
            return None
        return AggregateColumn(name, value.function)


def _of_one_trend(value: st.Aggregate) -> Problem:
    """Aggregates over all trends never look at one of them, nor tell its events apart."""
    hint = "use it with RETURN EACH"
    if value.function in ("MEDIAN", "PERCENTILE"):
        hint += "; over all trends a value counts once for each trend that contains it; AVG and STDDEV are available"
    return problem_at(value.span, "TW110", f"{print_expression(value)} describes one trend, not all trends", hint)


def plan_shown(
    query: st.QueryTree, variables: Variables, needed: dict[str | None, set[Path]], problems: list[Problem]
) -> tuple[ShownAttribute, ...]:
    """What is shown of each event: what TRENDS lists, or all attributes that the query names, also those that it names
    of negated variables alone."""
    returns = query.returns
    if query.return_kind not in ("trends", "rows"):
        return ()
    if returns is None or not returns.attributes:
        paths = {path for of_type in needed.values() for path in of_type}
        if query.return_kind == "rows":
            # What all events of a trend have in common stands beside each of them anyway.
            paths -= {path for variable, path in (split_key(key, variables) for key in query.group_by) if not variable}
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


def limits_ordered_rows(query: st.QueryTree) -> bool:
    """Does LIMIT choose the first rows of an order, and not just any trends?"""
    return query.choice is not None and query.choice.kind == "limit" and bool(query.order_by)


def check_choice(query: st.QueryTree, problems: list[Problem]) -> None:
    """LIMIT, LONGEST and SAMPLE choose among trends that are shown; an order has first rows of any kind."""
    choice = query.choice
    if choice is not None and query.return_kind == "aggregates" and not limits_ordered_rows(query):
        message = f"{choice.kind.upper()} selects trends, but RETURN does not list any"
        hint = "leave it out, or return TRENDS, EACH or COMPLETE TRENDS"
        if choice.kind == "limit":
            hint = "add ORDER BY to say which rows of a window are wanted, or leave it out"
        problems.append(problem_at(choice.span, "TW224", message, hint))
    if choice is not None and choice.kind != "limit" and query.order_by:
        message = f"{choice.kind.upper()} has its own way to choose, and ORDER BY another"
        problems.append(problem_at(choice.span, "TW224", message, "keep one of them; ORDER BY goes with LIMIT"))
    if query.having and query.return_kind not in ("aggregates", "each"):
        message = "HAVING filters rows of aggregates, but RETURN lists events"
        hint = "put a condition on the whole match into WHERE, or use RETURN EACH"
        problems.append(problem_at(query.having[0].span, "TW262", message, hint))
    if query.order_by and query.return_kind not in ("aggregates", "each"):
        message = "ORDER BY sorts rows of aggregates, but RETURN lists events"
        hint = "RETURN EACH with what to order by; LONGEST 10 shows the longest trends"
        problems.append(problem_at(query.order_by[0].span, "TW262", message, hint))


def check_names(
    query: st.QueryTree,
    window: Window,
    groups: tuple[GroupColumn, ...],
    values: tuple[str, ...],
    problems: list[Problem],
) -> None:
    span: Span | None = query.returns.span if query.returns is not None else query.span
    seen: set[str] = set()
    outputs = list(values)
    if query.return_kind == "trends":
        outputs = list(TREND_COLUMNS)
    if query.return_kind == "rows":
        outputs = [MATCH_COLUMN, *row_fields(window)]
    for name in (*window_names(window), *(group.name for group in groups), *outputs):
        if name in seen:
            problems.append(problem_at(span, "TW214", f"two output columns are named {name}", "rename one with AS"))
        seen.add(name)


def check_row_names(
    query: st.QueryTree,
    window: Window,
    groups: tuple[GroupColumn, ...],
    shown: tuple[ShownAttribute, ...],
    problems: list[Problem],
) -> None:
    """Attributes of events stand beside what tells their trend."""
    taken = {*window_names(window), *(group.name for group in groups), MATCH_COLUMN, row_fields(window)[0]}
    taken -= {EVENT_FIELDS[1]}  # the time column itself is not shown twice; another of that name is told with the table
    for attribute in shown:
        if attribute.name in taken:
            span = query.returns.span if query.returns is not None else query.span
            message = f"two columns of the result are named {attribute.name}"
            problems.append(problem_at(span, "TW214", message, "list the attributes to return: ROWS(...)"))


def check_conjunction(query: st.QueryTree, problems: list[Problem]) -> None:
    """Pairs of trends can only be counted."""
    if not isinstance(query.pattern, st.Conjunction):
        return
    hint = "return COUNT(*) alone, or query each side alone"
    if query.returns is None or query.returns.kind != "aggregates" or query.complete:
        listed = "trends" if query.return_kind == "aggregates" else query.return_kind
        kind = f"complete {listed}" if query.complete else listed
        span = query.pattern.span if query.returns is None else query.returns.span
        problems.append(problem_at(span, "TW211", f"a conjunction cannot return {kind}", hint))
        return
    for output in (*query.returns.outputs, *query.having, *query.order_by):
        for node in output.walk():
            if isinstance(node, st.Aggregate) and node.argument is not None:
                name = print_expression(node)
                problems.append(problem_at(node.span, "TW211", f"a conjunction cannot return {name}", hint))
