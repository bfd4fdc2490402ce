"""Chunks of time of lists under WITHIN alone, as Spark makes them: the rows are those of the whole table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave.programs.bind import bind
from trendweave.programs.program import Scope
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.options import Settings


@pytest.mark.parametrize("pattern", ["SEQ(A, B)", "SEQ(A, NOT B)", "SEQ(A, C+, NOT B)", "SEQ(NOT B, A, C)"])
def test_each_trend_is_in_one_chunk(pattern: str) -> None:
    draw = np.random.default_rng(7)
    events = pa.table({"time": np.sort(draw.integers(-50, 200, 90)), "type": draw.choice(list("ABC"), 90)})
    plan = trendweave.query(f"RETURN TRENDS PATTERN {pattern} WITHIN 6 seconds").plan
    program = bind(plan, events.schema, "time", "type", Settings())
    rows, _ = program.prepare(events)
    whole = pa.Table.from_batches(program.compute(rows).batches, program.schema).to_pylist()
    cut = program.cut(20 * 10**9)
    assert cut is not None
    times = rows.column(TIME).to_numpy()
    own, offset = times // cut.length, times % cut.length
    parts = [rows.append_column(CHUNK, pa.array(own))]
    for near, other in ((offset < cut.after, own - 1), (offset >= cut.length - cut.before, own + 1)):
        parts.append(rows.append_column(CHUNK, pa.array(other)).filter(pa.array(near)))
    found = program.compute(pa.concat_tables(parts), Scope(chunk=cut.length))
    in_chunks = pa.Table.from_batches(found.batches, program.schema).to_pylist()
    assert whole
    assert sorted(map(str, in_chunks)) == sorted(map(str, whole))
