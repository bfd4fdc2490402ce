"""Operators on all cores: the same rows in the same order."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.operators.running import assert_tables
from tests.runners.test_threads import EVENTS, Watched, watched
from trendweave import operators as ops
from trendweave.operators.binding import Asked
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.operators.joins.program import WindowJoin
from trendweave.runners.options import Settings

__all__ = ["watched"]
MEANS = "AVG(v) AS mean, COUNT(*), SUM(f) AS total, MAX(g) AS most"
JOIN = ops.window_join("left.v < right.v", left="2 rows", right="3 rows", keys=["k"])
OPERATORS = {
    "filter": (ops.filter("v > 10 AND f < 0.7"), "one core"),
    "count windows": (ops.window_aggregate(MEANS, rows=5, slide_rows=2, keys=["k"]), "keys"),
    "count windows without keys": (ops.window_aggregate(MEANS, rows=5, slide_rows=2), "one core"),
    "time windows": (ops.window_aggregate(MEANS, within="20 seconds", slide="10 seconds", keys=["k"]), "time"),
    "time windows without keys": (ops.window_aggregate(MEANS, within="20 seconds"), "time"),
    "one time window": (ops.window_aggregate(MEANS, within="1 day", keys=["k", "g"]), "keys"),
    "keys that are floats": (ops.window_aggregate("COUNT(*)", rows=1, keys=["v", "g"]), "keys"),
    "filter and windows": (ops.filter("f < 0.7") | ops.window_aggregate(MEANS, rows=3, keys=["k"]), "keys"),
    "windows of windows": (
        ops.window_aggregate("AVG(v) AS mean", rows=3, slide_rows=1, keys=["k"])
        | ops.window_aggregate("MAX(mean) AS most", within="1 minute", keys=["k"])
        | ops.filter("most > 20"),
        "keys",
    ),
    "filter and join": (ops.filter("f < 0.5") | JOIN, "keys"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_the_rows_of_one_core_in_their_order(name: str, watched: Watched) -> None:
    operator, way = OPERATORS[name]
    wanted, found = operator.run(EVENTS), operator.run(EVENTS, device="threads")
    assert wanted.num_rows > 0
    assert_tables(found, wanted)
    assert found.schema.metadata == wanted.schema.metadata
    assert watched.way == way


@pytest.mark.parametrize("name", OPERATORS)
def test_rows_in_order_of_time(name: str, watched: Watched) -> None:
    operator, _ = OPERATORS[name]
    events = EVENTS.sort_by("time")
    assert_tables(operator.run(events, device="threads"), operator.run(events))


def test_no_rows(watched: Watched) -> None:
    for operator, _ in OPERATORS.values():
        nothing = EVENTS.slice(0, 0)
        assert operator.run(nothing, device="threads").equals(operator.run(nothing))
        assert isinstance(operator.run(nothing), pa.Table)


def test_a_part_of_a_chain_has_one_core() -> None:
    chain = ops.filter("f < 0.5") | JOIN
    program = Asked(chain.operators, "time", None).bind(EVENTS.schema, Settings(device="threads"))
    part = program.for_part(2)
    assert isinstance(part, ChainedRows)
    (stage,) = part.stages
    assert isinstance(stage.program, WindowJoin)
    assert stage.program.device == "cpu"
