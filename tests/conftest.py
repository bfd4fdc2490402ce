"""What all tests share: how hard Hypothesis tries, and the one Spark session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.profiles import PROFILE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run; the JVM starts when the first test asks for it."""
    from pyspark.sql import SparkSession

    # Under `make` both are set; these lines serve a bare `.venv/bin/pytest`.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java_home = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in os.environ and java_home.exists():
        os.environ["JAVA_HOME"] = java_home.read_text().strip()

    session = (
        SparkSession.builder.master("local[2]")  # two tasks at once: enough to meet real parallelism
        .appName("trendweave tests")
        .config("spark.ui.enabled", "false")  # nobody looks at it, and its port may be taken
        .config("spark.driver.bindAddress", "127.0.0.1")  # works where the machine's own name does not resolve
        .config("spark.driver.host", "127.0.0.1")  # the same, for what executors are told
        .config("spark.driver.memory", "1g")  # test data is tiny; leave room for other processes
        .config("spark.sql.shuffle.partitions", "2")  # the default of 200 is 200 task starts for three rows
        .config("spark.sql.session.timeZone", "UTC")  # expected timestamps must not depend on the machine
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))  # not into the repository
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")  # warnings of the JVM would hide the report of a failing test
    yield session
    session.stop()
