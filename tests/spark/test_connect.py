"""Over Spark Connect, for real: a server on this machine, and a client without a JVM, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark
import pytest

import trendweave
from tests.profiles import PROFILE
from tests.spark import connect_session
from tests.spark.connect_session import CHAIN, OTHER, QUERY, as_texts, make_events
from trendweave import operators as ops

pytestmark = [
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.skipif(find_spec("grpc") is None, reason="Spark Connect's client needs grpcio, which is not installed"),
    pytest.mark.skipif(
        not any((Path(find_spec("pyspark").origin).parent / "jars").glob("spark-connect_*.jar")),
        reason="Spark 3.5 comes without its Connect server",
    ),
]
#: What is asked in every run, and what besides, in one session for all tests.
_ALWAYS = ("batch", "metrics")
_AT_NIGHT = ("stream", "stream_without_rocksdb", "workload", "operators", "files", "store", "follow")


@cache
def ask_all() -> dict[str, dict[str, Any]]:
    """What each piece of work said, by name."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    java_home = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in environment and java_home.exists():
        environment["JAVA_HOME"] = java_home.read_text().strip()
    root = str(Path(__file__).parent.parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join([root, environment.get("PYTHONPATH", "")])
    names = [*_ALWAYS, *(_AT_NIGHT if PROFILE == "nightly" else ())]
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, connect_session.__file__, folder, *names],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
        )
    lines = [line.rpartition("RESULT ")[2] for line in done.stdout.splitlines() if "RESULT " in line]
    said = {one["name"]: one for one in map(json.loads, lines)}
    assert list(said) == names, done.stderr[-4_000:]
    return said


def ask(name: str) -> Any:
    said = ask_all()[name]
    assert "error" not in said, said["error"]
    return said["found"]


def test_connect_batch() -> None:
    module, *rows = ask("batch")

    assert module.startswith("pyspark.sql.connect")
    assert rows == as_texts(trendweave.query(QUERY).run(make_events(), type=None))
    assert len(rows) > 10


def test_connect_metrics() -> None:
    assert ask("metrics") == [120, True]


@pytest.mark.nightly
def test_connect_stream() -> None:
    late, *rows = ask("stream")

    assert late == 7
    assert rows == as_texts(trendweave.query(QUERY).run(make_events(), type=None))


@pytest.mark.nightly
def test_connect_stream_without_its_store_is_told_in_one_line() -> None:
    if pyspark.__version__.startswith("4.0"):
        pytest.skip("there state is kept by an older interface, which needs no such store")
    said = ask_all()["stream_without_rocksdb"]["error"]

    assert "TW411: the state store of the session is" in said
    assert "Traceback" not in said


@pytest.mark.nightly
def test_connect_workload_operators_files_and_stores() -> None:
    both = trendweave.workload({"up": QUERY, "down": OTHER}).run(make_events(), type=None)

    assert ask("workload") == as_texts(both)
    assert ask("operators") == as_texts(ops.pipe(CHAIN).run(make_events()))
    assert ask("files") == ask("store") == ask("batch")[1:]
    assert ask("follow") == 120
