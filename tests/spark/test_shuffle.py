"""What `explain` says about the shuffle is what Spark does, for every kind of plan."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from trendweave.programs.bind import bind
from trendweave.runners.options import Settings
from trendweave.runners.spark.exchange import is_sorted_by_time

EVENTS = pa.schema(
    {"time": pa.timestamp("us", "UTC"), "type": pa.string(), "k": pa.int64(), "g": pa.string(), "v": pa.float64()}
)
GIVEN = pa.schema({"start": pa.int64(), "end": pa.int64(), "name": pa.string(), "k": pa.int64()})
WINDOW = "WITHIN 1 minute SLIDE 20 seconds"
#: Each kind of plan, and whether packed columns or rows are shuffled.
KINDS = {
    f"RETURN COUNT(*) PATTERN SEQ(A+, B) {WINDOW}": "columns",
    "RETURN COUNT(*) PATTERN SEQ(A+, B)": "columns",
    f"RETURN g, SUM(B.v) PATTERN SEQ(A+, B) WHERE [k, g] GROUP-BY g {WINDOW}": "columns",
    "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] WITHIN 1 minute": "columns",
    "RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k WITHIN SESSION 10 seconds": "columns",
    f"RETURN TRENDS PATTERN SEQ(A, B) WHERE [k] {WINDOW}": "columns",
    f"RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k {WINDOW} ORDER BY COUNT(*) DESC LIMIT 2": "columns",
    f"RETURN ROWS PATTERN SEQ(A, B) WHERE [k] {WINDOW}": "columns",
    "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE [k] WITHIN 5 seconds": "columns",
    f"RETURN COUNT(*) PATTERN A+ DEFINE Low AS v < 25 WHERE [k] AND A DURING Low {WINDOW}": "columns",
    "RETURN COUNT(*) PATTERN A+ DEFINE Low AS v < 25 WHERE A DURING Low": "columns",
    "DEFINE Low AS v < 25 RETURN SITUATIONS": "rows",
    "DEFINE Low AS v < PREV(v) RETURN SITUATIONS": "columns",
    "PARTITION BY k DEFINE Low AS v < 25 RETURN SITUATIONS": "columns",
    "DEFINE Low AS v < 25, High AS v > 30 PATTERN Low before High WITHIN 1 minute RETURN DURATION(Low)": "columns",
    "PARTITION BY k DEFINE Low AS v < 25, High AS v > 30 PATTERN Low before High RETURN DURATION(Low)": "columns",
    "FROM INTERVALS DEFINE A AT LEAST 2 seconds PATTERN A before B WITHIN 1 minute RETURN DURATION(B)": "columns",
    "FROM INTERVALS PARTITION BY k DEFINE A AT LEAST 2 seconds RETURN SITUATIONS": "columns",
}


@pytest.mark.parametrize(("text", "shuffled"), KINDS.items())
def test_what_is_shuffled_is_what_explain_says(text: str, shuffled: str) -> None:
    query = trendweave.query(text)
    given = GIVEN if "FROM INTERVALS" in text else EVENTS
    time, kind = (None, None) if given is GIVEN else ("time", "type")
    program = bind(query.plan, given, time, kind, Settings())
    assert is_sorted_by_time(program) == (shuffled == "rows")
    assert f"\nexchange     {shuffled}: " in query.explain()
