"""A real Kafka broker for tests: one node in KRaft mode, on loopback, its data in a folder of the test run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.streaming.kafka_setup import BROKER_CLASSPATH

HOST = "127.0.0.1"
PATIENCE = 60  # seconds until the broker answers; a few are enough as a rule
CLUSTER_ID = (
    "TrendweaveTests0000000"  # 22 letters of base64; a drawn one that begins with "-" would be read as an option
)
ATTEMPTS = 3  # another process may take a port between our look and the broker's start

PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
controller.quorum.voters=1@{host}:{controller_port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
num.partitions=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=8388608
"""


class BrokerDidNotStart(Exception):
    """With the end of what it logged."""


@contextmanager
def running_broker(folder: Path) -> Iterator[str]:
    """Start a broker that keeps its data in `folder`; gives the bootstrap servers, and ends the broker afterwards."""
    for attempt in range(ATTEMPTS):
        place = folder / f"attempt-{attempt}"
        place.mkdir(parents=True)
        port, controller_port = _free_ports(2)
        settings = place / "server.properties"
        settings.write_text(
            PROPERTIES.format(host=HOST, port=port, controller_port=controller_port, data=place / "data")
        )
        log = place / "broker.log"
        with log.open("w") as output:
            storage = _java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings))
            if subprocess.run(storage, stdout=output, stderr=subprocess.STDOUT, timeout=PATIENCE).returncode:
                raise BrokerDidNotStart(_end_of(log))
            broker = subprocess.Popen(
                _java("kafka.Kafka", str(settings)), stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )  # in a session of its own, so that Ctrl-C reaches the tests first and they can still speak to it
        try:
            if _answers(broker, port):
                yield f"{HOST}:{port}"
                return
        finally:
            _end(broker)
    raise BrokerDidNotStart(_end_of(log))


def _end_of(log: Path) -> str:
    return f"The end of {log}:\n" + "\n".join(log.read_text().splitlines()[-20:])


def _java(main_class: str, *arguments: str) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java") or "java"
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [java, "-Xmx256m", quiet, "-cp", BROKER_CLASSPATH, main_class, *arguments]


def _free_ports(count: int) -> list[int]:
    """All held at the same time, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


def _answers(broker: subprocess.Popen[bytes], port: int) -> bool:
    """Whether the broker takes connections before patience, or the broker itself, ends."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and broker.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return True
        time.sleep(0.1)
    return False


def _end(broker: subprocess.Popen[bytes]) -> None:
    broker.terminate()
    try:
        broker.wait(timeout=10)
    except subprocess.TimeoutExpired:
        broker.kill()  # its data goes with the test run
        broker.wait()
