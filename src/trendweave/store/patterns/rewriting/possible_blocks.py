"""In which blocks a condition may hold, seen from what the light index knows of their columns. All blocks at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trendweave.language import syntax_tree as st
from trendweave.store.index.blocks import Blocks
from trendweave.store.patterns.rewriting.ranges import read_comparison


def find_possible(condition: st.Expression | None, blocks: Blocks, schema: pa.Schema) -> np.ndarray:
    """Where a condition may be true.

    Args:
        condition: On one event; None holds everywhere.
        blocks: What is known.
        schema: The columns of the events.

    Returns:
        True or False per block.
    """
    anywhere = np.ones(blocks.count.size, np.bool_)
    match condition:
        case st.AllOf(parts=parts):
            return np.logical_and.reduce([find_possible(part, blocks, schema) for part in parts])
        case st.AnyOf(parts=parts):
            return np.logical_or.reduce([find_possible(part, blocks, schema) for part in parts])
        case st.Between(operand=operand, low=low, high=high, negated=False):
            bounds = (st.Comparison(">=", operand, low), st.Comparison("<=", operand, high))
            return np.logical_and.reduce([find_possible(part, blocks, schema) for part in bounds])
        case st.InList(operand=operand, options=options, negated=False):
            equal = [find_possible(st.Comparison("=", operand, option), blocks, schema) for option in options]
            return np.logical_or.reduce(equal)
        case st.IsNull(operand=st.Attribute(names=(name,)), negated=negated):
            known = blocks.column(name) if name in schema.names else None
            if known is None:
                return anywhere
            some = known.nulls < blocks.count if negated else known.nulls > 0
            return some | ~known.known | ~blocks.exact
        case st.Comparison():
            found = read_comparison(condition, schema)
            if found is not None:
                operator = "<>" if found.operator == "!=" else found.operator
                return blocks.may_hold(found.column, operator, found.constant)
    return anywhere
