"""Whether a row group may hold a row that a program takes, seen from the bounds of its columns.

Only what the program would drop anyway is left unread, and where bounds do not tell, it is read.
"""

from __future__ import annotations

from trendweave.expressions.arrow.evaluate import evaluate
from trendweave.language import syntax_tree as st
from trendweave.programs.program import Flag, Needs
from trendweave.runners.spark.reading.bounds import Bounds


def may_be_taken(needs: Needs, bounds: Bounds) -> bool:
    """Whether some row may be one that a program takes.

    Args:
        needs: What the program takes.
        bounds: What is known of the rows.
    """
    if not bounds.rows:
        return False
    if needs.time is not None and bounds.is_all_null(needs.time):
        return False
    if needs.type is not None:
        if bounds.is_all_null(needs.type):
            return False
        if needs.kept_types is not None and not any(bounds.is_inside(needs.type, one) for one in needs.kept_types):
            return False
    if any(bounds.is_all_null(path[0]) for path in needs.known):
        return False
    return not needs.only_flagged or any(_may_be_set(flag, needs, bounds) for flag in needs.flags if flag is not None)


def _may_be_set(flag: Flag, needs: Needs, bounds: Bounds) -> bool:
    if flag.type is not None and needs.type is not None and not bounds.is_inside(needs.type, flag.type):
        return False
    return flag.condition is None or may_be_true(flag.condition, bounds)


def may_be_true(condition: st.Expression, bounds: Bounds) -> bool:
    """Whether a condition may hold in some row.

    Args:
        condition: A condition on one row.
        bounds: What is known of the rows.
    """
    match condition:
        case st.AllOf(parts=parts):
            return all(may_be_true(part, bounds) for part in parts)
        case st.AnyOf(parts=parts):
            return any(may_be_true(part, bounds) for part in parts)
        case st.Comparison(operator=operator, left=st.Attribute(names=(name,)), right=right) if _is_constant(right):
            return _may_compare(name, operator, right, bounds)
        case st.Comparison(operator=operator, left=left, right=st.Attribute(names=(name,))) if _is_constant(left):
            return _may_compare(name, st.MIRRORED[operator], left, bounds)
        case st.InList(operand=st.Attribute(names=(name,)), options=options, negated=False):
            return any(not _is_constant(one) or _may_compare(name, "=", one, bounds) for one in options)
        case st.Between(operand=st.Attribute(names=(name,)), low=low, high=high, negated=False):
            return (not _is_constant(low) or _may_compare(name, ">=", low, bounds)) and (
                not _is_constant(high) or _may_compare(name, "<=", high, bounds)
            )
        case st.IsNull(operand=st.Attribute(names=(name,)), negated=negated):
            return not bounds.is_all_null(name) if negated else bounds.may_be_null(name)
    return True


def _is_constant(expression: st.Expression) -> bool:
    return not any(
        isinstance(node, st.Attribute | st.NextAttribute | st.PreviousAttribute) for node in expression.walk()
    )


def _may_compare(name: str, operator: st.ComparisonOperator, constant: st.Expression, bounds: Bounds) -> bool:
    """The comparison itself is asked about the least and the greatest value, so that it means what it means in rows."""
    if bounds.is_all_null(name):
        return False
    if not bounds.knows(name):
        return True

    def holds(asked: st.ComparisonOperator, least: bool) -> bool:
        table = bounds.low if least else bounds.high
        answer = evaluate(st.Comparison(asked, st.Attribute((name,)), constant), table)[0].as_py()
        # A bound that cannot be compared, as a number that is too large may be, tells nothing of the others.
        return answer is None or bool(answer)

    match operator:
        case "<" | "<=":
            return holds(operator, least=True)
        case ">" | ">=":
            return holds(operator, least=False)
        case "=":
            return holds("<=", least=True) and holds(">=", least=False)
    # Only where all values are one, and that one is it, none differs.
    return holds("!=", least=True) or holds("!=", least=False)
