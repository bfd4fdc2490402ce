"""Runners: the same rows from every place where data can live."""

from __future__ import annotations

import trendweave
from trendweave.language import syntax_tree as st


def row_expression(text: str) -> st.Expression:
    """An expression as the planner gives it to runners; `e` is the row at hand."""
    plan = trendweave.query(f"RETURN COUNT(*) PATTERN E e WHERE ({text}) IS NULL OR e.anything IS NULL").plan
    (condition,) = plan.variables[0].local
    assert isinstance(condition, st.AnyOf)
    (asked, _) = condition.parts
    assert isinstance(asked, st.IsNull)
    return asked.operand
