"""Prepared rows as they travel: without those that no result can come from, and with a copy for each family of keys.

The same that `runners/spark/prepare.py` does in Spark SQL.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.language import syntax_tree as st
from trendweave.programs.program import FAMILY, MEETS, Family, Needs
from trendweave.rows.hashing import hash_rows


def keep_known(rows: pa.Table, needs: Needs) -> pa.Table:
    """Only rows that have all keys that they must have.

    Args:
        rows: Prepared rows.
        needs: What the program takes.
    """
    named = {expression.names: name for name, expression in needs.columns if isinstance(expression, st.Attribute)}
    columns = [rows.column(named[path]) for path in needs.known if path in named]
    tests = [pc.is_valid(column) for column in columns if column.null_count]
    return rows.filter(reduce(pc.and_, tests)) if tests else rows


def copy_rows(rows: pa.Table, needs: Needs) -> pa.Table:
    """Each row for each family that takes it; as they are where there is one family.

    Args:
        rows: Prepared rows.
        needs: Says which families there are.
    """
    if len(needs.families) < 2:
        return rows
    copies = []
    for family in needs.families:
        taken = rows if family.takes is None else rows.filter(pa.array(_is_taken(rows, family, needs)))
        keys = [column_of(taken, path) for path in family.keys]
        meets = hash_rows(keys, taken.num_rows).view(np.int64)
        copied = taken.append_column(FAMILY, pa.array(np.full(taken.num_rows, family.mark, np.int32)))
        copies.append(copied.append_column(MEETS, pa.array(meets)))
    return pa.concat_tables(copies)


def _is_taken(rows: pa.Table, family: Family, needs: Needs) -> np.ndarray:
    masks = np.zeros(len(needs.words), np.uint64)
    for bit in family.takes or ():
        masks[bit // 64] |= np.uint64(1 << bit % 64)
    taken = np.zeros(rows.num_rows, np.bool_)
    for word, mask in zip(needs.words, masks, strict=True):
        taken |= (rows.column(word).to_numpy().view(np.uint64) & mask) != 0
    return taken
