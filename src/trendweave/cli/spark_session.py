"""A Spark session for a command: started for it, quiet, and stopped after it; and what Spark says when something went
wrong, as a line that says what to do. A program brings its own session."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from types import FrameType

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trendweave.cli.failure import Failure
from trendweave.errors import TrendweaveError

LOOPBACK = "127.0.0.1"
_OURS = re.compile(r"trendweave\.errors\.\w+: (.*?)(?=\n\s*\n|\n\s*at |\nDriver stacktrace|\Z)", re.DOTALL)
#: A task that lacks what it needs, in a worker that may lack `trendweave.errors` as well.
_LACKS = re.compile(r"RuntimeError: (TW424: [^\n]*)")
#: What PySpark itself says of a worker before it runs a task.
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)|\[PACKAGE_NOT_INSTALLED\] (\w+)")
_OTHER_PYTHON = re.compile(r"Python in worker has different version: (\S+) than that in driver: ([\d.]+)")
_PYTHON_HINT = "set PYSPARK_PYTHON to one, a path that every worker has"
_JAVA = re.compile(r"\n\s*at [\w.$]+|\nDriver stacktrace|\nJVM stacktrace")

_STATES = re.compile(r"(?:\s*SQLSTATE: \w+)+\s*$")
_CALL = re.compile(r"^An error occurred while calling \S+\s*:?\s*")
_CLASS = re.compile(r"^[\w.$]+(?:Exception|Error): ")


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


@contextmanager
def telling_interrupts() -> Iterator[None]:
    """Any error that comes out of the block after Ctrl-C is a KeyboardInterrupt: Spark cancels its jobs at Ctrl-C, and
    PySpark then raises what the JVM says of a cancelled job in place of the interrupt.

    Whoever handles the signal when the block begins, goes on to do so.
    """
    interrupted = False
    handle = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        if callable(handle):
            handle(number, frame)

    if callable(handle):
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        # Others may have taken the signal meanwhile.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, handle)


def find_worker_message(text: str) -> str | None:
    """What ended a Python worker, in our words, from what Spark says about the worker; None where it is not known."""
    if found := _OURS.findall(text):
        return strip_states(found[-1])
    if found := _LACKS.findall(text):
        message, _, hint = strip_states(found[-1]).partition("; ")
        return f"{message}\n  hint: {hint}"
    if other := _OTHER_PYTHON.search(text):
        return f"TW424: Spark's workers are Python {other[1]}, this is {other[2]}\n  hint: {_PYTHON_HINT}"
    if missing := _NO_MODULE.search(text):
        name = (missing[1] or missing[2]).lower()
        return f"TW424: the Python of Spark's workers has no {name}\n  hint: install it there, or {_PYTHON_HINT}"
    return None


def find_plain_message(error: Exception) -> str:
    """What Java said first, or what that was caused by in the end, without any stack."""
    text = str(error)
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    said = causes[-1] if causes else _CALL.sub("", _JAVA.split(text)[0])
    return strip_states(_CLASS.sub("", said.strip()))


def strip_states(text: str) -> str:
    """Leave out the SQLSTATEs at the end of a message: each layer of Spark that an error passes adds one."""
    return _STATES.sub("", text).strip()
