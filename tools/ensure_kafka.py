"""Fetch what the Kafka tests need with Maven, once: Spark's Kafka connector, and a Kafka broker.

Run it with the Python of the virtual environment. The jars go into `.kafka/connector` and `.kafka/broker`, and
`.kafka/state.json` says which versions these are, or why there are none. It always ends with 0: where Maven cannot
fetch them, the Kafka tests skip with that reason. A second run does nothing, unless the first one failed.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".kafka"
STATE = FOLDER / "state.json"
PATIENCE = 300  # seconds in all; a registry that does not answer must not hold up the tests
DEADLINE = time.monotonic() + PATIENCE
SCALA = "2.13"
CONNECTOR = f"spark-sql-kafka-0-10_{SCALA}"
TOKEN_PROVIDER = f"spark-token-provider-kafka-0-10_{SCALA}"
# Runs on Java 17, without ZooKeeper. It brings no logger of its own; slf4j-simple is of its slf4j-api's version.
BROKER = (("org.apache.kafka", f"kafka_{SCALA}", "4.1.1"), ("org.slf4j", "slf4j-simple", "1.7.36"))
# Registries may carry a new Spark's connector later than PyPI carries PySpark. For such a Spark, the released versions
# of connector and token provider that were seen to work with it; taken only where its own cannot be had.
STAND_INS = {"4.3.0": ("4.2.0", "4.0.0")}

Artifact = tuple[str, str, str]  # group, name, version


class NotFetched(Exception):
    """The reason why, as one sentence."""


def main() -> int:
    spark = importlib.metadata.version("pyspark")
    wanted = {"spark": spark, "broker": BROKER[0][2]}
    if done_before(wanted):
        return 0

    print("Fetching Kafka for the tests with Maven (less than a minute as a rule)")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    try:
        state = {**wanted, **fetch_connector(spark)}
        fetch(BROKER, into=FOLDER / "broker")
    except NotFetched as why:
        state = {**wanted, "reason": str(why)}
    STATE.write_text(json.dumps(state, indent=2) + "\n")  # last, so that an interrupted run is not taken for done
    if "reason" in state:
        print(f"No Kafka: {state['reason']}. The Kafka tests will be skipped.")
    else:
        print(f"Kafka: broker {state['broker']}, connector {state['connector']} for Spark {spark}")
    return 0


def done_before(wanted: dict[str, str]) -> bool:
    try:
        before = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return False
    return "reason" not in before and wanted.items() <= before.items()


def fetch_connector(spark: str) -> dict[str, str]:
    """Fetch the connector of this Spark, or its stand-in; says which versions it took."""
    into = FOLDER / "connector"
    taken = {"connector": spark, "token_provider": spark}
    try:
        fetch([("org.apache.spark", CONNECTOR, spark)], into=into)
    except NotFetched as why:
        if spark not in STAND_INS:
            raise
        taken = dict(zip(taken, STAND_INS[spark], strict=True))
        try:
            fetch(
                [("org.apache.spark", CONNECTOR, taken["connector"])],
                managed=[("org.apache.spark", TOKEN_PROVIDER, taken["token_provider"])],
                into=into,
            )
        except NotFetched:
            raise why from None  # what stood in the way of the right one
        print(f"Not the connector {spark}, as {why}")
    leave_out_what_spark_has(into)
    return taken


def leave_out_what_spark_has(folder: Path) -> None:
    """Drop the jars that Spark ships itself: another version of them on its classpath could only do harm."""
    package = importlib.util.find_spec("pyspark")
    ships = {
        artifact_name(jar) for home in package.submodule_search_locations for jar in Path(home, "jars").glob("*.jar")
    }
    for jar in folder.glob("*.jar"):
        if artifact_name(jar) in ships:
            jar.unlink()


def artifact_name(jar: Path) -> str:
    return re.sub(r"-\d+\.[^-]*(-[^-]+)?$", "", jar.stem)


def fetch(artifacts: Sequence[Artifact], into: Path, managed: Sequence[Artifact] = ()) -> None:
    """Have Maven copy these artifacts and all they need at run time; `managed` overrides versions on the way."""
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFetched("there is no mvn (Apache Maven) on the PATH to fetch it with")
    with tempfile.TemporaryDirectory() as project:
        Path(project, "pom.xml").write_text(pom(artifacts, managed))
        command = [maven, "--batch-mode", "--quiet", "--update-snapshots"]  # asks again for what was missing before
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={into}"]
        said = run_until(DEADLINE, command, project)
    if said is None:
        return
    if missing := re.search(r"Could not find artifact (\S+)", said):
        raise NotFetched(f"the registry that Maven asks has no {missing[1]}")
    if unreached := re.search(r"Could not transfer artifact (\S+)", said):
        raise NotFetched(f"Maven could not reach a registry that has {unreached[1]}")
    if "No plugin found for prefix" in said:  # the first thing Maven looks for
        raise NotFetched("Maven could not reach a registry")
    raise NotFetched(f"Maven failed: {first_error(said)}")


def first_error(said: str) -> str:
    """The first line of what Maven said, without addresses: they belong to the machine's settings."""
    lines = [line.removeprefix("[ERROR] ") for line in said.splitlines() if line.startswith("[ERROR] ")]
    return re.sub(r"\w+://\S+", "...", lines[0])[:300] if lines else "it said nothing"


def pom(artifacts: Sequence[Artifact], managed: Sequence[Artifact]) -> str:
    def listed(some: Sequence[Artifact]) -> str:
        return "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
            for group, name, version in some
        )

    return (
        "<project><modelVersion>4.0.0</modelVersion><packaging>pom</packaging>"
        "<groupId>trendweave</groupId><artifactId>kafka-for-tests</artifactId><version>1</version>"
        f"<dependencyManagement><dependencies>{listed(managed)}</dependencies></dependencyManagement>"
        f"<dependencies>{listed(artifacts)}</dependencies></project>"
    )


def run_until(deadline: float, command: list[str], folder: str) -> str | None:
    """Run a command and end it, with all it started, when it takes too long; what it said where it failed."""
    started = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        said, _ = started.communicate(timeout=max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise NotFetched(f"Maven was not done within {PATIENCE} seconds") from None
    finally:
        if started.poll() is None:  # too slow, or Ctrl-C
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
    return None if started.returncode == 0 else re.sub(r"\x1b\[[0-9;]*m", "", said)  # without colours


if __name__ == "__main__":
    sys.exit(main())
