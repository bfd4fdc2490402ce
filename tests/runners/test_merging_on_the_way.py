"""Keys of one variable: other events are copied only to values that are near, and results are merged on the way."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_local_against_reference import planned
from trendweave.programs.trends import aggregates
from trendweave.rows import segments as segments


@given(queries_and_streams(empty=False))
@examples(150)
def test_many_small_parts_give_the_same_rows(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    asked, table = planned(query), table_of(events)
    with mock.patch.object(aggregates, "_AT_ONCE", 1), mock.patch.object(aggregates, "_MANY", 0):
        found = rows_of(asked.run(table))
    assert_same_rows(rows(query, events), found, text(query))


def rides(vehicles: int) -> pa.Table:
    """Each vehicle has two positions of its own minute; an alarm of no vehicle every second."""
    positions = np.repeat(np.arange(vehicles) * 60, 2) + np.tile([0, 30], vehicles)
    alarms = np.arange(vehicles * 60)
    return pa.table(
        {
            "time": np.concatenate([positions, alarms]),
            "type": ["P"] * positions.size + ["A"] * alarms.size,
            "vehicle": pa.array(
                np.concatenate([np.repeat(np.arange(vehicles), 2), alarms]),
                mask=np.arange(62 * vehicles) >= 2 * vehicles,
            ),
        }
    )


@pytest.mark.parametrize("window", ["WITHIN 20 seconds SLIDE 10 seconds", "WITHIN 20 seconds", "WITHIN SESSION 2 s"])
def test_events_are_copied_to_near_values_only(window: str) -> None:
    table = rides(200)
    query = f"RETURN COUNT(*) PATTERN SEQ(P, A) WHERE [P.vehicle] {window}"
    if "SESSION" in window:  # one session per minute
        table = table.filter(pa.array(table.column("time").to_numpy() % 60 < 40))
    with mock.patch.object(segments, "MAX_COPIES", 62 * 200 * 3):
        assert trendweave.query(query).run(table).num_rows
    with mock.patch.object(segments, "MAX_COPIES", 100), pytest.raises(trendweave.TrendweaveError, match="TW406"):
        trendweave.query(query).run(table)
