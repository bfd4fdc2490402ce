"""From text to plan: what a user waits for before any data is touched."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import trendweave
from benchmarks.registry import ResultRow, workload
from benchmarks.timing import median_seconds

QUERIES = [path.read_text(encoding="utf-8") for path in sorted(Path("examples/queries").glob("*.tw"))]


@workload("planning")
def planning(repeat: int) -> list[ResultRow]:
    """The papers' queries, a pattern of ten thousand states, and a new process."""
    for text in QUERIES:
        assert trendweave.query(str(trendweave.query(text))) == trendweave.query(text)
    seconds = [median_seconds(lambda text=text: trendweave.query(text), repeat) for text in QUERIES]
    large = "RETURN COUNT(*) PATTERN A{10000}"
    assert len(trendweave.query(large).plan.template.states) == 10_000
    start = "import trendweave; trendweave.query('RETURN COUNT(*) PATTERN SEQ(A+, B)')"

    def new_process() -> None:
        subprocess.run([sys.executable, "-c", start], check=True)

    new_process()
    begun = perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    bare = perf_counter() - begun
    measured = [
        (
            "parse, check and plan one of the papers' queries",
            statistics.median(seconds) * 1e3,
            "ms",
            f"{len(QUERIES)} queries",
        ),
        ("the slowest of them", max(seconds) * 1e3, "ms", ""),
        ("a pattern of 10,000 states", median_seconds(lambda: trendweave.query(large), repeat) * 1e3, "ms", ""),
        (
            "first query in a new process",
            median_seconds(new_process, repeat) * 1e3,
            "ms",
            f"bare Python {bare * 1e3:.0f} ms",
        ),
    ]
    return [
        ResultRow(name=name, metric="time", value=round(value, 2), unit=unit, bar=None, met=None, note=note)
        for name, value, unit, note in measured
    ]
