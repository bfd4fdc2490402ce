"""Rules that differ in constants on Spark: constants of every kind, and results of every kind, in one job."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import assert_same, frame_from
from trendweave.sharing.constants import LEAST

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHAPES = {
    "floats": "RETURN k, COUNT(*), MAX(S.x) AS top PATTERN A S+ WHERE [k] AND S.x > 0.{n} GROUP-BY k "
    "WITHIN 20 seconds SLIDE 10 seconds",
    "whole": "RETURN COUNT(*) PATTERN SEQ(A S, B E) WHERE [k] AND S.i >= {n} AND E.i IN ({n}, 3) WITHIN 20 seconds "
    "SLIDE 20 seconds",
    "texts": "RETURN EACH FIRST(S.i) AS i PATTERN SEQ(A S, B E) WHERE [k] AND E.s = 's{n}' WITHIN 10 seconds",
    "times": "RETURN TRENDS PATTERN SEQ(A S, B E) WHERE [k] AND S.at > TIMESTAMP '2024-01-01 00:0{n}:00' AND "
    "E.i > 2 WITHIN 9 seconds SLIDE 9 seconds",
    "decimals": "RETURN k, SUM(S.m) AS m PATTERN A S WHERE [k] AND S.m < {n}.5 GROUP-BY k WITHIN SESSION 4 seconds",
    "first": "RETURN k, COUNT(*) AS n PATTERN B E WHERE E.i != {n} GROUP-BY k WITHIN 50 seconds SLIDE 50 seconds "
    "ORDER BY n DESC LIMIT 1",
}


def make_events(rows: int = 400) -> pa.Table:
    random = np.random.default_rng(3)

    def some(values: object, kind: pa.DataType | None = None) -> pa.Array:
        return pa.array(values, kind, mask=random.random(rows) < 0.1)

    moments = np.datetime64("2024-01-01", "us") + random.integers(0, 600, rows) * np.timedelta64(1, "s")
    floats = np.where(random.random(rows) < 0.05, np.nan, random.normal(size=rows))
    return pa.table(
        {
            "time": pa.array(np.sort(random.integers(0, 150, rows)) * 1_000_000, pa.timestamp("us", "UTC")),
            "type": random.choice(["A", "B"], rows),
            "k": some(random.choice(["u", "v", "w"], rows)),
            "x": some(floats),
            "i": some(random.integers(0, 9, rows)),
            "s": some(np.char.add("s", random.integers(0, 9, rows).astype(str))),
            "at": some(moments, pa.timestamp("us", "UTC")),
            "m": some([Decimal(int(number)) / 4 for number in random.integers(0, 40, rows)], pa.decimal128(10, 2)),
        }
    )


def test_rules_of_every_kind(spark: SparkSession, tmp_path: Path) -> None:
    events = make_events()
    texts = {f"{shape} {number}": text.format(n=number) for shape, text in SHAPES.items() for number in range(LEAST)}
    rules = trendweave.workload(texts)
    assert rules.explain().count("alike but for constants") == len(SHAPES)
    found = rules.run(frame_from(spark, events, tmp_path)).toArrow()
    some = 0
    for name, query in rules.items():
        alone = query.run(events)
        some += bool(alone.num_rows)
        assert_same(alone, rules.rows(found, name))
    assert some > len(texts) // 2
