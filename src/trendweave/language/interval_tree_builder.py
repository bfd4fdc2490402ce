"""Lark's parse tree -> the tree of an interval query. What trend queries share is built as for those."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from trendweave.errors import near_names
from trendweave.language import syntax_tree as st
from trendweave.language.durations import refuse_zero
from trendweave.language.functions import NTH
from trendweave.language.interval_tree import (
    MATCH_AGGREGATES,
    PREV,
    RELATIONS,
    Constraint,
    IntervalColumns,
    IntervalReturn,
    Situation,
    with_limits,
)
from trendweave.language.syntax_tree import Span
from trendweave.language.tree_builder import Clause, TreeBuilder


def _span(meta: Meta) -> Span:
    return Span(meta.start_pos, meta.end_pos, meta.line, meta.column)


def _nodes(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


@v_args(meta=True)
class IntervalTreeBuilder(TreeBuilder):
    def interval_query(self, meta: Meta, children: list[Any]) -> list[Clause]:
        return children

    def situated_query(self, meta: Meta, children: list[Any]) -> list[Clause]:
        return children

    # Where the intervals come from

    def from_events(self, meta: Meta, children: list[Any]) -> Clause:
        return "FROM", str(_nodes(children)[0]), _span(meta)

    def from_intervals(self, meta: Meta, children: list[Any]) -> Clause:
        return "FROM", IntervalColumns(*map(str, _nodes(children)), span=_span(meta)), _span(meta)

    def partition_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "PARTITION BY", tuple(_nodes(children)), _span(meta)

    def define_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "DEFINE", tuple(_nodes(children)), _span(meta)

    def situation(self, meta: Meta, children: list[Any]) -> Situation:
        name, *parts = _nodes(children)
        bounds = next((part for part in parts if isinstance(part, tuple)), None)
        condition = next((part for part in parts if not isinstance(part, tuple)), None)
        if bounds is None and condition is not None:
            condition, bounds = without_length(condition, meta.end_pos)
        for node in condition.walk() if condition is not None else ():
            if isinstance(node, st.During):
                hint = "define a situation by columns of its events; DURING belongs into WHERE"
                self._problem(node.span or name.span, "TW253", "DURING is a condition of trends", hint)
            elif isinstance(node, st.Aggregate):
                message = f"{node.function} is no scalar function"
                hint = "an aggregate describes a whole match; use it in RETURN"
                if node.function == NTH:
                    message = "a situation has no match whose events could be numbered"
                    hint = "compare columns of its events, such as x > 5 or x > PREV(x)"
                self._problem(node.span or name.span, "TW108", message, hint)
        low, high = bounds or (None, None)
        return with_limits(Situation(str(name), condition, span=name.span), low, high, self.problems)

    def at_least_long(self, meta: Meta, children: list[Any]) -> tuple[st.Duration, None]:
        return children[-1], None

    def at_most_long(self, meta: Meta, children: list[Any]) -> tuple[None, st.Duration]:
        return None, children[-1]

    def between_long(self, meta: Meta, children: list[Any]) -> tuple[st.Duration, st.Duration]:
        low, high = _nodes(children)
        return low, high

    # Relations

    def relations_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "PATTERN", tuple(constraint for chain in _nodes(children) for constraint in chain), _span(meta)

    def constraint(self, meta: Meta, children: list[Any]) -> tuple[Constraint, ...]:
        """`A starts B before C` says A starts B and B before C."""
        links = zip(children[0::2], children[1::2], children[2::2], strict=False)
        return tuple(
            Constraint(str(left), relations, str(right), span=_joined(left.span, right.span))
            for left, relations, right in links
        )

    def relations(self, meta: Meta, children: list[Any]) -> tuple[str, ...]:
        names = [self._relation(child) for child in children if isinstance(child, Token)]
        return tuple(name for name in RELATIONS if name in names)

    def _relation(self, token: Token) -> str:
        name = "-".join(str(token).lower().replace("_", " ").replace("-", " ").split())
        if name in RELATIONS:
            return name
        start = token.start_pos or 0
        span = Span(start, start + len(token), token.line or 1, token.column or 1)
        hint = near_names(name, RELATIONS) or f"the relations are {', '.join(RELATIONS)}"
        self._problem(span, "TW151", f"unknown relation {name}", hint)
        return "before"

    # Results

    def detect_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "DETECT", True, _span(meta)

    def every_clause(self, meta: Meta, children: list[Any]) -> Clause:
        return "EVERY", refuse_zero(children[1], self.problems), _span(meta)

    def return_situations(self, meta: Meta, children: list[Any]) -> Clause:
        return "RETURN", IntervalReturn("situations", span=_span(meta)), _span(meta)

    def return_matches(self, meta: Meta, children: list[Any]) -> Clause:
        outputs = tuple(_nodes(children))
        for output in outputs:
            if isinstance(output.value, st.Aggregate):
                self._check_aggregate(output.value, MATCH_AGGREGATES)
        return "RETURN", IntervalReturn("matches", outputs, span=_span(meta)), _span(meta)

    def aggregate(self, meta: Meta, children: list[Any]) -> st.Expression:
        function, argument = children
        return self._aggregate(meta, function, None if isinstance(argument, Token) else argument)

    # Conditions

    def call(self, meta: Meta, children: list[Any]) -> st.Expression:
        name, *arguments = _nodes(children)
        if name.upper() != PREV:
            return super().call(meta, children)
        if len(arguments) != 1:
            self._problem(_span(meta), "TW109", f"PREV takes 1 argument, not {len(arguments)}", "give PREV 1 argument")
        return st.Call(PREV, tuple(arguments), span=_span(meta))


def _joined(first: Span, last: Span) -> Span:
    return Span(first.start, last.end, first.line, first.column)


def without_length(
    condition: st.Expression, end: int | None
) -> tuple[st.Expression, tuple[st.Duration, st.Duration] | None]:
    """`flag BETWEEN 4 seconds AND 30 seconds` at the end of a definition bounds the length of the situation.

    The grammar reads it as a condition on `flag`. Parentheses around the condition keep it one: it then ends before
    the definition does. Without places (`end` is None) every such condition counts.
    """
    match condition:
        case st.Between(operand=operand, low=st.Duration() as low, high=st.Duration() as high, negated=False):
            if end is None or (condition.span is not None and condition.span.end == end):
                return operand, (low, high)
        case st.AllOf(parts=parts) | st.AnyOf(parts=parts):
            last, bounds = without_length(parts[-1], end)
            if bounds is not None:
                joined = st.all_of if isinstance(condition, st.AllOf) else st.any_of
                return joined((*parts[:-1], last), condition.span), bounds
        case st.Inverse(operand=operand):
            inner, bounds = without_length(operand, end)
            if bounds is not None:
                return replace(condition, operand=inner), bounds
    return condition, None
