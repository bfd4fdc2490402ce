"""Times in nanoseconds where pandas is not installed: nothing is refused after the fact, and nothing is cut off."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

#: A process that does not find pandas, and three events of which the last closes the window of the others.
BEGIN = """
import sys
class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
sys.meta_path.insert(0, Hidden)
import json
import pyarrow as pa
import trendweave
EVENTS = [{"time": time, "type": "A"} for time in (1714566600000000001, 1714566600000002000, 1714566700000000000)]
"""


def run(*lines: str) -> Any:
    text = "\n".join([BEGIN, *lines])
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_session_gives_all_rows() -> None:
    rows = run(
        'schema = pa.schema({"time": pa.int64(), "type": pa.string()})',
        'session = trendweave.query("RETURN COUNT(*) PATTERN A WITHIN 1 minute").push(schema, time_unit="ns")',
        "rows = [row for event in EVENTS for row in session.send(event)]",
        "watermark = session.watermark",
        "rows += trendweave.rows.tables.as_python_rows(session.finish())",
        "print(json.dumps([[str(row['time']), int(row['count'])] for row in rows] + [str(watermark)]))",
    )

    assert rows == [
        ["1714566600000000001", 1],
        ["2024-05-01 12:30:00.000002+00:00", 2],
        ["2024-05-01 12:31:40+00:00", 1],
        "2024-05-01 12:31:40+00:00",
    ]


def test_dictionaries_in_and_out() -> None:
    rows = run(
        'rows = trendweave.query("RETURN TRENDS PATTERN A").run(EVENTS, time_unit="ns")',
        'print(json.dumps([str(row["events"][0]["time"]) for row in rows]))',
    )

    assert rows == ["1714566600000000001", "2024-05-01 12:30:00.000002+00:00", "2024-05-01 12:31:40+00:00"]


def test_every_kind_of_time() -> None:
    rows = run(
        "from trendweave.rows.tables import as_python_rows",
        "times = [1, None, 2000]",
        "table = pa.table({",
        '    "length": pa.array(times, pa.duration("ns")),',
        '    "clock": pa.array(times, pa.time64("ns")),',
        '    "plain": pa.array([[time] if time else None for time in times], pa.list_(pa.timestamp("ns"))),',
        '    "other": [1.5, None, 2.5],',
        "})",
        "print(json.dumps([{name: str(value) for name, value in row.items()} for row in as_python_rows(table)]))",
    )

    assert rows == [
        {"length": "1", "clock": "1", "plain": "[1]", "other": "1.5"},
        {"length": "None", "clock": "None", "plain": "None", "other": "None"},
        {
            "length": "0:00:00.000002",
            "clock": "00:00:00.000002",
            "plain": "[datetime.datetime(1970, 1, 1, 0, 0, 0, 2)]",
            "other": "2.5",
        },
    ]
