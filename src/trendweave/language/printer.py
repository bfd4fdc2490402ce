"""Syntax tree -> canonical text. Parsing the text gives the tree back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime, timedelta

from trendweave.language import syntax_tree as st
from trendweave.language.durations import duration_text
from trendweave.language.functions import SCALAR_FUNCTIONS

#: Words that the grammar may read as something else where a name can stand.
# fmt: off
_RESERVED = frozenset((
    "RETURN", "EACH", "TRENDS", "COMPLETE", "AS", "PATTERN", "SEQ", "NOT", "AND", "OR", "SEMANTICS", "WHERE",
    "GROUP", "GROUPBY", "WITHIN", "SLIDE", "IN", "BETWEEN", "IS", "NULL", "LIKE", "TRUE", "FALSE", "NEXT", "CAST",
    "TIMESTAMP", "DATE", "LIMIT", "LONGEST", "SAMPLE", "SEED", "ROWS", "DISTINCT", "HAVING", "ORDER", "ORDERBY",
    "AFTER", "SHORTEST", "SESSION", "RLIKE", "ASC", "DESC", "CASE",
))
# fmt: on
#: Further ones, of the text that is being printed.
_ALSO_RESERVED: ContextVar[frozenset[str]] = ContextVar("also reserved", default=frozenset())
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def print_query(query: st.QueryTree) -> str:
    """Canonical text, one clause a line."""
    lines = []
    if query.returns is not None:
        lines.append(f"RETURN {_returns(query.returns)}")
    lines.append(f"PATTERN {print_pattern(query.pattern)}")
    if query.strategy is not None:
        lines.append(f"SEMANTICS {query.strategy}")
    if query.where:
        lines.append("WHERE " + " AND ".join(_expression(part, _AND + 1) for part in query.where))
    if query.group_by:
        lines.append("GROUP-BY " + ", ".join(print_expression(attribute) for attribute in query.group_by))
    window = []
    if query.within is not None:
        window.append(f"WITHIN {'SESSION ' if query.session else ''}{print_expression(query.within)}")
    if query.slide is not None:
        window.append(f"SLIDE {print_expression(query.slide)}")
    if window:
        lines.append(" ".join(window))
    if query.after_match is not None:
        lines.append(print_after_match(query.after_match))
    if query.per_start is not None:
        lines.append(f"{query.per_start.upper()} PER START")
    if query.having:
        lines.append("HAVING " + " AND ".join(_expression(part, _AND + 1) for part in query.having))
    if query.order_by:
        lines.append("ORDER BY " + ", ".join(map(_order_item, query.order_by)))
    if query.choice is not None:
        lines.append(print_choice(query.choice))
    return "\n".join(lines)


@contextmanager
def reserve(*words: str) -> Iterator[None]:
    """Names that are such words are printed in back quotes: kinds of queries have keywords of their own."""
    before = _ALSO_RESERVED.set(frozenset(words))
    try:
        yield
    finally:
        _ALSO_RESERVED.reset(before)


def print_name(name: str) -> str:
    """A name as it can be read again; one that is no plain word, or a keyword, in back quotes."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _RESERVED | _ALSO_RESERVED.get():
        return name
    return "`" + name.replace("`", "``") + "`"


def _names(names: tuple[str, ...]) -> str:
    """Without the variable where there is none, as in conditions of situations."""
    return ".".join(print_name(name) for name in names if name)


def _returns(returns: st.Return) -> str:
    outputs = ", ".join(_output(output) for output in returns.outputs)
    shown = f"({', '.join(print_expression(attribute) for attribute in returns.attributes)})"
    listed = returns.kind.upper() + (shown if returns.attributes else "")
    told = {"each": f"EACH {outputs}", "aggregates": outputs}.get(returns.kind, listed)
    return f"COMPLETE {told}" if returns.complete else told


def print_after_match(after: st.AfterMatch) -> str:
    """The clause that says where the next match may begin."""
    where = {"past last": "PAST LAST EVENT", "next": "TO NEXT EVENT"}.get(after.kind, f"TO {after.kind.upper()}")
    return f"AFTER MATCH SKIP {where}" + ("" if after.variable is None else f" {print_name(after.variable)}")


def _order_item(item: st.OrderItem) -> str:
    return _expression(item.value, _SUM) + (" DESC" if item.descending else "")


def print_choice(choice: st.Choice) -> str:
    seed = "" if choice.seed is None else f" SEED {choice.seed}"
    return f"{choice.kind.upper()} {choice.count}{seed}"


def _output(output: st.Output) -> str:
    alias = f" AS {print_name(output.alias)}" if output.alias is not None else ""
    return _expression(output.value, _SUM) + alias


# Patterns: OR binds weakest, then AND, then NOT, then quantifiers.


def print_pattern(pattern: st.Pattern, level: int = 0) -> str:
    match pattern:
        case st.EventPattern(type=type_, variable=variable):
            text = st.ANY if type_ is None else f"`{type_}`" if st.means_any(type_) else print_name(type_)
            return text if variable is None else f"{text} {print_name(variable)}"
        case st.Sequence(parts=parts):
            text, own = f"SEQ({', '.join(print_pattern(part) for part in parts)})", 3
        case st.Repeat(body=body, low=low, high=high):
            text, own = print_pattern(body, 4) + _quantifier(low, high), 3
        case st.Negation(body=body):
            text, own = f"NOT {print_pattern(body, 2)}", 2
        case st.Conjunction(parts=parts):
            text, own = " AND ".join(print_pattern(part, 2) for part in parts), 1
        case st.Alternatives(options=options):
            text, own = " OR ".join(print_pattern(option, 1) for option in options), 0
    return f"({text})" if own < level else text


