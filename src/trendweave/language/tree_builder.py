"""Lark's parse tree -> our syntax tree, rule by rule. The methods are named after the rules of `grammar.lark`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, TypeAlias, cast

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from trendweave.errors import Problem, near_names
from trendweave.language import syntax_tree as st
from trendweave.language.arguments import make_argument
from trendweave.language.durations import make_duration, refuse_zero
from trendweave.language.functions import (
    AGGREGATES,
    CAST_TYPES,
    EACH_AGGREGATES,
    MAX_ROUNDED_DIGITS,
    NTH,
    OF_ONE_TREND,
    OTHER_NAMES,
    SCALAR_FUNCTIONS,
    STRATEGIES,
    TRUNCATION_UNITS,
    argument_count,
)
from trendweave.language.printer import print_pattern
from trendweave.language.regular_expressions import find_problem
from trendweave.language.sql_habits import SIDE_BY_SIDE
from trendweave.language.syntax_tree import Span, problem_at

#: keyword, what it says, where
Clause: TypeAlias = tuple[str, Any, Span]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?\s*(Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
#: What SQL calls the rows around a row.
_NEIGHBOURS = {
    "LAG": "PREV(S).price is the price of the S directly before, LAST(A).price that of the latest A before",
    "LEAD": "NEXT(S).price is the price of the S directly after",
}
_COMPARISONS = {"<>": "!=", "==": "="}


def _span(meta: Meta) -> Span:
    return Span(meta.start_pos, meta.end_pos, meta.line, meta.column)


def _nodes(children: list[Any]) -> tuple[Any, ...]:
    """Children without the tokens (keywords and signs) between them."""
    return tuple(child for child in children if not isinstance(child, Token))


def _tokens(children: list[Any]) -> tuple[str, ...]:
    return tuple(str(child) for child in children if isinstance(child, Token))


class _Name(str):
    """A name that knows where it stands, and whether in back quotes."""

    span: Span
    quoted: bool


@v_args(meta=True)
class TreeBuilder(Transformer_NonRecursive[Token, Any]):
    """Collects in `problems` whatever is wrong but does not keep the text from being read."""

    #: Attributes begin with a variable.
    _has_variables = True

    def __init__(self) -> None:
        super().__init__(visit_tokens=False)
        self.problems: list[Problem] = []

    def _problem(self, span: Span, code: str, message: str, hint: str) -> None:
        self.problems.append(problem_at(span, code, message, hint))

    # Clauses

    def trend_query(self, meta: Meta, children: list[Any]) -> list[Clause]:
        return cast("list[Clause]", children)

    # Made in the class, for the class: a checker takes their first parameter for `self`.

    def _returns(kind: st.ReturnKind, known: tuple[str, ...] = ()) -> Callable[..., Clause]:  # type: ignore[misc]
        def method(self: TreeBuilder, meta: Meta, children: list[Any]) -> Clause:
            listed = _nodes(children)
            outputs = tuple(node for node in listed if isinstance(node, st.Output))
            attributes = tuple(node for node in listed if isinstance(node, st.Attribute))
            complete = any(isinstance(child, Token) and child.type == "COMPLETE" for child in children)
            for output in outputs:
                self._expect_aggregates(output.value, known)
            return "RETURN", st.Return(kind, outputs, attributes, complete, span=_span(meta)), _span(meta)

        return method

    return_aggregates = _returns("aggregates", AGGREGATES)
    return_each = _returns("each", EACH_AGGREGATES)
    return_trends = _returns("trends")
    return_rows = _returns("rows")

    def _expect_aggregates(self, value: st.Expression, known: tuple[str, ...]) -> None:
        """In RETURN, a function that is not known was meant as an aggregate."""
        for node in _walk_outside(value):
            if isinstance(node, st.Aggregate):
                self._check_aggregate(node, (*known, *OF_ONE_TREND, NTH))  # whether one trend is there, the plan knows
            elif isinstance(node, st.Call) and node.function not in SCALAR_FUNCTIONS and node.span is not None:
                place = (node.span.line, node.span.column)
                kept = [p for p in self.problems if (p.code, p.line, p.column) != ("TW108", *place)]
                if len(kept) < len(self.problems):
                    self.problems[:] = kept
                    self._check_aggregate(st.Aggregate(node.function, None, span=node.span), known)

    def _check_aggregate(self, aggregate: st.Aggregate, known: tuple[str, ...]) -> None:
        if aggregate.function in known or aggregate.span is None:
            return
        hint = near_names(aggregate.function, known) or f"the aggregates are {', '.join(known)}"
        self._problem(aggregate.span, "TW110", f"unknown aggregate {aggregate.function}", hint)

    def output(self, meta: Meta, children: list[Any]) -> st.Output:
        value, *alias = _nodes(children)
        return st.Output(value, str(alias[0]) if alias else None, span=_span(meta))

    def pattern_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "PATTERN", children[1], _span(meta)

    def semantics_clause(self, meta: Meta, children: list[Any]) -> Clause:
        strategy = str(children[1]).lower().replace("_", "-")
        if strategy not in STRATEGIES:
            hint = near_names(strategy, STRATEGIES) or f"the strategies are {', '.join(STRATEGIES)}"
            self._problem(_span(meta), "TW111", f"unknown event selection strategy {children[1]}", hint)
        return "SEMANTICS", strategy, _span(meta)

    def where_clause(self, meta: Meta, children: list[Any]) -> Clause:
        condition = children[1]
        conjuncts = condition.parts if isinstance(condition, st.AllOf) else (condition,)
        return "WHERE", conjuncts, _span(meta)

    def group_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "GROUP-BY", _nodes(children), _span(meta)

    def within_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "WITHIN", (refuse_zero(children[-1], self.problems), len(children) == 3), _span(meta)

    def slide_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "SLIDE", refuse_zero(children[1], self.problems), _span(meta)

    def _choice(kind: st.ChoiceKind) -> Callable[..., Clause]:  # type: ignore[misc]
        def method(self: TreeBuilder, meta: Meta, children: list[Any]) -> Clause:
            count = self._whole(meta, children[1], 1)
            seed = self._whole(meta, children[3], 0) if len(children) > 3 else None
            return kind.upper(), st.Choice(kind, count, seed, span=_span(meta)), _span(meta)

        return method

    limit = _choice("limit")
    longest = _choice("longest")
    sample = _choice("sample")

    def per_start_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "PER START", str(children[0]).split()[0].lower(), _span(meta)

    def after_match_clause(self, meta: Meta, children: list[Any]) -> Clause:
        kinds: dict[str, st.AfterMatchKind] = {
            "PAST_LAST": "past last",
            "TO_NEXT": "next",
            "TO_FIRST": "first",
            "TO_LAST": "last",
        }
        variable = str(children[2]) if len(children) > 2 else None
        return "AFTER MATCH", st.AfterMatch(kinds[children[1].type], variable, span=_span(meta)), _span(meta)

    def having_clause(self, meta: Meta, children: list[Any]) -> Clause:
        condition = children[1]
        return "HAVING", condition.parts if isinstance(condition, st.AllOf) else (condition,), _span(meta)

    def order_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "ORDER BY", _nodes(children), _span(meta)

    def order_item(self, meta: Meta, children: list[Any]) -> st.OrderItem:
        descending = any(isinstance(child, Token) and child.type == "DESC" for child in children)
        return st.OrderItem(children[0], descending, span=_span(meta))

    def _whole(self, meta: Meta, digits: Token, least: int) -> int:
        """A number of 63 bits that is not below the least one."""
        if len(digits.lstrip("0")) > 18 or int(digits) < least:
            message = f"{digits} is not a valid number here"
            self._problem(
                _span(meta), "TW113", message, f"write a whole number of {least} or more, of 18 digits at most"
            )
            return least
        return int(digits)

    def length(self, meta: Meta, children: list[Any]) -> st.Duration:
        amount = "".join(child for child in children if isinstance(child, Token))
        unit = next((str(child) for child in children if isinstance(child, _Name)), None)
        return make_duration(amount, unit, _span(meta), self.problems, may_be_zero=True)

    def interval(self, meta: Meta, children: list[Any]) -> st.Duration:
        """`INTERVAL '10' MINUTE`, as SQL writes a length."""
        amount, *unit = children[1:]
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\w+)?", _unquoted(amount) if amount.type == "STRING" else str(amount))
        if found is None or (found[2] is not None and unit):
            self._problem(
                _span(meta), "TW113", f"{amount} is not a duration", "write 10 minutes, or INTERVAL '10' MINUTE"
            )
            return st.Duration(None, span=_span(meta))
        name = str(unit[0]) if unit else found[2]
        return make_duration(found[1], name, _span(meta), self.problems, may_be_zero=True)

    def parameter(self, meta: Meta, children: list[Any]) -> st.Parameter:
        return st.Parameter(str(children[0])[1:], span=_span(meta))

    def length_parameter(self, meta: Meta, children: list[Any]) -> st.Duration:
        return st.LengthParameter(None, str(children[0])[1:], span=_span(meta))

    # Patterns

    def either(self, meta: Meta, children: list[Any]) -> st.Pattern:
        return st.Alternatives(_nodes(children), span=_span(meta))

    def both(self, meta: Meta, children: list[Any]) -> st.Pattern:
        return st.Conjunction(_nodes(children), span=_span(meta))

    def negation(self, meta: Meta, children: list[Any]) -> st.Pattern:
        return st.Negation(children[1], span=_span(meta))

    def unnamed_negation(self, meta: Meta, children: list[Any]) -> st.Pattern:
        name = children[1]
        return st.Negation(_event([name], name.span), span=_span(meta))

    def repeated(self, meta: Meta, children: list[Any]) -> st.Pattern:
        body, *bounds = children
        for low, high in bounds:
            body = st.Repeat(body, low, high, span=_span(meta))
        return cast("st.Pattern", body)

    def variable_last(self, meta: Meta, children: list[Any]) -> st.Pattern:
        event, *bounds, variable = children
        if isinstance(event, st.EventPattern) and event.variable is None:
            event = st.EventPattern(event.type, str(variable), span=_span(meta))
        elif isinstance(event, st.EventPattern):
            middle = self.repeated(meta, [st.EventPattern(str(event.variable)), *bounds])
            sequence = st.Sequence((st.EventPattern(event.type), middle, st.EventPattern(str(variable))))
            self._problem(_span(meta), "TW101", SIDE_BY_SIDE, f"write {print_pattern(sequence)}")
        else:
            hint = "write the variable after the type and the quantifier after the variable, as in Stock S+"
            self._problem(variable.span, "TW101", f"did not expect the name {variable} here", hint)
        return self.repeated(meta, [event, *bounds])

    def event(self, meta: Meta, children: list[Any]) -> st.Pattern:
        return _event(children, _span(meta))

    def label(self, meta: Meta, children: list[Any]) -> _Name:
        return self.name(meta, children)

    def sequence(self, meta: Meta, children: list[Any]) -> st.Pattern:
        return st.Sequence(_nodes(children), span=_span(meta))

    def plus(self, meta: Meta, children: list[Any]) -> tuple[int, int | None]:
        return 1, None

    def star(self, meta: Meta, children: list[Any]) -> tuple[int, int | None]:
        return 0, None

    def question(self, meta: Meta, children: list[Any]) -> tuple[int, int | None]:
        return 0, 1

    def exactly(self, meta: Meta, children: list[Any]) -> tuple[int, int | None]:
        count = self._bound(meta, children[0])
        return count, count

    def at_least(self, meta: Meta, children: list[Any]) -> tuple[int, int | None]:
        return self._bound(meta, children[0]), None

    def from_to(self, meta: Meta, children: list[Any]) -> tuple[int, int | None]:
        low, high = (self._bound(meta, child) for child in children)
        if low > high:
            self._problem(
                _span(meta),
                "TW112",
                f"{{{low},{high}}}: the minimum is larger than the maximum",
                f"write {{{high},{low}}}",
            )
            high = low
        return low, high

    def _bound(self, meta: Meta, digits: Token) -> int:
        if len(digits.lstrip("0")) > 9:
            self._problem(_span(meta), "TW113", "the bound is too large", "use + or * for unbounded repetition")
            return 1
        return int(digits)

    # Conditions

    def any_of(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.any_of(_nodes(children), _span(meta))

    def all_of(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.all_of(_nodes(children), _span(meta))

    def inverse(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Inverse(children[1], span=_span(meta))

    def comparison(self, meta: Meta, children: list[Any]) -> st.Expression:
        """`a = b = c`, as some papers write, means a = b AND b = c."""
        pairs = []
        for left, sign, right in zip(children[0::2], children[1::2], children[2::2], strict=False):
            operator = cast("st.ComparisonOperator", _COMPARISONS.get(sign, str(sign)))
            pairs.append(st.Comparison(operator, left, right, span=_span(meta)))
        if len(pairs) > 1 and any(pair.operator != "=" for pair in pairs):
            hint = "only = can be chained; join two comparisons with AND, or use BETWEEN"
            self._problem(_span(meta), "TW101", "comparisons cannot be chained like this", hint)
        return st.all_of(tuple(pairs), _span(meta))

    def in_list(self, meta: Meta, children: list[Any]) -> st.Expression:
        operand, *options = _nodes(children)
        return st.InList(operand, tuple(options), len(_tokens(children)) == 2, span=_span(meta))

    def between(self, meta: Meta, children: list[Any]) -> st.Expression:
        operand, low, high = _nodes(children)
        return st.Between(operand, low, high, len(_tokens(children)) == 3, span=_span(meta))

    def is_null(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.IsNull(children[0], len(_tokens(children)) == 3, span=_span(meta))

    def like(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Like(children[0], _unquoted(children[-1]), len(_tokens(children)) == 3, span=_span(meta))

    def rlike(self, meta: Meta, children: list[Any]) -> st.Expression:
        pattern = _unquoted(children[-1])
        problem = find_problem(pattern)
        if problem is not None:
            hint = r"use characters, ., [a-z], \d \w \s, groups, |, * + ? {2,5}, ^ and $; LOWER(x) RLIKE ignores case"
            self._problem(_span(meta), "TW261", f"RLIKE {children[-1]}: {problem}", hint)
        return st.RLike(children[0], pattern, len(_tokens(children)) == 3, span=_span(meta))

    def during(self, meta: Meta, children: list[Any]) -> st.Expression:
        variable, _, situation = children
        return st.During.of(str(variable), str(situation), span=_span(meta), situation_span=situation.span)

    def not_during(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Inverse(self.during(meta, children), span=_span(meta))

    def equivalence(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Equivalence(tuple(children), span=_span(meta))

    def arithmetic(self, meta: Meta, children: list[Any]) -> st.Expression:
        left, sign, right = children
        return st.Arithmetic(cast("st.ArithmeticOperator", str(sign)), left, right, span=_span(meta))

    def minus(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.negative(children[1], _span(meta))

    def next_attribute(self, meta: Meta, children: list[Any]) -> st.Expression:
        variable, *names = map(str, _nodes(children))
        return st.NextAttribute(variable, tuple(names), span=_span(meta))

    def previous_attribute(self, meta: Meta, children: list[Any]) -> st.Expression:
        variable, *names = map(str, _nodes(children))
        return st.PreviousAttribute(variable, tuple(names), span=_span(meta))

    def end_attribute(self, meta: Meta, children: list[Any]) -> st.Expression:
        names = tuple(map(str, _nodes(children)))
        return st.Aggregate(str(children[0]).upper(), st.Attribute(names, span=_span(meta)), span=_span(meta))

    def nth_attribute(self, meta: Meta, children: list[Any]) -> st.Expression:
        *sign, digits = (child for child in children if isinstance(child, Token))
        names = tuple(map(str, _nodes(children)))
        number = self._whole(meta, digits, 0) * (-1 if sign else 1)
        if number == 0:
            message = f"events of {names[0]} are numbered from 1"
            hint = f"{names[0]}[1] is the first, {names[0]}[2] the second, {names[0]}[-1] the last"
            self._problem(_span(meta), "TW113", message, hint)
        argument = st.Attribute(names, span=_span(meta))
        return st.Aggregate(NTH, argument, parameter=number or 1, span=_span(meta))

    def aggregate_of_all(self, meta: Meta, children: list[Any]) -> st.Expression:
        return self._aggregate(meta, children[0], None)

    def aggregate_of_distinct(self, meta: Meta, children: list[Any]) -> st.Expression:
        name, argument = _nodes(children)
        return self._aggregate(meta, name, argument, distinct=True)

    def _aggregate(
        self, meta: Meta, name: str, of: st.Expression | None, distinct: bool = False, parameter: float | None = None
    ) -> st.Expression:
        argument = None if of is None else make_argument(of, self._has_variables)
        if not isinstance(argument, Problem):
            return st.Aggregate(name.upper(), argument, distinct, parameter, span=_span(meta))
        # A function that is not known was told already.
        self.problems += [] if any(problem.code == "TW108" for problem in self.problems) else [argument]
        return st.Call(name.upper(), () if of is None else (of,), span=_span(meta))

    def cast(self, meta: Meta, children: list[Any]) -> st.Expression:
        operand, target = _nodes(children)
        name = CAST_TYPES.get(target.upper())
        if name is None:
            hint = near_names(target, CAST_TYPES) or f"the types are {', '.join(sorted(set(CAST_TYPES.values())))}"
            self._problem(target.span, "TW114", f"CAST does not know the type {target}", hint)
        return st.Cast(operand, name or "DOUBLE", span=_span(meta))

    def when(self, meta: Meta, children: list[Any]) -> st.When:
        condition, value = _nodes(children)
        return st.When(condition, value, span=_span(meta))

    when_equal = when

    def otherwise(self, meta: Meta, children: list[Any]) -> st.Expression:
        return cast("st.Expression", children[1])

    def searched_case(self, meta: Meta, children: list[Any]) -> st.Expression:
        parts = _nodes(children)
        whens = tuple(part for part in parts if isinstance(part, st.When))
        return st.Case(whens, parts[-1] if len(parts) > len(whens) else None, span=_span(meta))

    def simple_case(self, meta: Meta, children: list[Any]) -> st.Expression:
        """`CASE x WHEN v` is `CASE WHEN x = v`, as in SQL."""
        operand, *parts = _nodes(children)
        compared = [
            replace(part, condition=st.Comparison("=", operand, part.condition, span=part.condition.span))
            if isinstance(part, st.When)
            else part
            for part in parts
        ]
        return self.searched_case(meta, compared)

    def call(self, meta: Meta, children: list[Any]) -> st.Expression:
        name, *arguments = _nodes(children)
        function = OTHER_NAMES.get(name.upper(), name.upper())
        if function == "PERCENTILE":
            return self._percentile(meta, arguments)
        if len(arguments) == 1 and function in EACH_AGGREGATES:
            return self._aggregate(meta, name, arguments[0])
        if len(arguments) == 1 and function == "PREV" and isinstance(arguments[0], st.Attribute):
            variable, *names = arguments[0].names
            if names:
                return st.PreviousAttribute(variable, tuple(names), span=_span(meta))
        if function not in SCALAR_FUNCTIONS:
            hint = near_names(function, SCALAR_FUNCTIONS) or f"the functions are {', '.join(SCALAR_FUNCTIONS)}"
            if function in _NEIGHBOURS:
                hint = _NEIGHBOURS[function]
            if function in EACH_AGGREGATES:
                hint = "write COUNT(*) or COUNT(S)" if function == "COUNT" else f"write {function}(S.price)"
                self._problem(_span(meta), "TW213", f"{function} takes one attribute of a variable", hint)
            else:
                self._problem(name.span, "TW108", f"unknown function {name}", hint)
        else:
            low, high = SCALAR_FUNCTIONS[function]
            if not low <= len(arguments) <= (high or len(arguments)):
                message = f"{function} takes {argument_count(function)}, not {len(arguments)}"
                self._problem(_span(meta), "TW109", message, f"give {function} {argument_count(function)}")
            elif function == "DATE_TRUNC":
                arguments[0] = self._unit(arguments[0])
            elif function == "ROUND" and len(arguments) == 2:
                arguments[1] = self._digits(arguments[1])
        return st.Call(function, tuple(arguments), span=_span(meta))

    def _percentile(self, meta: Meta, arguments: list[Any]) -> st.Expression:
        """The share of values below is part of the function, not a value."""
        given = arguments[1].value if len(arguments) == 2 and isinstance(arguments[1], st.Literal) else None
        share = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else -1.0
        if not 0 <= share <= 1:
            message = "PERCENTILE takes an attribute of a variable and a number from 0 to 1"
            self._problem(_span(meta), "TW260", message, "write PERCENTILE(S.price, 0.95), or MEDIAN(S.price)")
            return st.Literal(0, span=_span(meta))
        return self._aggregate(meta, "PERCENTILE", arguments[0], parameter=share)

    def _unit(self, argument: st.Expression) -> st.Expression:
        """The unit of DATE_TRUNC, in upper case: part of the function, not a value."""
        if isinstance(argument, st.Literal) and str(argument.value).upper() in TRUNCATION_UNITS:
            return st.Literal(str(argument.value).upper(), span=argument.span)
        named = argument.value if isinstance(argument, st.Literal) else "that"
        hint = f"write one of {', '.join(repr(unit.lower()) for unit in TRUNCATION_UNITS)} as its first argument"
        assert argument.span is not None, "read from a text"
        self._problem(argument.span, "TW260", f"DATE_TRUNC does not know the unit {named}", hint)
        return st.Literal("DAY", span=argument.span)

    def _digits(self, argument: st.Expression) -> st.Expression:
        """The digits that ROUND keeps: part of the function, not a value."""
        digits = argument.value if isinstance(argument, st.Literal) else None
        if type(digits) is int and 0 <= digits <= MAX_ROUNDED_DIGITS:
            return argument
        hint = f"write a whole number from 0 to {MAX_ROUNDED_DIGITS} as its second argument"
        assert argument.span is not None, "read from a text"
        self._problem(argument.span, "TW260", "ROUND does not support that many digits", hint)
        return st.Literal(0, span=argument.span)

    # Literals

    def integer(self, meta: Meta, children: list[Any]) -> st.Expression:
        digits = children[0].lstrip("0") or "0"
        # The sign is read later, so the smallest 64-bit number is let through here.
        if len(digits) > 19 or int(digits) > 2**63:
            hint = "write a float such as 1e20 for a large number"
            self._problem(_span(meta), "TW113", "the number does not fit 64 bits", hint)
            digits = "0"
        return st.Literal(int(digits), span=_span(meta))

    def decimal(self, meta: Meta, children: list[Any]) -> st.Expression:
        value = float(children[0])
        if not math.isfinite(value):
            self._problem(_span(meta), "TW113", "the number is too large for a float", "write a smaller one")
            value = 0.0
        return st.Literal(value, span=_span(meta))

    def string(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Literal(_unquoted(children[0]), span=_span(meta))

    def true(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Literal(True, span=_span(meta))

    def false(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Literal(False, span=_span(meta))

    def null(self, meta: Meta, children: list[Any]) -> st.Expression:
        return st.Literal(None, span=_span(meta))

    def timestamp(self, meta: Meta, children: list[Any]) -> st.Expression:
        text = _unquoted(children[1]).strip()
        try:
            if not _TIMESTAMP.fullmatch(text):
                raise ValueError(text)
            moment = datetime.fromisoformat(re.sub(r"\s+(?=Z|[+-]\d{2}:?\d{2}$)", "", text))
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            elapsed = moment - _EPOCH
        except (ValueError, OverflowError):
            hint = "write TIMESTAMP '2024-02-29 13:45:00', with microseconds and an offset where needed"
            self._problem(_span(meta), "TW113", f"{children[1]} is not a timestamp", hint)
            return st.TimestampLiteral(0, span=_span(meta))
        microseconds = (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
        return st.TimestampLiteral(microseconds, span=_span(meta))

    def date(self, meta: Meta, children: list[Any]) -> st.Expression:
        text = _unquoted(children[1]).strip()
        try:
            if not _DATE.fullmatch(text):
                raise ValueError(text)
            day = date.fromisoformat(text)
        except ValueError:
            self._problem(_span(meta), "TW113", f"{children[1]} is not a date", "write DATE '2024-02-29'")
            return st.DateLiteral(0, span=_span(meta))
        return st.DateLiteral((day - _EPOCH.date()).days, span=_span(meta))

    def duration(self, meta: Meta, children: list[Any]) -> st.Expression:
        return make_duration(str(children[0]), str(children[1]), _span(meta), self.problems, may_be_zero=True)

    # Names

    def attribute(self, meta: Meta, children: list[Any]) -> st.Attribute:
        return st.Attribute(tuple(map(str, children)), span=_span(meta))

    def name(self, meta: Meta, children: list[Any]) -> _Name:
        token = str(children[0])
        name = _Name(token[1:-1].replace("``", "`") if token.startswith("`") else token)
        name.span, name.quoted = _span(meta), token.startswith("`")
        return name


def _walk_outside(node: st.Node) -> Iterator[st.Node]:
    """As `walk`, without what stands inside of aggregates: functions there are scalar ones."""
    yield node
    if not isinstance(node, st.Aggregate) and not (isinstance(node, st.Call) and node.function in EACH_AGGREGATES):
        for child in node.children():
            yield from _walk_outside(child)


def _event(names: list[_Name], span: Span) -> st.EventPattern:
    """`_` alone is a variable of that name, as `A` alone is one."""
    type_, variable = names[0], str(names[1]) if len(names) > 1 else None
    if type_.quoted or not st.means_any(type_):
        return st.EventPattern(str(type_), variable, span=span)
    return st.EventPattern(None, variable or (None if type_.upper() == st.ANY else str(type_)), span=span)


def _unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)
