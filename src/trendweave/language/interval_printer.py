"""Tree of an interval query -> canonical text, one clause a line. Parsing the text gives the tree back."""

from __future__ import annotations

from trendweave.language import syntax_tree as st
from trendweave.language.interval_tree import (
    Constraint,
    IntervalColumns,
    IntervalReturn,
    IntervalTree,
    SituatedTree,
    Situation,
    Tree,
)
from trendweave.language.interval_tree_builder import without_length
from trendweave.language.printer import print_expression, print_name, print_query, reserve


def print_intervals(tree: IntervalTree) -> str:
    lines = []
    keys = "PARTITION BY " + ", ".join(map(print_expression, tree.partition_by)) if tree.partition_by else ""
    if tree.source is not None or keys:
        lines.append(" ".join(part for part in (_source(tree.source), keys) if part))
    if tree.situations:
        lines.append(print_definitions(tree.situations))
    if tree.pattern:
        lines.append("PATTERN " + "\n    AND ".join(map(print_constraint, tree.pattern)))
    if tree.within is not None:
        lines.append(f"WITHIN {print_expression(tree.within)}")
    if tree.detect_at_end:
        lines.append("DETECT AT END")
    if tree.returns is not None:
        lines.append(f"RETURN {_returns(tree.returns)}")
    if tree.every is not None:
        lines.append(f"EVERY {print_expression(tree.every)}")
    return "\n".join(lines)


def print_situated(tree: SituatedTree) -> str:
    """The trend query, then the situations that its events lie in."""
    with reserve("FROM", "DEFINE", "DURING"):
        trend, source = print_query(tree.trend), _source(tree.source)
        defined = print_definitions(tree.situations) if tree.situations else ""
    definitions = " ".join(part for part in (source, defined) if part)
    return f"{trend}\n{definitions}" if definitions else trend


def print_tree(tree: Tree) -> str:
    """Canonical text of a query of any kind, one clause a line."""
    match tree:
        case IntervalTree():
            return print_intervals(tree)
        case SituatedTree():
            return print_situated(tree)
        case _:
            return print_query(tree)


def print_definitions(situations: tuple[Situation, ...]) -> str:
    return "DEFINE " + ",\n       ".join(map(print_situation, situations))


def _source(source: str | IntervalColumns | None) -> str:
    if source is None:
        return ""
    if isinstance(source, str):
        return f"FROM {_unlike(source, 'INTERVALS')}"
    if source == IntervalColumns():
        return "FROM INTERVALS"
    return f"FROM INTERVALS ({', '.join(map(print_name, (source.start, source.end, source.name)))})"


def _unlike(name: str, keyword: str) -> str:
    """A name where a keyword could stand as well."""
    return f"`{name}`" if name.upper() == keyword else print_name(name)


def print_situation(situation: Situation) -> str:
    text = print_name(situation.name)
    bounds = _bounds(situation)
    if situation.condition is not None:
        condition = print_expression(situation.condition)
        if not bounds and without_length(situation.condition, None)[1] is not None:
            condition = f"({condition})"
        text += f" AS {condition}"
    return text + bounds


def _bounds(situation: Situation) -> str:
    low, high = (None if bound is None else print_expression(bound) for bound in (situation.low, situation.high))
    if low is not None and high is not None:
        return f" BETWEEN {low} AND {high}"
    if low is not None:
        return f" AT LEAST {low}"
    return "" if high is None else f" AT MOST {high}"


def print_constraint(constraint: Constraint) -> str:
    return f"{print_name(constraint.left)} {'; '.join(constraint.relations)} {print_name(constraint.right)}"


def _returns(returns: IntervalReturn) -> str:
    if returns.kind == "situations":
        return "SITUATIONS"
    return ", ".join(_output(output) for output in returns.outputs)


def _output(output: st.Output) -> str:
    alias = f" AS {print_name(output.alias)}" if output.alias is not None else ""
    value = output.value
    if isinstance(value, st.Attribute) and len(value.names) == 1:
        return _unlike(value.names[0], "SITUATIONS") + alias
    return print_expression(value) + alias
