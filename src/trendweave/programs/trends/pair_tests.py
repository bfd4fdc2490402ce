"""Predicates on two rows that are no comparison of one value of each (`A.x * NEXT(A).y > 3`).

They are decided once for every pair of different values that the two rows can have, by the same evaluator that all
other expressions go through, so they mean the same. Kernels look the answer up.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.kernels import PairTest
from trendweave.language import syntax_tree as st
from trendweave.planning.planner import columns_of
from trendweave.planning.predicates import rewrite_columns
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.segments import Segments

#: Pairs of different values that are decided at most.
MAX_PAIRS = 400_000_000
_PAIRS_AT_ONCE = 2_000_000
_LATER = "later_"


def pair_test(general: tuple[st.Expression, ...], table: pa.Table, segments: Segments) -> PairTest | None:
    """The answers for all pairs of different values, and which value each row has; None without such predicates."""
    if not general:
        return None
    condition = st.all_of(general)
    previous, previous_code = _different(sorted(path[0] for path in columns_of(condition)), table)
    following, following_code = _different(sorted(path[0] for path in columns_of(condition, of_next=True)), table)
    pairs = previous.num_rows * following.num_rows
    if pairs > MAX_PAIRS:
        message = f"a predicate on two events would be evaluated for {pairs:,} pairs of values"
        hint = "write it as comparisons of one event's value with the other's, or split the input by an equivalence"
        raise ExecutionError([Problem("TW401", message, hint)])
    answers = _answers(condition, previous, following)
    return PairTest(segments.take(previous_code), segments.take(following_code), answers)


def _different(names: list[str], table: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """The different combinations of values of some columns, and the number of each row's combination."""
    columns = [table.column(name) for name in names]
    codes = key_codes(columns, table.num_rows)
    first = first_of_each(codes)
    chosen = table.select(names).take(pa.array(first)) if names else pa.table({"": pa.nulls(first.size)})
    return chosen, codes


def _answers(condition: st.Expression, previous: pa.Table, following: pa.Table) -> np.ndarray:
    """bool[previous, following], decided for some rows of `previous` at a time."""

    def on_one_table(node: st.Attribute | st.NextAttribute) -> st.Expression:
        return st.Attribute((_LATER + node.names[0],)) if isinstance(node, st.NextAttribute) else node

    one_table = rewrite_columns(condition, on_one_table)
    later = following.rename_columns([_LATER + name for name in following.column_names])
    answers = np.zeros((previous.num_rows, following.num_rows), np.bool_)
    step = max(1, _PAIRS_AT_ONCE // max(1, following.num_rows))
    cuts = [*range(0, previous.num_rows, step), previous.num_rows]
    for low, high in pairwise(cuts):
        left = previous.slice(low, high - low).take(pa.array(np.repeat(np.arange(high - low), later.num_rows)))
        right = later.take(pa.array(np.tile(np.arange(later.num_rows), high - low)))
        both = pa.table([*left.columns, *right.columns], names=[*left.column_names, *right.column_names])
        answers[low:high] = is_true(one_table, both).reshape(high - low, later.num_rows)
    return answers
