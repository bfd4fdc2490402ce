"""A standalone cluster on the loopback address: a master and workers, each a JVM of its own, and what is submitted."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import GroupedData

_SPARK = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")
_PATIENCE = 60  # seconds until a JVM must be up
#: Starts no processes to look at files, as the one that Spark would take does.
_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_FILE_MANAGER_KEY = "spark.sql.streaming.checkpointFileManagerClass"
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: The rest of what this process has is not for a cluster, above all where its modules are.
_ENVIRONMENT = ("HOME", "JAVA_HOME", "LANG", "PATH", "XDG_CACHE_HOME")


@dataclass(frozen=True)
class Cluster:
    """Where it is. `folder` holds its logs and what it makes."""

    master: str
    folder: Path
    python: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def submit(
        self, program: Path, arguments: Sequence[str] = (), package: Path | None = None, **conf: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program by spark-submit, driver and executors by the Python of the cluster."""
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.executor.extraJavaOptions": _JAVA_OPTIONS,
            "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            # Older versions have it under another name.
            **({_FILE_MANAGER_KEY: _FILE_MANAGER} if hasattr(GroupedData, "transformWithState") else {}),
            **{f"spark.{key.replace('_', '.')}": value for key, value in conf.items()},
        }
        command = [str(_SPARK / "bin" / "spark-submit"), "--master", self.master]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        if package is not None:
            command += ["--py-files", str(package)]
        return subprocess.run(
            [*command, str(program), *arguments],
            cwd=self.folder,
            env=self.environment | {"PYSPARK_PYTHON": str(self.python)},
            capture_output=True,
            text=True,
            timeout=180,
        )


@contextmanager
def standalone_cluster(folder: Path, python: Path, workers: int = 2, **environment: str) -> Iterator[Cluster]:
    """A cluster that lives as long as the block. Its processes get these variables, and little else."""
    inherited = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    known = inherited | {
        "SPARK_HOME": str(_SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": _JAVA_OPTIONS,
        **environment,
    }
    with ExitStack() as stack:
        place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = _start(stack, folder / "master.log", known, "master.Master", *place)
        master = _wait_for(_MASTER, log)[1]
        logs = [
            _start(
                stack,
                folder / f"worker{number}.log",
                known,
                *("worker.Worker", *place, "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(folder / f"work{number}"), master),
            )
            for number in range(workers)
        ]
        for log in logs:
            _wait_for(_REGISTERED, log)
        yield Cluster(master, folder, python, known)


def _start(stack: ExitStack, log: Path, environment: Mapping[str, str], name: str, *arguments: str) -> Path:
    """Start a JVM that is ended with the stack; gives what it logs."""
    command = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with log.open("w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=log.parent)
    stack.callback(_end, process)
    return log


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(pattern: re.Pattern[str], log: Path) -> re.Match[str]:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if found := pattern.search(log.read_text(encoding="utf-8")):
            return found
        time.sleep(0.1)
    raise AssertionError(f"{log.name} has no {pattern.pattern!r}:\n{log.read_text(encoding='utf-8')[-2_000:]}")
