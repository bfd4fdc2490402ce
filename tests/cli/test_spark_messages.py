"""What Spark says of workers that cannot work, as one line and a hint."""

from __future__ import annotations

import pytest

from trendweave.cli.spark_session import find_worker_message

_BEFORE = """Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 3450, in main
"""
_AFTER = """
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:648)
Driver stacktrace: SQLSTATE: XXKST
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "RuntimeError: TW424: the Python of executors, /usr/bin/python3, has no numba; install it there, or so",
            "TW424: the Python of executors, /usr/bin/python3, has no numba\n  hint: install it there, or so",
        ),
        (
            "ModuleNotFoundError: No module named 'pyarrow.lib'",
            "TW424: the Python of Spark's workers has no pyarrow\n"
            "  hint: install it there, or set PYSPARK_PYTHON to one, a path that every worker has",
        ),
        (
            "pyspark.errors.exceptions.base.PySparkImportError: [PACKAGE_NOT_INSTALLED] Pandas >= 2.2.0 must be "
            "installed; however, it was not found.",
            "TW424: the Python of Spark's workers has no pandas\n"
            "  hint: install it there, or set PYSPARK_PYTHON to one, a path that every worker has",
        ),
        (
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has "
            "different version: 3.9 than that in driver: 3.12, PySpark cannot run with different minor versions.",
            "TW424: Spark's workers are Python 3.9, this is 3.12\n"
            "  hint: set PYSPARK_PYTHON to one, a path that every worker has",
        ),
        ("trendweave.errors.ExecutionError: execution error\nTW405: much", "execution error\nTW405: much"),
        ("ZeroDivisionError: division by zero", None),
    ],
)
def test_workers_that_cannot_work(said: str, expected: str | None) -> None:
    assert find_worker_message(_BEFORE + said + _AFTER) == expected
