"""Thousands of alert rules that differ in constants, on one stream: what ten times as many rules cost."""

from __future__ import annotations

from functools import cache, partial
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most, duration
from benchmarks.timing import interleaved
from trendweave import Metrics, warm_up
from trendweave import workload as make_workload
from trendweave.workload import Workload

EVENTS = 1_000_000
SENSORS = 1_000
FEW, MANY = 1_000, 10_000
#: Per kind of rule: its text, and between which thresholds (in standard deviations) it fires.
KINDS = {
    "a run of high values of one sensor": (
        "RETURN COUNT(*), MAX(R.value) AS peak PATTERN Reading R+ WHERE [sensor] AND R.sensor = '{sensor}' "
        "AND R.value > {high} GROUP-BY sensor WITHIN 60 seconds SLIDE 30 seconds",
        (2.5, 4.0),
    ),
    "low, then high, on any sensor": (
        "RETURN sensor, COUNT(*) PATTERN SEQ(Reading L, Reading H+) WHERE [sensor] AND L.value < {low} "
        "AND H.value > {high} GROUP-BY sensor WITHIN 10 seconds SLIDE 10 seconds",
        (2.2, 3.2),
    ),
    "each jump of one sensor": (
        "RETURN EACH L.value AS before, H.value AS after PATTERN SEQ(Reading L, Reading H) WHERE [sensor] "
        "AND H.sensor = '{sensor}' AND H.value > {high} AND H.value > L.value + 3 WITHIN 1 second",
        (2.5, 4.0),
    ),
    "from once in ten readings to once in 30,000": (
        "RETURN COUNT(*), MAX(R.value) AS peak PATTERN Reading R+ WHERE [sensor] AND R.sensor = '{sensor}' "
        "AND R.value > {high} GROUP-BY sensor WITHIN 60 seconds SLIDE 30 seconds",
        (1.3, 4.0),
    ),
    "once in ten readings on average": (
        "RETURN COUNT(*), MAX(R.value) AS peak PATTERN Reading R+ WHERE [sensor] AND R.sensor = '{sensor}' "
        "AND R.value > {high} GROUP-BY sensor WITHIN 60 seconds SLIDE 30 seconds",
        (0.0, 4.0),
    ),
}


@cache
def readings(events: int) -> pa.Table:
    """A thousand readings a second, of a thousand sensors."""
    random = np.random.default_rng(1)
    sensors = np.array([f"s{number}" for number in range(SENSORS)])
    return pa.table(
        {
            "time": pa.array(np.arange(events) * 1_000, pa.timestamp("us")),
            "type": pa.repeat("Reading", events),
            "sensor": sensors[random.integers(0, SENSORS, events)],
            "value": random.normal(size=events),
        }
    )


def alert_rules(kind: str, count: int) -> Workload:
    text, (lowest, highest) = KINDS[kind]
    random = np.random.default_rng(2)
    texts = {}
    for number in range(count):
        # No two rules are the same.
        high = random.uniform(lowest, highest) + number * 1e-9
        sensor = random.integers(0, SENSORS)
        texts[f"r{number}"] = text.format(sensor=f"s{sensor}", high=f"{high:.9f}", low=f"{-high:.9f}")
    return make_workload(texts)


@workload("workloads-rules")
def workloads_rules(repeat: int) -> list[ResultRow]:
    """1,000 and 10,000 threshold rules on one stream, from text to rows."""
    warm_up()
    rows = []
    events = readings(EVENTS)
    for kind in KINDS:
        start = process_time()
        many = alert_rules(kind, MANY)
        compiled = process_time() - start
        few = make_workload({name: many[name] for name in list(many)[:FEW]})
        copies = _check(many, events)
        runs = {"few": partial(few.run, events), "many": partial(many.run, events)}
        seconds = interleaved(runs, repeat, process_time)
        note = (
            f"{EVENTS:,} events, {duration(seconds['few'])} and {duration(seconds['many'])} CPU; "
            f"{copies:,} pairs of rules and events"
        )
        ratio = seconds["many"] / seconds["few"]
        rows.append(at_most(kind, f"{MANY:,} rules / {FEW:,} rules", ratio, "x", 4, note))
        rows.append(at_most(kind, f"compile {MANY:,} rules", compiled, "s", 60, "CPU"))
    return rows


def _check(rules: Workload, events: pa.Table) -> int:
    """Some rules give what they give alone; the number of copied rows."""
    metrics = Metrics()
    found = rules.run(events, metrics=metrics)
    assert metrics.sharing.queries == len(rules)
    assert found.num_rows, "rules that find nothing show nothing"
    for name in list(rules)[:: len(rules) // 3]:
        alone = rules[name].run(events)
        assert rules.rows(found, name).num_rows == alone.num_rows
    return metrics.sharing.copies
