"""Events that are folded into slices in several tasks, without Spark: the rows of one table, however they are dealt."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.running import assert_tables
from trendweave.language.operator_texts import read_outputs
from trendweave.planning.operator_plans import AggregatePlan, TimeSpan
from trendweave.programs.operators.windows.program import bind_windows
from trendweave.programs.operators.windows.slices import BEGIN
from trendweave.rows.arrow_bytes import from_stream
from trendweave.runners.local import run_local
from trendweave.runners.spark.blobs import Buckets
from trendweave.runners.spark.operators import FoldTask, MergeTask

SECOND = 10**9


@pytest.mark.parametrize("keys", [(), ("key",)])
@pytest.mark.parametrize("slide", [1, 40, 300])
def test_tasks_give_the_rows_of_one_table(keys: tuple[str, ...], slide: int) -> None:
    random = np.random.default_rng(slide)
    size = 600
    events = pa.table(
        {
            "time": random.integers(-500, 500, size),
            "key": pa.array(random.choice([0.0, -0.0, 1.0, np.nan], size), mask=random.random(size) < 0.2),
            "y": random.standard_normal(size) * 10.0 ** random.integers(-200, 200, size),
            "x": random.integers(-(2**62), 2**62, size),
        }
    )
    outputs = "COUNT(*), SUM(y), AVG(y), SUM(x), AVG(x), MIN(y), MAX(x)"
    plan = AggregatePlan(read_outputs(outputs), TimeSpan(300 * SECOND, slide * SECOND), keys, (), outputs)
    program = bind_windows(plan, events.schema, "time", "decimal")
    rows = program.prepare(events)[0]

    buckets = Buckets(3 if keys else 1)
    blobs = [
        batch
        for first in range(0, size, 200)
        for batch in FoldTask(program, buckets, 200)(rows.slice(first, 200).to_batches(max_chunksize=40))
    ]
    moved = {BEGIN in from_stream(one.column("payload")[0].as_py()).column_names for one in blobs}
    assert moved == {slide > 100 or not keys}
    found = [
        batch
        for bucket in buckets.numbers().tolist()
        for batch in MergeTask(program)([one for one in blobs if one.column("bucket")[0].as_py() == bucket])
    ]

    wanted = run_local(program, events)
    assert_tables(program.arrange(pa.Table.from_batches(found, program.schema)), wanted)
