"""A Spark session for a command: started for it, quiet, and stopped after it. A program brings its own session."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trendweave.cli.failure import Failure
from trendweave.cli.interrupted import telling_interrupts
from trendweave.cli.spark_messages import find_plain_message, find_worker_message
from trendweave.errors import TrendweaveError

LOOPBACK = "127.0.0.1"


def is_local(master: str) -> bool:
    """Tell whether a master runs everything on this machine."""
    return master.startswith("local")


@contextmanager
def session(
    master: str, conf: Mapping[str, str], progress: bool, without: str = ", or use --runner local"
) -> Iterator[SparkSession]:
    """A session that lives as long as the block. `conf` wins over what is set here; `without` says how to do without
    Spark, where the command can."""
    _prepare_environment(master, without)
    builder = SparkSession.builder.master(master)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        # What we use of pandas is tried with its versions, and PySpark warns of the newest whatever is used of it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        # A file of its own, also where the package lies in a zip, into which Java cannot look.
        log = stack.enter_context(as_file(files("trendweave.cli").joinpath("quiet_log4j2.properties")))
        for key, value in (_defaults(master, progress, log) | dict(conf)).items():
            builder = builder.config(key, value)
        try:
            spark = builder.getOrCreate()
        except (PySparkException, Py4JError, ValueError) as error:
            message = f"Spark cannot be started with the master {master}: {find_plain_message(error)}"
            raise Failure(message, f"see what Java said above{without}") from error
        stack.callback(spark.stop)
        with telling_interrupts():
            yield spark


def _defaults(master: str, progress: bool, log: Path) -> dict[str, str]:
    """What is set unless the user sets it; `log` says what Java may write."""
    found = {
        "spark.app.name": "trendweave",
        "spark.ui.enabled": "false",  # nobody looks at it, and its port may be taken
        "spark.ui.showConsoleProgress": str(progress).lower(),
        "spark.sql.session.timeZone": "UTC",  # the zone of this machine must not show in a result
        "spark.sql.timestampType": "TIMESTAMP_NTZ",  # times without a zone in CSV and JSON are read as such
        "spark.python.unix.domain.socket.enabled": "true",  # quicker than TCP between the JVM and its workers
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),  # no look at the size after every row
    }
    if is_local(master):
        found |= {
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.host": LOOPBACK,
            "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={log}"',
        }
    else:
        found["spark.log.level"] = "FATAL"
    return found


def _prepare_environment(master: str, without: str) -> None:
    """What Spark takes from the environment alone: its Java, its own address, and the Python of its workers."""
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Where `make` leaves the Java that it found or installed.
    beside = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in os.environ and beside.exists():
        os.environ["JAVA_HOME"] = beside.read_text().strip()
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java" if home is None else str(Path(home) / "bin" / "java")) is None:
        where = "JAVA_HOME is not set, and there is no java" if home is None else f"there is none in {home}"
        hint = f"install one, such as openjdk-17-jre-headless of Debian, or set JAVA_HOME to one{without}"
        raise Failure(f"Spark needs Java, version 17 or newer: {where}", hint)


@contextmanager
def explain_spark_errors() -> Iterator[None]:
    """What goes wrong inside Spark, as a message without the stack of the JVM."""
    try:
        yield
    except TrendweaveError:
        raise
    except (PySparkException, Py4JError) as error:
        if (ours := find_worker_message(str(error))) is not None:
            raise Failure(ours) from error
        hint = "--conf spark.log.level=ERROR shows Spark's own log"
        raise Failure(f"Spark failed: {find_plain_message(error)}", hint) from error
