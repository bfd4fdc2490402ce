"""Operators as text that `pipe` reads again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression, print_name, reserve
from trendweave.operators.windows import window_text
from trendweave.planning.operator_plans import RowCount, TimeSpan, Window

#: Words of operators that a name could be taken for.
_WORDS = ("OVER", "BY", "FILTER", "AGGREGATE", "JOIN", "MATCH")
_QUOTED = re.compile(r"'(?:[^']|'')*'|`(?:[^`]|``)*`")


def filter_text(condition: st.Expression) -> str:
    """`FILTER price > 10`."""
    with reserve(*_WORDS):
        return f"FILTER {print_expression(condition)}"


def aggregate_text(outputs: Sequence[st.Output], window: Window, keys: Sequence[str], order_by: Sequence[str]) -> str:
    """`AGGREGATE AVG(price) AS mean OVER 100 ROWS SLIDE 10 ROWS BY company`."""
    usual = window.length if isinstance(window, TimeSpan) else window.rows
    with reserve(*_WORDS):
        told = [
            print_expression(output.value) + ("" if output.alias is None else f" AS {print_name(output.alias)}")
            for output in outputs
        ]
        return f"AGGREGATE {', '.join(told)} OVER {window_text(window, usual)}" + _tail(keys, order_by)


def join_text(
    condition: st.Expression | None, left: Window, right: Window, keys: Sequence[str], order_by: Sequence[str]
) -> str:
    """`JOIN left.x < right.x LEFT 10 seconds RIGHT 100 ROWS BY machine`."""
    with reserve(*_WORDS):
        told = "" if condition is None else f" {print_expression(condition)}"
        windows = [window_text(window, 1 if isinstance(window, RowCount) else None) for window in (left, right)]
        return f"JOIN{told} LEFT {windows[0]} RIGHT {windows[1]}" + _tail(keys, order_by)


def match_text(query: str) -> str:
    """`MATCH RETURN ...`, on one line where no text in it has several."""
    if not any("\n" in quoted for quoted in _QUOTED.findall(query)):
        query = query.replace("\n", " ")
    return f"MATCH {query}"


def _tail(keys: Sequence[str], order_by: Sequence[str]) -> str:
    by = "" if not keys else f" BY {', '.join(map(print_name, keys))}"
    return by + ("" if not order_by else f" ORDER BY {', '.join(map(print_name, order_by))}")
