"""The kind of value of each scalar expression, and what cannot be computed or compared.

A duration next to a number is its number of seconds, so that `NEXT(S).time - S.time < 5 minutes` means the same for a
table whose time is a timestamp and for one whose time is a number of seconds.
"""

from __future__ import annotations

from collections.abc import Callable

from trendweave.errors import Problem
from trendweave.events import ColumnType, Kind
from trendweave.language import syntax_tree as st
from trendweave.language.functions import PARTS_OF_TIME
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import Span, problem_at
from trendweave.planning.plan import Path

_NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
_MOMENTS = frozenset({Kind.TIMESTAMP, Kind.DATE})
_COMPARABLE = (_NUMBERS, _MOMENTS, {Kind.STRING}, {Kind.BOOLEAN}, {Kind.DURATION}, {Kind.BINARY})


class ExpressionTypes:
    """`kind_of` gives the kind of an expression, or None when a problem was reported for a part of it."""

    def __init__(self, column: Callable[[Path, Span | None], ColumnType | None], problems: list[Problem]) -> None:
        self._column = column
        self._problems = problems

    def kind_of(self, expression: st.Expression) -> Kind | None:
        match expression:
            case st.Literal(value=value):
                names = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.FLOAT, str: Kind.STRING}
                return names.get(type(value), Kind.NULL)
            case st.TimestampLiteral():
                return Kind.TIMESTAMP
            case st.DateLiteral():
                return Kind.DATE
            case st.Duration():
                return Kind.DURATION
            case st.Attribute(names=names):
                return self._column_kind(names[1:], expression.span)
            case st.NextAttribute(names=names) | st.PreviousAttribute(names=names):
                return self._column_kind(names, expression.span)
            case st.Calculated(names=names):
                return self._column_kind(names[1:], expression.span)
            case st.Aggregate(function="FIRST" | "LAST" | "NTH", argument=st.Attribute() | st.Calculated() as argument):
                return self._column_kind(argument.names[1:], expression.span)
            case st.Aggregate():
                return self._aggregate(expression)
            case st.Negative(operand=operand):
                return self._only(expression, operand, _NUMBERS | {Kind.DURATION}, "minus")
            case st.Arithmetic():
                return self._arithmetic(expression)
            case st.Comparison(left=left, right=right):
                self._compare(expression, left, right)
                return Kind.BOOLEAN
            case st.AllOf(parts=parts) | st.AnyOf(parts=parts):
                for part in parts:
                    self._only(part, part, {Kind.BOOLEAN}, "AND and OR")
                return Kind.BOOLEAN
            case st.Inverse(operand=operand):
                self._only(expression, operand, {Kind.BOOLEAN}, "NOT")
                return Kind.BOOLEAN
            case st.InList(operand=operand, options=options):
                for option in options:
                    self._compare(expression, operand, option)
                return Kind.BOOLEAN
            case st.Between(operand=operand, low=low, high=high):
                self._compare(expression, operand, low)
                self._compare(expression, operand, high)
                return Kind.BOOLEAN
            case st.IsNull(operand=operand):
                self.kind_of(operand)
                return Kind.BOOLEAN
            case st.Like(operand=operand):
                self._only(expression, operand, {Kind.STRING}, "LIKE")
                return Kind.BOOLEAN
            case st.RLike(operand=operand):
                self._only(expression, operand, {Kind.STRING}, "RLIKE")
                return Kind.BOOLEAN
            case st.Call():
                return self._call(expression)
            case st.Cast(operand=operand, type=target):
                self._only(expression, operand, _NUMBERS | {Kind.STRING, Kind.BOOLEAN}, "CAST")
                return Kind.INTEGER if target == "BIGINT" else Kind.FLOAT
            case st.Case():
                return self._case(expression)
            case st.Equivalence() | st.Parameter():
                raise AssertionError("equivalences stand outside of expressions, and parameters have values")

    def _aggregate(self, aggregate: st.Aggregate) -> Kind | None:
        """Of one trend or of many; whether the column can be aggregated is told elsewhere."""
        if aggregate.function == "COUNT" or aggregate.argument is None:
            return Kind.INTEGER
        if aggregate.function in ("AVG", "STDDEV", "VARIANCE", "MEDIAN", "PERCENTILE"):
            return Kind.FLOAT
        if aggregate.function in ("COLLECT_LIST", "COLLECT_SET"):
            return Kind.COLLECTION
        if len(aggregate.argument.names) < 2:
            return Kind.INTEGER  # of LENGTH
        found = self.kind_of_quietly(aggregate.argument)
        return None if aggregate.function == "SUM" and found not in _NUMBERS else found

    def _column_kind(self, path: Path, span: Span | None) -> Kind | None:
        found = self._column(path, span)
        return None if found is None else found.kind

    def _only(
        self, place: st.Expression, operand: st.Expression, kinds: set[Kind] | frozenset[Kind], what: str
    ) -> Kind | None:
        kind = self.kind_of(operand)
        if kind is None or kind in kinds or kind is Kind.NULL:
            return kind
        wanted = " or ".join(sorted(kind.value for kind in kinds))
        message = f"{what} needs {wanted}; {print_expression(operand)} is {kind.value}"
        self._problems.append(problem_at(place.span, "TW306", message, "use another column, or CAST it"))
        return None

    def _compare(self, place: st.Expression, left: st.Expression, right: st.Expression) -> None:
        kinds = (self.kind_of(left), self.kind_of(right))
        if None in kinds or self._go_together(*kinds):
            return
        shown = [
            f"{print_expression(side)} is {kind.value if kind else ''}"
            for side, kind in zip((left, right), kinds, strict=True)
        ]
        message = f"these cannot be compared: {', '.join(shown)}"
        hint = "compare values of one kind; CAST turns text into numbers"
        for side, kind in zip((left, right), reversed(kinds), strict=True):
            if isinstance(side, st.Literal) and isinstance(side.value, str) and kind in _MOMENTS:
                hint = f"write {'DATE' if kind is Kind.DATE else 'TIMESTAMP'} {print_expression(side)}"
        self._problems.append(problem_at(place.span, "TW305", message, hint))

    @staticmethod
    def _go_together(left: Kind | None, right: Kind | None) -> bool:
        if Kind.NULL in (left, right) or any(left in group and right in group for group in _COMPARABLE):
            return True
        return any(one is Kind.DURATION and other in _NUMBERS for one, other in ((left, right), (right, left)))

    def _arithmetic(self, expression: st.Arithmetic) -> Kind | None:
        left, right, sign = self.kind_of(expression.left), self.kind_of(expression.right), expression.operator
        if left is None or right is None:
            return None
        if Kind.NULL in (left, right):
            return left if right is Kind.NULL else right
        if left in _NUMBERS and right in _NUMBERS:
            if sign == "/" or Kind.FLOAT in (left, right):
                return Kind.FLOAT
            return Kind.DECIMAL if Kind.DECIMAL in (left, right) else Kind.INTEGER
        if sign in "+-":
            if left in _MOMENTS and right is Kind.DURATION:
                return Kind.TIMESTAMP
            if left is Kind.DURATION and right in _MOMENTS and sign == "+":
                return Kind.TIMESTAMP
            if left in _MOMENTS and right in _MOMENTS and sign == "-":
                return Kind.DURATION
            if left is Kind.DURATION and right is Kind.DURATION:
                return Kind.DURATION
            # A number of seconds and a duration.
            if Kind.DURATION in (left, right) and (left in _NUMBERS or right in _NUMBERS):
                return Kind.FLOAT
        message = f"{left.value} {sign} {right.value} cannot be computed"
        self._problems.append(
            problem_at(expression.span, "TW306", message, "use numbers, or times and durations with + and -")
        )
        return None

    def _case(self, case: st.Case) -> Kind | None:
        for when in case.whens:
            self._only(when.condition, when.condition, {Kind.BOOLEAN}, "WHEN")
        kinds = [self.kind_of(value) for value in case.values]
        known = [(value, kind) for value, kind in zip(case.values, kinds, strict=True) if kind is not Kind.NULL]
        if None in kinds:
            return None
        for value, kind in known[1:]:
            if not all(self._go_together(kind, other) for _, other in known):
                first, its_kind = known[0]
                shown = f"{print_expression(first)} is {its_kind.value if its_kind else ''}"
                shown += f", {print_expression(value)} is {kind.value if kind else ''}"
                message = f"the branches of CASE give different kinds of values: {shown}"
                hint = "give values of one kind; CAST turns text into numbers"
                self._problems.append(problem_at(value.span or case.span, "TW305", message, hint))
                return None
        return self._common_kind([kind for _, kind in known if kind is not None])

    @staticmethod
    def _common_kind(kinds: list[Kind]) -> Kind:
        """The kind in which values meet that go together."""
        if len(set(kinds)) <= 1:
            return kinds[0] if kinds else Kind.NULL
        if set(kinds) <= _MOMENTS:
            return Kind.TIMESTAMP
        return Kind.FLOAT if set(kinds) & {Kind.FLOAT, Kind.DURATION} else Kind.DECIMAL

    def _call(self, call: st.Call) -> Kind | None:
        first, *others = call.arguments
        match call.function:
            case "ABS" | "SIGN":
                return self._only(call, first, _NUMBERS, call.function)
            case "ROUND":
                return self._only(call, first, _NUMBERS, call.function)
            case "DATE":
                return Kind.DATE if self._only(call, first, _MOMENTS, call.function) else None
            case "DATE_TRUNC":
                return Kind.TIMESTAMP if self._only(call, others[0], _MOMENTS, call.function) else None
            case "DATEDIFF":
                kinds = [self._only(call, argument, _MOMENTS, call.function) for argument in call.arguments]
                return None if None in kinds else Kind.INTEGER
            case function if function in PARTS_OF_TIME:
                return Kind.INTEGER if self._only(call, first, _MOMENTS, function) else None
            case "CEIL" | "FLOOR":
                return Kind.INTEGER if self._only(call, first, _NUMBERS, call.function) else None
            case "SQRT":
                return Kind.FLOAT if self._only(call, first, _NUMBERS, call.function) else None
            case "LENGTH":
                return Kind.INTEGER if self._only(call, first, {Kind.STRING}, call.function) else None
            case "LOWER" | "UPPER" | "TRIM" | "CONCAT":
                kinds = [self._only(call, argument, {Kind.STRING}, call.function) for argument in call.arguments]
                return None if None in kinds else Kind.STRING
            case "SUBSTRING":
                kinds = [self._only(call, first, {Kind.STRING}, call.function)]
                kinds += [self._only(call, other, {Kind.INTEGER}, call.function) for other in others]
                return None if None in kinds else Kind.STRING
            case _:  # COALESCE, GREATEST, LEAST, NULLIF: arguments of one kind
                for other in others:
                    self._compare(call, first, other)
                kinds = [kind for kind in map(self.kind_of_quietly, call.arguments) if kind is not Kind.NULL]
                if None in kinds:
                    return None
                return self._common_kind([kind for kind in kinds if kind is not None])

    def kind_of_quietly(self, expression: st.Expression) -> Kind | None:
        """The kind again, without reporting the same problems twice."""
        return ExpressionTypes(self._column, []).kind_of(expression)
