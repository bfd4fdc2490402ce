"""A Python that workers cannot be is told in one line, before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trendweave
from trendweave.errors import ExecutionError
from trendweave.runners.spark import workers
from trendweave.runners.spark.workers import find_mismatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


def make_python(folder: Path, says: str) -> str:
    """A program that answers as a Python would."""
    path = folder / "python-of-workers"
    path.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_the_same_python_is_not_asked() -> None:
    assert find_mismatch(sys.executable) is None


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (f"echo {OURS}", None),
        ("exit 3", None),
        ("echo 3.7", "Python 3.7, and not this Python {ours}"),
        (f"echo {OURS} lark numba", "Python {ours} without lark, numba, and not this Python {ours}"),
    ],
)
def test_another_python(tmp_path: Path, says: str, expected: str | None) -> None:
    command = make_python(tmp_path, says)
    why = None if expected is None else f"Spark's workers would be {command}, {expected.format(ours=OURS)}"
    assert find_mismatch(command) == why


def test_a_python_is_asked_what_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workers, "_PACKAGES", ("json", "no_such_package"))
    link = make_python(tmp_path, f'exec "{sys.executable}" "$@"')
    assert (find_mismatch(link) or "").endswith(f"Python {OURS} without no_such_package, and not this Python {OURS}")


def test_no_python_at_all() -> None:
    said = "Spark's workers would be started as no-such-python, and there is no such program"
    assert find_mismatch("no-such-python") == said


@pytest.mark.spark
def test_runs_are_refused_with_the_hint(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN A+")
    events = spark.createDataFrame([(1, "A")], "time long, type string")
    command = make_python(tmp_path, "echo 3.7")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", command)
    with pytest.raises(ExecutionError) as caught:
        query.run(events)
    assert str(caught.value).splitlines() == [
        "execution error",
        f"TW424: Spark's workers would be {command}, Python 3.7, and not this Python {OURS}",
        f"  hint: set PYSPARK_PYTHON={sys.executable} before the session is created, and create a new one",
    ]


@pytest.mark.spark
def test_without_pandas(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    events = spark.createDataFrame([(1, "A")], "time long, type string")

    def find_all_but_pandas(name: str) -> Any:
        return None if name == "pandas" else object()

    monkeypatch.setattr(workers, "find_spec", find_all_but_pandas)
    with pytest.raises(
        ExecutionError,
        match=r"pandas to pass columns to Python, and it is not installed\n  hint: pip install 'trendweave\[spark\]'",
    ):
        trendweave.query("RETURN COUNT(*) PATTERN A+").run(events)
