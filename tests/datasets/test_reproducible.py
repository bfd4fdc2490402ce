"""What holds for every generator: the same arguments give the same table, sorted by time, with the right columns."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from trendweave import datasets

GENERATORS = {
    "stock": datasets.stock,
    "cluster": datasets.cluster,
    "traffic": datasets.traffic,
    "ride_sharing": datasets.ride_sharing,
    "check_deposits": datasets.check_deposits,
    "web_clicks": datasets.web_clicks,
}

SMALL = {
    "stock": lambda: datasets.stock(40, seed=7, companies=3, sectors=2, time="seconds"),
    "cluster": lambda: datasets.cluster(40, seed=7, jobs=2, mappers=2, rate=4, measurements=3, time="seconds"),
    "traffic": lambda: datasets.traffic(40, seed=7, segments=5, time="seconds"),
    "ride_sharing": lambda: datasets.ride_sharing(40, seed=7, burst=4, events_per_minute=60, time="seconds"),
    "check_deposits": lambda: datasets.check_deposits(40, seed=7, rate=6, time="seconds"),
    "web_clicks": lambda: datasets.web_clicks(40, seed=7, visitors=3, products=4, time="seconds"),
}

# Of the values of the tables above, made with numpy 2.4 on Linux. Numbers in publications and benchmarks rest on these
# streams: a change of a digest belongs in the changelog.
DIGESTS = {
    "stock": "61c8956a450e2063",
    "cluster": "08dd7912e7810203",
    "traffic": "0a3fcac21fb9d96e",
    "ride_sharing": "2cdaaa22fb2d2d79",
    "check_deposits": "7a663f6dfb3de344",
    "web_clicks": "e523a862a38ddada",
}


def digest(table: pa.Table) -> str:
    return hashlib.sha256(json.dumps(table.to_pydict()).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", GENERATORS)
def test_values_never_change(name: str) -> None:
    assert digest(SMALL[name]()) == DIGESTS[name]


def test_digest_tells_tables_apart() -> None:
    table = pa.table({"time": [1, 2], "price": [1.0, None]})

    assert digest(table) == digest(pa.table(table.to_pydict()))
    assert digest(table) != digest(pa.table({"time": [1, 2], "price": [None, 1.0]}))
    assert digest(table) != digest(pa.table({"time": [1, 2], "cost": [1.0, None]}))


@pytest.fixture(params=GENERATORS)
def generator(request: pytest.FixtureRequest) -> Callable[..., pa.Table]:
    return GENERATORS[request.param]


def test_same_seed_same_table_other_seed_other_table(generator: Callable[..., pa.Table]) -> None:
    table = generator(5_000, seed=1)

    assert table.equals(generator(5_000, seed=1))
    assert not table.equals(generator(5_000, seed=2))


@pytest.mark.parametrize("events", [0, 1, 2, 3, 19, 20, 21, 4_999])
def test_number_of_events_order_and_schema(generator: Callable[..., pa.Table], events: int) -> None:
    table = generator(events, seed=3)

    assert table.num_rows == events
    assert table.schema == generator(100, seed=3).schema
    assert table.column_names[:2] == ["time", "type"]
    assert table.schema.field("time").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("type").type == pa.string()
    assert table["time"].null_count == table["type"].null_count == 0
    assert (np.diff(table["time"].to_numpy()) >= np.timedelta64(0)).all()


def test_time_in_seconds_counts_from_the_start(generator: Callable[..., pa.Table]) -> None:
    stamps, seconds = generator(1_000, seed=4), generator(1_000, seed=4, time="seconds")

    assert seconds.schema.field("time").type == pa.int64()
    since_start = stamps["time"].to_numpy() - np.datetime64("2024-01-01")
    assert (since_start == seconds["time"].to_numpy() * np.timedelta64(1, "s")).all()
    assert stamps.drop_columns("time").equals(seconds.drop_columns("time"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.stock(-1, seed=1), "events must be at least 0, not -1"),
        (lambda: datasets.stock(1, seed=1, companies=0), "companies must be at least 1, not 0"),
        (lambda: datasets.stock(1, seed=1, rate=0), "rate must be more than 0, not 0"),
        (lambda: datasets.stock(1, seed=1, time="minutes"), 'time must be "timestamp" or "seconds", not \'minutes\''),
        (lambda: datasets.cluster(1, seed=1, measurements=0.5), "measurements must be at least 1, not 0.5"),
        (lambda: datasets.traffic(3, seed=1, accidents=4), "events must be at least 4, not 3"),
        (lambda: datasets.ride_sharing(1, seed=1, travel_share=1.5), "travel_share must be at most 1, not 1.5"),
        (lambda: datasets.check_deposits(1, seed=1, selectivity=2), "selectivity must be at most 1, not 2"),
        (lambda: datasets.check_deposits(1, seed=1, compatibility=0), "compatibility must be at least 1, not 0"),
    ],
)
def test_wrong_arguments(call: Callable[[], pa.Table], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


def test_imported_on_demand_and_with_numpy_and_pyarrow_only() -> None:
    program = """
import sys, trendweave
print("trendweave.datasets" in sys.modules, "pyarrow" in sys.modules)
import trendweave.datasets
print(sorted({"pandas", "numba", "pyspark"} & set(sys.modules)))
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout.split("\n")[:2] == ["False False", "[]"]
