"""One filter on Flink beside ours (Figure 4.8 of the thesis)."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.devices import devices
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, duration
from benchmarks.thesis_events import distance, far_threshold, make_events
from benchmarks.timing import interleaved
from trendweave import operators as ops

SELECTIVITY = 1e-3
_PROGRAM = Path(__file__).parents[1] / "flink" / "FlinkFilter.java"
_FLINK_EVENTS, _OUR_EVENTS = 100_000_000, 4_000_000


@workload("operators-flink")
def operators_flink(repeat: int) -> list[ResultRow]:
    """A filter of six floats, 1 of 1,000 kept: Flink in one process, with one task and with two, and ours."""
    threshold = far_threshold(SELECTIVITY)
    theirs = _run_flink(threshold, ["1", "2"])
    far, events = ops.filter(f"{distance()} > {threshold!r}"), make_events(_OUR_EVENTS)
    kept = far.run(events).num_rows / _OUR_EVENTS
    assert abs(kept - SELECTIVITY) < SELECTIVITY / 5, "another part of all events is kept than was asked for"
    seconds = interleaved({device: partial(far.run, events, device=device) for device in devices()}, min(repeat, 3))
    rows = []
    for parallelism, (rate, part) in theirs.items():
        assert abs(part - kept) < SELECTIVITY / 5, "Flink keeps another part of all events"
        name = f"Flink, {parallelism} task{'s' if parallelism != '1' else ''}"
        note = f"{_FLINK_EVENTS:,} events, handed on by reference"
        rows.append(at_least(name, "rate", rate / 1e6, "M events/s", None, note))
    for device, took in seconds.items():
        note = f"{_OUR_EVENTS:,} events, {duration(took)}"
        rows.append(at_least(f"ours, {device}", "rate", _OUR_EVENTS / took / 1e6, "M events/s", None, note))
    times = _OUR_EVENTS / seconds["cpu"] / theirs["1"][0]
    rows.append(at_least("ours on one core / Flink with one task", "rate", times, "x", 1.0, "thesis: up to 100 x"))
    return rows


def _run_flink(threshold: float, parallelisms: list[str]) -> dict[str, tuple[float, float]]:
    """Events per second and the part that was kept, by parallelism."""
    from tools.compare_flink.__main__ import JAVA_OPTIONS, flink_jars

    java, jars = Path(os.environ["JAVA_HOME"]) / "bin", flink_jars()
    with tempfile.TemporaryDirectory() as place:
        path = os.pathsep.join([place, str(jars / "*")])
        subprocess.run([java / "javac", "-cp", path, "-d", place, _PROGRAM], check=True)
        command = [java / "java", *JAVA_OPTIONS, "-cp", path, "FlinkFilter"]
        given = [repr(threshold), str(_FLINK_EVENTS), *parallelisms]
        done = subprocess.run([*command, *given], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("result\t"):
            _, parallelism, events, kept, milliseconds = line.split("\t")
            found[parallelism] = (int(events) / int(milliseconds) * 1e3, int(kept) / int(events))
    return found