def _quantifier(low: int, high: int | None) -> str:
    short = {(1, None): "+", (0, None): "*", (0, 1): "?"}.get((low, high))
    if short is not None:
        return short
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


# Expressions

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _SCALAR = range(8)


def print_expression(expression: st.Expression) -> str:
    return _expression(expression, _OR)


def _expression(expression: st.Expression, level: int) -> str:
    text, own = _with_level(expression)
    return f"({text})" if own < level else text


def _with_level(expression: st.Expression) -> tuple[str, int]:
    match expression:
        case st.Literal(value=value):
            # A number below zero is printed with its sign, and binds like any unary minus.
            signed = type(value) in (int, float) and str(value).startswith("-")
            return _literal(value), _UNARY if signed else _SCALAR
        case st.TimestampLiteral(microseconds=microseconds):
            moment = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
            return f"TIMESTAMP '{moment.isoformat(sep=' ')}'", _SCALAR
        case st.DateLiteral(days=days):
            return f"DATE '{(date(1970, 1, 1) + timedelta(days=days)).isoformat()}'", _SCALAR
        case st.Parameter(name=name) | st.LengthParameter(name=name):
            return f"${name}", _SCALAR
        case st.Duration(nanoseconds=nanoseconds):
            return duration_text(nanoseconds or 0), _SCALAR
        case st.During(variable=variable, situation=situation):
            return f"{print_name(variable)} DURING {print_name(situation)}", _COMPARE
        case st.Attribute(names=names):
            return _names(names), _SCALAR
        case st.Calculated(expression=calculated):
            return _with_level(calculated)
        case st.NextAttribute(variable=variable, names=names):
            return f"NEXT({print_name(variable)}).{_names(names)}", _SCALAR
        case st.PreviousAttribute(variable=variable, names=names):
            return f"PREV({print_name(variable)}).{_names(names)}", _SCALAR
        case st.Aggregate(function="NTH", argument=st.Attribute(names=(variable, *names)), parameter=number):
            return f"{print_name(variable)}[{number}].{_names(tuple(names))}", _SCALAR
        case st.Aggregate(function=function, argument=argument, distinct=distinct, parameter=parameter):
            of = "*" if argument is None else print_expression(argument)
            with_parameter = "" if parameter is None else f", {parameter!r}"
            return f"{print_name(function)}({'DISTINCT ' if distinct else ''}{of}{with_parameter})", _SCALAR
        case st.Negative(operand=operand):
            inner = _expression(operand, _UNARY)
            return f"- {inner}" if inner.startswith("-") else f"-{inner}", _UNARY
        case st.Arithmetic(operator=sign, left=left, right=right):
            own = _SUM if sign in "+-" else _PRODUCT
            return f"{_expression(left, own)} {sign} {_expression(right, own + 1)}", own
        case st.Comparison(operator=sign, left=left, right=right):
            return f"{_expression(left, _SUM)} {sign} {_expression(right, _SUM)}", _COMPARE
        case st.AllOf(parts=parts):
            return " AND ".join(_expression(part, _AND + 1) for part in parts), _AND
        case st.AnyOf(parts=parts):
            return " OR ".join(_expression(part, _OR + 1) for part in parts), _OR
        case st.Inverse(operand=operand):
            return f"NOT {_expression(operand, _NOT)}", _NOT
        case st.InList(operand=operand, options=options, negated=negated):
            listed = ", ".join(_expression(option, _SUM) for option in options)
            return f"{_expression(operand, _SUM)} {_not(negated)}IN ({listed})", _COMPARE
        case st.Between(operand=operand, low=low, high=high, negated=negated):
            bounds = f"{_expression(low, _SUM)} AND {_expression(high, _SUM)}"
            return f"{_expression(operand, _SUM)} {_not(negated)}BETWEEN {bounds}", _COMPARE
        case st.IsNull(operand=operand, negated=negated):
            return f"{_expression(operand, _SUM)} IS {_not(negated)}NULL", _COMPARE
        case st.Like(operand=operand, pattern=pattern, negated=negated):
            return f"{_expression(operand, _SUM)} {_not(negated)}LIKE {_string(pattern)}", _COMPARE
        case st.RLike(operand=operand, pattern=pattern, negated=negated):
            return f"{_expression(operand, _SUM)} {_not(negated)}RLIKE {_string(pattern)}", _COMPARE
        case st.Call(function=function, arguments=arguments):
            # Before a bracket it is no keyword.
            name = function if function in SCALAR_FUNCTIONS else print_name(function)
            return f"{name}({', '.join(map(print_expression, arguments))})", _SCALAR
        case st.Cast(operand=operand, type=target):
            return f"CAST({print_expression(operand)} AS {target})", _SCALAR
        case st.Case(whens=whens, otherwise=otherwise):
            branches = [f"WHEN {print_expression(one.condition)} THEN {print_expression(one.value)}" for one in whens]
            branches += [] if otherwise is None else [f"ELSE {print_expression(otherwise)}"]
            return f"CASE {' '.join(branches)} END", _SCALAR
        case st.Equivalence(attributes=attributes):
            return f"[{', '.join(map(print_expression, attributes))}]", _COMPARE


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _literal(value: bool | int | float | str | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _string(value) if isinstance(value, str) else repr(value)


def _string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
