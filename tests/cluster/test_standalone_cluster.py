"""A real standalone cluster whose executors have no Trendweave but the one that `trendweave package` writes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cluster import application
from tests.cluster.bare_python import make_python
from tests.cluster.standalone import Cluster, standalone_cluster
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import Event, plus
from tests.reference.query import COUNT_ALL, Aggregate, Attribute, Column, Edge, Query, Sliding, text
from tests.reference.results import rows
from trendweave import Package

pytestmark = [pytest.mark.spark, pytest.mark.long]

#: The first query of the README.
QUERY = Query(
    plus(Event("Stock", "S")),
    aggregates=(COUNT_ALL, Aggregate("MIN", "S", "price", "low")),
    equivalence=(Attribute("company"), Attribute("sector")),
    predicates=(Edge("S", Column("price"), ">", Column("price", later=True)),),
    group_by=(Attribute("sector"),),
    window=Sliding(10, 5),
)
_COMPANIES = "XYXYXXXY"
_PRICES = (10.0, 7.0, 9.0, 8.0, 8.0, 9.5, 7.0, 6.0)
EVENTS: list[dict[str, Any]] = [
    {"time": time, "type": "Stock", "company": company, "sector": "tech", "price": price}
    for time, company, price in zip((1, 2, 3, 4, 5, 6, 11, 12), _COMPANIES, _PRICES, strict=True)
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, java_home: None) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    python = make_python(folder / "python")
    with standalone_cluster(folder, python, NUMBA_DISABLE_JIT="1") as running:
        yield running


def test_cluster_of_pythons_without_trendweave(cluster: Cluster) -> None:
    for name, found in {"trendweave": False, "lark": False, "numba": True, "pyspark": True}.items():
        done = subprocess.run([cluster.python, "-c", f"import {name}"], cwd="/", env={}, capture_output=True)
        assert (done.returncode == 0) is found, name


def test_cluster_gives_rows_of_the_reference(cluster: Cluster, shipped: Package, tmp_path: Path) -> None:
    (tmp_path / "query.tw").write_text(text(QUERY), encoding="utf-8")
    (tmp_path / "events").mkdir()
    parquet.write_table(pa.Table.from_pylist(EVENTS), tmp_path / "events" / "stock.parquet")

    done = cluster.submit(Path(application.__file__), [str(tmp_path)], shipped.path)

    said = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
    assert said is not None, done.stderr[-4_000:]
    found = json.loads(said[1])
    expected = rows(QUERY, EVENTS)
    assert_same_rows(expected, found["batch"])
    assert all("trendweave.zip" in place for place in found["places"])
    written = pa.concat_tables(parquet.read_table(file) for file in sorted((tmp_path / "trends").glob("*.parquet")))
    # Windows that end after the last event are still open.
    assert_same_rows([row for row in expected if row["window_end"] <= EVENTS[-1]["time"]], written.to_pylist())
