"""What all tests share: how hard Hypothesis tries, the one Spark session, and a word about Kafka at the end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from numba.core import event

import trendweave
from benchmarks.compiling import Compiling
from tests import preloading_daemon
from tests.profiles import PROFILE
from tests.scheduling import SparkBesideTheRest
from tests.streaming import kafka_setup
from trendweave.kernel_cache import cache, kernel
from trendweave.kernels.loops import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from trendweave import Package

settings.load_profile(PROFILE)

#: Renames the files of checkpoints as they are, where the one that Spark would take starts processes to look at each.
_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
#: Fixtures that need what only `make test-all` fetches: a broker of Kafka, a browser.
_FETCHED = frozenset({"kafka_servers", "browser"})
#: Of every JVM that Spark starts: compile quickly and not well, as tests are over before better code would pay.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: What Numba compiles in this process, and how long it did in those that ran tests for this one.
_COMPILING, _COMPILED_BESIDE = Compiling(), list[float]()


def pytest_configure() -> None:
    event.register("numba:compile", _COMPILING)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", _JAVA_OPTIONS)
    # Whether code is compiled depends on what ran before: no test is to find a word about it on stderr.
    os.environ.setdefault("TRENDWEAVE_PROGRESS", "off")
    # A shell's background jobs ignore Ctrl-C, and then queries get no thread of their own: test them as at a terminal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Many small cases meet here: each kernel runs interpreted first, kept on disk or not, and soon compiled.
    kernel.PATIENCE = 0.5
    # Loops that are written for a query meet fewer, and compile for longer than these interpret.
    run.PATIENCE = 5_000_000
    cache.is_kept = lambda *_: False  # type: ignore[assignment]


@pytest.fixture(scope="session")
def java_home() -> None:
    """Names the Java and the Python to use; under `make` both are set, this serves a bare `.venv/bin/pytest`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in os.environ and found.exists():
        os.environ["JAVA_HOME"] = found.read_text().strip()


@pytest.fixture(scope="session")
def spark(java_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run; the JVM starts when the first test asks for it."""
    from pyspark.sql import GroupedData, SparkSession

    builder = (
        SparkSession.builder.master("local[2]")  # two tasks at once: enough to meet real parallelism
        .appName("trendweave tests")
        .config("spark.ui.enabled", "false")  # nobody looks at it, and its port may be taken
        .config("spark.driver.bindAddress", "127.0.0.1")  # works where the machine's own name does not resolve
        .config("spark.driver.host", "127.0.0.1")  # the same, for what executors are told
        .config("spark.driver.memory", "1g")  # test data is tiny; leave room for other processes
        .config("spark.sql.shuffle.partitions", "2")  # the default of 200 is 200 task starts for three rows
        .config("spark.sql.session.timeZone", "UTC")  # expected timestamps must not depend on the machine
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))  # not into the repository
        .config("spark.python.daemon.module", preloading_daemon.__name__)  # so that new workers need not import
        .config("spark.sql.codegen.wholeStage", "false")  # as Java code of a plan takes longer to compile than to run
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # the same for single expressions
    )
    if hasattr(GroupedData, "transformWithState"):  # with older ones there are no streams, and it had another name
        builder = builder.config("spark.sql.streaming.checkpointFileManagerClass", _FILE_MANAGER)
    if jars := kafka_setup.connector_jars():
        builder = builder.config("spark.jars", ",".join(jars))  # only a JVM that starts with them can speak with Kafka
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")  # warnings of the JVM would hide the report of a failing test
    yield session
    session.stop()


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The package as executors get it, written once."""
    return trendweave.package(tmp_path_factory.mktemp("package") / "trendweave.zip")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkBesideTheRest | None:
    return SparkBesideTheRest(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run tests that are marked long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests wait for `make test-all`, those marked nightly, which repeat at length what others show, for more."""
    for item in items:
        if _FETCHED.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("long")
    nightly = PROFILE == "nightly"
    marks = {"nightly": not nightly, "long": not nightly and not config.getoption("--long")}
    left_out = [item for item in items if any(out and item.get_closest_marker(name) for name, out in marks.items())]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["compiling"] = sum(_COMPILING.seconds.values())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _COMPILED_BESIDE.append(getattr(node, "workeroutput", {}).get("compiling", 0.0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end, where it is seen, how long was compiled (in other processes than those that run tests nobody
    counts it), and that Kafka tests were skipped, or which connector they really used."""
    compiled = sum(_COMPILING.seconds.values()) + sum(_COMPILED_BESIDE)
    terminalreporter.line(f"Numba has compiled for {compiled:.1f} s of CPU time.")
    skipped = [one for one in terminalreporter.getreports("skipped") if kafka_setup.SKIPPED in str(one.longrepr)]
    if skipped:
        terminalreporter.section("Kafka")
        terminalreporter.line(f"Kafka tests skipped: {len(skipped)}, as {kafka_setup.why_not()}")
    elif _ran_with_kafka(terminalreporter) and (note := kafka_setup.stand_in()):
        terminalreporter.section("Kafka")
        terminalreporter.line(note)


def _ran_with_kafka(terminalreporter: pytest.TerminalReporter) -> bool:
    return any("kafka" in one.nodeid for kind in ("passed", "failed") for one in terminalreporter.getreports(kind))
