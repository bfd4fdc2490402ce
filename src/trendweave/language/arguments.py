"""What aggregates are of: an attribute, or an expression of the attributes of one event."""

from __future__ import annotations

from typing import cast

from trendweave.errors import Problem
from trendweave.language import syntax_tree as st
from trendweave.language.functions import SCALAR_FUNCTIONS
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import problem_at


def make_argument(of: st.Expression, has_variables: bool = True) -> st.Attribute | st.Calculated | Problem:
    """The argument of an aggregate, or why there is none.

    Args:
        of: What stands in its brackets.
        has_variables: Whether attributes begin with a variable; operators have columns alone.
    """
    if isinstance(of, st.Attribute):
        return of
    text = print_expression(of)
    others = (st.NextAttribute, st.PreviousAttribute, st.Aggregate, st.Equivalence)
    foreign = next((node for node in of.walk() if isinstance(node, others) or _is_unknown(node)), None)
    if foreign is not None:
        written = print_expression(cast("st.Expression", foreign))
        message = f"an aggregate is of one event after the other, and {written} is not"
        return problem_at(foreign.span or of.span, "TW213", message, "aggregate an expression of attributes alone")
    attributes = [node for node in of.walk() if isinstance(node, st.Attribute)]
    if not attributes:
        hint = "name an attribute, as in SUM(S.price * 2); COUNT(*) counts trends, COUNT(S) events"
        return problem_at(of.span, "TW213", f"{text} names no attribute to aggregate", hint)
    if not has_variables:
        return st.Calculated(of, None, span=of.span)
    alone = next((node for node in attributes if len(node.names) < 2), None)
    if alone is not None:
        message = f"{print_expression(alone)} does not say which variable it belongs to"
        return problem_at(alone.span, "TW203", message, f"write S.{print_expression(alone)}")
    variables = tuple(dict.fromkeys(node.names[0] for node in attributes))
    if len(variables) > 1:
        message = f"an aggregate is of the events of one variable, and {text} names {' and '.join(variables)}"
        hint = f"aggregate the events of {variables[0]} and those of {variables[1]} by themselves"
        return problem_at(of.span, "TW213", message, hint)
    return st.Calculated(of, variables[0], span=of.span)


def _is_unknown(node: st.Node) -> bool:
    return isinstance(node, st.Call) and node.function not in SCALAR_FUNCTIONS
