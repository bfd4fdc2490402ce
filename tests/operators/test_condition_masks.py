"""Filters by a compiled loop keep the rows that Arrow keeps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from trendweave import operators as ops
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.language.operator_texts import read_condition
from trendweave.programs.operators import filter as filters

VALUES = pa.table(
    {
        "x": pa.array([0.5, None, float("nan"), -0.0, 3.0, float("inf")] * 3),
        "n": pa.array([1, 2, None, -(2**63), 2**63 - 1, 0] * 3, pa.int64()),
        "whole": np.arange(18, dtype=np.int32),
        "on": pa.array([True, False, None] * 6),
        "name": ["a", None, "b"] * 6,
    }
)
CONDITIONS = [
    "x > 0.4",
    "x > n",
    "n + whole > 0 OR on",
    "NOT on AND x IS NULL",
    "whole % 7 BETWEEN 2 AND 4",
    "x IN (0, 3) OR n = 2",
    "whole / n > 1",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_compiled_loop_keeps_what_arrow_keeps(text: str) -> None:
    condition = read_condition(text)
    rows = pa.concat_tables([VALUES.slice(0, 5), VALUES.slice(5, 0), VALUES.slice(5)])
    compiled = compile_condition(condition, {"": without_nulls(rows)})
    assert isinstance(compiled, Compiled)

    expected = is_true(condition, rows)

    assert expected.any()
    assert filters.mask_compiled(compiled, rows).tolist() == expected.tolist()


@pytest.mark.parametrize("text", ["whole > 3", "name = 'a' AND whole > 3", "3 > 2"])
def test_a_condition_that_is_used_much_is_compiled_where_it_can_be(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    events = VALUES.append_column("time", pa.array(np.arange(18)))
    compiled = []
    whole = filters.mask_compiled
    monkeypatch.setattr(filters, "_FEW", 1)
    monkeypatch.setattr(filters, "_WORTH_COMPILING", 100)
    monkeypatch.setattr(filters, "_spent", {})
    monkeypatch.setattr(filters, "mask_compiled", lambda *given: compiled.append(1) or whole(*given))

    found = [ops.filter(text).run(events).num_rows for _ in range(3)]

    assert len(set(found)) == 1
    assert len(compiled) == (2 if text == "whole > 3" else 0)
