"""What `tools/ensure_kafka.py` left in `.kafka`: the connector's jars, the broker's jars, or the reason why not."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".kafka"
SKIPPED = "no Kafka"  # begins the reason of every skipped Kafka test; the report at the end looks for it
BROKER_CLASSPATH = str(FOLDER / "broker" / "*")  # Java itself reads the star


def why_not() -> str | None:
    """Why there is no Kafka for the installed Spark, as part of a sentence; None where there is."""
    state = _state()
    if not state:
        return "nothing was fetched yet; `make kafka` does it"
    if "reason" in state:
        return f"{state['reason']}; `make kafka` tries again"
    if state["spark"] != importlib.metadata.version("pyspark"):
        return f"what was fetched is for Spark {state['spark']}; `make kafka` fetches it anew"
    return None


def stand_in() -> str | None:
    """A sentence for the report where the connector is not of the same version as Spark; None where it is."""
    state = _state()
    if why_not() or {state["connector"], state["token_provider"]} == {state["spark"]}:
        return None
    return (
        f"Kafka tests used the connector {state['connector']} with the token provider {state['token_provider']}, "
        f"as Maven's registry had no complete connector for Spark {state['spark']}"
    )


def connector_jars() -> list[str]:
    """For the `spark.jars` of a session that is to speak with Kafka; empty where there is no Kafka."""
    return [] if why_not() else sorted(str(jar) for jar in (FOLDER / "connector").glob("*.jar"))


def _state() -> dict[str, str]:
    path = FOLDER / "state.json"
    return json.loads(path.read_text()) if path.exists() else {}
