"""Parameters of queries: `$threshold` stands for a value that is given before the query is run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from trendweave.errors import LanguageError, Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.durations import read_duration
from trendweave.language.interval_tree import Situation, with_limits
from trendweave.language.syntax_tree import problem_at

_Node = TypeVar("_Node", bound=st.Node)
_LITERALS = (st.Literal, st.TimestampLiteral, st.DateLiteral, st.Duration)
_HINT = "give a number, a string, a boolean, a datetime, a date or a timedelta"


def find_parameters(tree: st.Node) -> dict[str, st.Node]:
    """The parameters of a tree by name, each with its first place in the text."""
    found: dict[str, st.Node] = {}
    for node in tree.walk():
        if isinstance(node, st.Parameter | st.LengthParameter):
            found.setdefault(node.name, node)
    return found


def find_missing(tree: st.Node) -> list[Problem]:
    """A problem for each parameter that has no value."""
    return [
        problem_at(node.span, "TW490", f"the parameter ${name} has no value", f"give it one: query.bind({name}=...)")
        for name, node in find_parameters(tree).items()
    ]


def check_known(names: Mapping[str, object], known: Mapping[str, object]) -> list[Problem]:
    """A problem for each value that no parameter takes."""
    shown = ", ".join(f"${name}" for name in known)
    hint = f"the parameters are {shown}" if known else "write $name in the query where the value belongs"
    return [
        Problem("TW492", f"there is no parameter ${name}", near_names(name, known) or hint)
        for name in names
        if name not in known
    ]


def bind_parameters(tree: _Node, values: Mapping[str, Any], problems: list[Problem]) -> _Node:
    """A tree with literals for parameters; those without a value stay.

    Args:
        tree: Of a query, or a part of one.
        values: Values by name.
        problems: Takes what is wrong with values.
    """

    def bind(node: Any) -> Any:
        if isinstance(node, st.Parameter | st.LengthParameter) and node.name in values:
            return _literal(node, values[node.name], problems)
        if isinstance(node, st.Negative):
            return st.negative(bind(node.operand), node.span)
        copy = st.copy_node(node, bind, node.span)
        return with_limits(copy, copy.low, copy.high, problems) if isinstance(copy, Situation) else copy

    bound: _Node = bind(tree)
    return bound


def _literal(node: st.Parameter | st.LengthParameter, value: Any, problems: list[Problem]) -> st.Expression:
    try:
        literal = _length(value, node) if isinstance(node, st.LengthParameter) else write_value(value)
    except LanguageError as error:
        problems += [problem_at(node.span, "TW491", problem.message, problem.hint) for problem in error.problems]
        return node
    if isinstance(literal, st.Literal) and literal.value is None:
        message = f"${node.name} is None, and NULL is neither equal to anything nor larger nor smaller"
        problems.append(problem_at(node.span, "TW491", message, "write IS NULL into the query, or give a value"))
        return node
    return type(literal)(*(getattr(literal, name) for name in st.parts_of(type(literal))), span=node.span)


def _length(value: Any, node: st.LengthParameter) -> st.Expression:
    """A length of time: a timedelta, a text such as "10 minutes", or a literal of one."""
    literal = write_value(value)
    if isinstance(literal, st.Literal) and isinstance(literal.value, str):
        return st.Duration(read_duration(literal.value, f"${node.name}", node.may_be_zero))
    if isinstance(literal, st.Duration) and (literal.nanoseconds or 0) >= (0 if node.may_be_zero else 1):
        return literal
    length = "a length of time" if node.may_be_zero else "a length of time larger than zero"
    message = f"${node.name} is {length}, not {value!r}"
    raise LanguageError([Problem("TW107", message, "give a timedelta, or a text such as '10 minutes'")])


def write_value(value: Any) -> st.Expression:
    """A Python value as a literal.

    Args:
        value: None, a bool, int, float, str, datetime, date or timedelta, or a numpy scalar of such.

    Raises:
        LanguageError: A query has no literal for it.
    """
    if isinstance(value, _LITERALS):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        if getattr(value, "dtype", None) is not None and value.dtype.kind in "mM":
            value = value.astype(f"{value.dtype.kind}8[us]")
        value = value.item()
    match value:
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return st.TimestampLiteral((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
        case date():
            return st.DateLiteral((value - date(1970, 1, 1)).days)
        case timedelta():
            return st.Duration(value // timedelta(microseconds=1) * 1000)
        case bool() | str() | None:
            return st.Literal(value)
        case int() if -(2**63) <= value < 2**63:
            return st.Literal(int(value))
        case float() if math.isfinite(value):
            return st.Literal(float(value))
        case int() | float():
            message = f"a query has no literal for {value!r}"
            raise LanguageError([Problem("TW113", message, "give a finite number of 64 bits")])
    raise LanguageError([Problem("TW116", f"a query has no literal for {type(value).__name__}", _HINT)])
