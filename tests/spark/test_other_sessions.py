"""Sessions of other kinds, each in a process of its own: a worker that dies, several executors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from tests.spark import another_session

pytestmark = [pytest.mark.spark, pytest.mark.long]


def in_another_session(kind: str, folder: Path) -> dict[str, Any]:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(spark_home(folder))}
    java_home = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in environment and java_home.exists():
        environment["JAVA_HOME"] = java_home.read_text().strip()
    done = subprocess.run(
        [sys.executable, another_session.__file__, kind],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    results = [line.rpartition("RESULT ")[2] for line in done.stdout.splitlines() if "RESULT " in line]
    assert len(results) == 1, done.stderr[-4_000:]
    return json.loads(results[0])


def spark_home(folder: Path) -> Path:
    """PySpark's own folders under another roof, as a local cluster writes its logs next to them."""
    home = folder / "home"
    home.mkdir()
    for part in Path(find_spec("pyspark").origin).parent.iterdir():
        if part.name in ("bin", "sbin", "jars"):
            (home / part.name).symlink_to(part)
    return home


def local_rows(query: str, rows: int, **options: Any) -> list[str]:
    number = range(rows)
    table = pa.table(
        {
            "time": pa.array(number, pa.int64()),
            "k": [i % 4 for i in number],
            "g": [i % 2 for i in number],
            "x": [i * 37 % 101 for i in number],
        }
    )
    found = trendweave.query(query).run(table, type=None, **options).to_pylist()
    return in_order([{name: str(value) for name, value in row.items()} for row in found])


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)


def test_a_killed_worker_does_not_change_the_rows(tmp_path: Path) -> None:
    found = in_another_session("killed-worker", tmp_path)

    assert found["killed"] == 1
    assert found["failed"] >= 1, "no task noticed that its worker was gone"
    expected = local_rows(another_session.LONG, another_session.LONG_ROWS, numbers="log2")
    assert in_order(found["rows"]) == expected


@pytest.mark.nightly  # by day tests/cluster has executors of their own
def test_executors_that_are_processes_of_their_own(tmp_path: Path) -> None:
    found = in_another_session("local-cluster", tmp_path)

    assert in_order(found["rows"]) == local_rows(another_session.SMALL, 400)
