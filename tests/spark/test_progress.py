"""What Spark says about a micro-batch, in the forms that it comes in."""

from __future__ import annotations

import json
from types import SimpleNamespace

from trendweave.runners.spark.versions import read_progress

COUNTS = {"trendweave": {"events": 60, "late": 7}}


def test_as_json_and_as_a_dictionary() -> None:
    """Spark 3.5 gives dictionaries."""
    told = {"batchId": 3, "observedMetrics": COUNTS}
    assert read_progress(told) == read_progress(SimpleNamespace(json=json.dumps(told))) == told
    assert read_progress({"batchId": 3}) == {"batchId": 3, "observedMetrics": {}}


def test_over_connect_values_come_without_names() -> None:
    fields = [{"name": "events", "type": "long"}, {"name": "late", "type": "long"}]
    row = {"values": [60, 7], "schema": {"type": "struct", "fields": fields}}
    told = SimpleNamespace(json=json.dumps({"observedMetrics": {"trendweave": row}}))
    assert read_progress(told)["observedMetrics"] == COUNTS
