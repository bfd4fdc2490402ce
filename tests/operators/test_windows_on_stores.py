"""Plain windows of time over stored events: the rows that the program computes of all events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.running import assert_tables
from trendweave.language.operator_texts import read_outputs
from trendweave.planning.operator_plans import AggregatePlan, RowCount, TimeSpan
from trendweave.programs.operators.windows.program import WindowAggregates, bind_windows
from trendweave.runners.local import run_local
from trendweave.runners.options import Settings
from trendweave.store.event_store import EventStore
from trendweave.store.operators import windows_on_store

SECOND = 10**9


@pytest.fixture(scope="module")
def events() -> pa.Table:
    random = np.random.default_rng(3)
    size = 400
    values = random.choice([0.1, -0.0, 0.0, 2.5, np.nan, np.inf], size, p=[0.4, 0.1, 0.1, 0.38, 0.01, 0.01])
    return pa.table(
        {
            "time": pa.array(np.sort(random.integers(0, 10**8, size)), pa.timestamp("us", "UTC")),
            "key": pa.array(random.choice(np.array(["a", "b", None]), size).tolist(), pa.string()),
            "x": pa.array(random.integers(-(2**60), 2**60, size), mask=random.random(size) < 0.1),
            "y": pa.array(values, pa.float64(), mask=random.random(size) < 0.3),
            "s": pa.array([str(number % 7) for number in range(size)]),
        }
    )


@pytest.fixture(scope="module")
def store(events: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> EventStore:
    folder: Path = tmp_path_factory.mktemp("stored") / "events"
    made = EventStore.create(str(folder), events.schema, group_rows=50)
    for first in range(0, events.num_rows, 150):
        made.append(events.slice(first, 150))
    return EventStore.open(str(folder))


def bind(events: pa.Table, outputs: str, window: TimeSpan | RowCount, keys: tuple[str, ...]) -> WindowAggregates:
    plan = AggregatePlan(read_outputs(outputs), window, keys, (), outputs)
    return bind_windows(plan, events.schema, "time", "decimal")


@pytest.mark.parametrize("keys", [(), ("key",)])
@pytest.mark.parametrize("length", [10, 7])
def test_rows_are_those_of_the_program(events: pa.Table, store: EventStore, keys: tuple[str, ...], length: int) -> None:
    outputs = "COUNT(*), COUNT(s), SUM(x), AVG(x), SUM(y), AVG(y), MIN(y), MAX(y), SUM(x) / COUNT(*) AS r, MAX(time)"
    program = bind(events, outputs, TimeSpan(length * SECOND, 5 * SECOND), keys)

    found = windows_on_store(program, store, Settings())

    assert found is not None
    wanted = run_local(program, events)
    assert_tables(found, wanted)


@pytest.mark.parametrize(
    ("outputs", "window"),
    [
        ("MIN(s)", TimeSpan(SECOND, SECOND)),
        ("SUM(x % 7)", TimeSpan(SECOND, SECOND)),
        ("COUNT(*)", TimeSpan(SECOND, 2 * SECOND)),
        ("COUNT(*)", RowCount(3, 1)),
    ],
)
def test_what_blocks_do_not_know_is_left_to_the_program(
    events: pa.Table, store: EventStore, outputs: str, window: TimeSpan | RowCount
) -> None:
    assert windows_on_store(bind(events, outputs, window, ()), store, Settings()) is None


def test_a_card_that_is_asked_for_is_not_replaced_by_what_blocks_know(events: pa.Table, store: EventStore) -> None:
    program = bind(events, "COUNT(*)", TimeSpan(SECOND, SECOND), ())
    assert windows_on_store(program, store, Settings(device="cpu")) is not None
    assert windows_on_store(program, store, Settings(device="gpu")) is None
