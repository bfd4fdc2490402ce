"""Filters on a card keep the rows that Arrow's evaluator keeps, in order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.gpu.simulator import SimulatedCard
from trendweave.errors import ExecutionError
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import compile_condition
from trendweave.gpu import filter as on_card
from trendweave.gpu.filter import mask_rows, require_compiled
from trendweave.language.operator_texts import read_condition

CONDITIONS = [
    "x > 0.25 AND NOT broken",
    "x * 2 + n >= 1.5 OR x IS NULL OR at > TIMESTAMP '1970-01-01 00:00:00.000500'",
    "1 = 1",
]
COUNTS = [0, 1, 33, 2048, 5000]


def events(count: int, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=count).astype(np.float32)
    x[draw.random(count) < 0.05] = np.nan
    return pa.table(
        {
            "x": pa.array(x, mask=draw.random(count) < 0.1),
            "n": pa.array(draw.integers(-9, 9, count).astype(np.int16)),
            "broken": pa.array(draw.random(count) < 0.3, mask=draw.random(count) < 0.1),
            "at": pa.array(np.arange(count), pa.timestamp("us")),
        }
    )


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("at_once", [1024, 1 << 20])
def test_same_rows_as_arrow(
    card: SimulatedCard, text: str, count: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_card, "_AT_ONCE", at_once)
    # Parts that do not begin at a byte, as slices of tables do.
    table = pa.concat_tables([events(count + 3).slice(3), events(count, 1)])
    condition = read_condition(text)
    compiled = require_compiled(compile_condition(condition, {"": table.schema}))

    mask = mask_rows(card, compiled, table)

    assert mask.to_pylist() == is_true(condition, table).tolist()


def test_texts_are_refused_and_the_device_is_named() -> None:
    condition = read_condition("name LIKE 'a%'")
    found = compile_condition(condition, {"": pa.schema([("name", pa.string())])})

    with pytest.raises(ExecutionError, match=r"TW422(.|\n)*device='threads'"):
        require_compiled(found)
