"""device="auto": which device is taken, by kind of work and number of events, and what it says of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave import operators as ops
from trendweave.errors import ExecutionError, Problem
from trendweave.operators.binding import Asked
from trendweave.programs.bind import bind
from trendweave.programs.program import Program
from trendweave.runners import auto
from trendweave.runners.auto import WORTH, Choice, Machine, choose, find_kind
from trendweave.runners.options import Settings

CARD = Machine(16, "a card of the tests", warm=True)
COUNT = "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k"
SCAN = "RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v AND A.k < NEXT(A).k"
NEAR = "RETURN EACH COUNT(B) PATTERN SEQ(E A, E B) WHERE abs(A.v - B.v) <= 0.1 WITHIN 500 seconds"


def make_events(rows: int, keys: int = 50, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "time": pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us")),
            "type": pa.array(draw.choice(["A", "B"], rows)),
            "k": draw.integers(0, keys, rows),
            "v": draw.random(rows),
        }
    )


def bind_operator(operator: ops.Operator | ops.Chain, events: pa.Schema) -> Program:
    return Asked(operator.operators, "time", None).bind(events, Settings())


@pytest.mark.parametrize(
    ("kind", "rows", "machine", "device"),
    [
        ("sums over ranks", 1_000, CARD, "cpu"),
        ("sums over ranks", 10**7, Machine(1), "cpu"),
        ("sums over ranks", 10**7, Machine(4), "threads"),
        ("sums over ranks", 10**7, CARD, "gpu"),
        ("sums over ranks", 10**7, replace(CARD, warm=False), "threads"),
        ("scan", 10**7, replace(CARD, warm=False), "gpu"),
        ("intervals", 10**7, CARD, "threads"),
        ("filter", 200_000, Machine(4), "cpu"),
        ("filter", 500_000, Machine(4), "threads"),
    ],
)
def test_the_device_that_suits(kind: str, rows: int, machine: Machine, device: str) -> None:
    assert choose([kind], rows, None, machine).device == device


def test_what_cannot_be_dealt_out_is_left_to_one_core_or_a_card() -> None:
    assert choose(["scan"], 10**7, "there are no keys", Machine(16)).device == "cpu"
    assert choose(["scan"], 10**7, "there are no keys", CARD).devices == ("gpu", "cpu")
    assert choose(["scan"], 10**7, None, CARD, on_card=False).devices == ("threads", "cpu")


def test_the_kind_that_takes_longest_decides() -> None:
    assert choose(["filter", "pairs"], 200_000, None, Machine(4)).kind == "pairs"
    assert choose(["filter", "windows"], 200_000, None, Machine(4)).device == "threads"


def test_a_choice_tells_its_reasons() -> None:
    choice = choose(["sums over ranks"], 10**7, "there are no keys", CARD)
    assert choice.tell() == [
        "device: gpu, of 10,000,000 events (sums over ranks)",
        "  cpu (one core): for fewer events",
        "  threads (16 cores): not taken: there are no keys",
        "  gpu (a card of the tests): from 200,000 events on",
    ]
    assert choice.data()["devices"]["threads"] == "(16 cores): not taken: there are no keys"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (COUNT, "running sums"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v", "sums over ranks"),
        (SCAN, "scan"),
        (NEAR, "links"),
        ("RETURN TRENDS PATTERN SEQ(A, B) WITHIN 1 minute", "trends one by one"),
        ("FROM A DEFINE X AS v > 1, Y AS v < 1 PATTERN X before Y WITHIN 1 minute", "intervals"),
        ("FROM A DEFINE X AS v > 1 RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A DURING X", "situations"),
    ],
)
def test_kinds_of_queries(text: str, kind: str) -> None:
    assert find_kind(trendweave.query(text).plan) == kind


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        (ops.filter("v > 0.5"), "filter"),
        (ops.window_aggregate("AVG(v) AS mean", rows=3, keys=["k"]), "windows"),
        (ops.window_join("left.v = right.v", left="10 rows", right="10 rows"), "partners"),
        (ops.window_join("abs(left.v - right.v) <= 0.1", left="10 rows", right="10 rows"), "partners"),
        (ops.window_join("left.v < right.v", left="10 rows", right="10 rows"), "pairs"),
        (ops.window_join("left.v * right.v > 0.5", left="10 rows", right="10 rows"), "pairs"),
    ],
)
def test_operators_and_workloads_tell_their_device(
    operator: ops.Operator, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "find_machine", lambda: Machine(4))
    events = make_events(460_000)
    told = operator.explain(events, device="auto")
    assert f"device: threads, of 460,000 events ({kind})" in told
    assert "of 460,000 events" not in operator.explain(events.schema, device="auto")
    assert json.loads(operator.explain(events, format="json", device="auto"))["chosen"] == "threads"


def test_explain_names_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "find_machine", lambda: Machine(4))
    query = trendweave.query(COUNT)
    told = query.explain(events=make_events(160_000), device="auto")
    assert told.startswith("device: threads, of 160,000 events (running sums)")
    assert "threads (4 cores): from 150,000 events on" in told
    assert "gpu (a GPU): not taken: there is no GPU, or no CuPy" in told
    assert query.explain(rows=100_000_000).startswith("device: threads, of 100,000,000 events")
    without = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B)")
    assert "threads (4 cores): not taken: there are no keys, and time is not cut" in without.explain(rows=10**8)
    workload = trendweave.workload({"a": COUNT, "b": "RETURN COUNT(*) PATTERN A+ WHERE [k]"})
    assert "of 460,000 events (running sums" in workload.explain(events=make_events(460_000))
    assert workload.explain(rows=10**8).startswith("device: threads")


# Runs


def test_auto_gives_the_rows_of_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "find_machine", lambda: Machine(2))
    events, taken = make_events(160_000), []
    real = auto.run_on_best

    def watch(choice: Choice, run: Any) -> Any:
        taken.append(choice.device)
        return real(choice, run)

    monkeypatch.setattr(auto, "run_on_best", watch)
    query = trendweave.query(COUNT)
    for rows in (events, events.slice(0, 100)):
        found = query.run(rows, device="auto")
        assert found.sort_by("k").equals(query.run(rows).sort_by("k"))
    assert len(list(query.iter(events.slice(0, 100), device="auto"))) == 1
    window = ops.window_aggregate("AVG(v) AS mean", rows=3, keys=["k"])
    assert window.run(events, device="auto").equals(window.run(events))
    assert taken == ["threads", "cpu", "cpu", "threads"]


def test_what_a_card_refuses_is_done_elsewhere() -> None:
    choice = choose(["scan"], 10**6, None, CARD)
    assert choice.devices == ("gpu", "threads", "cpu")
    tried: list[str] = []

    def run(device: str) -> str:
        tried.append(device)
        if device == "gpu":
            raise ExecutionError([Problem("TW422", "texts are not compared on a card", "use device='cpu'")])
        return device

    assert auto.run_on_best(choice, run) == "threads"
    assert tried == ["gpu", "threads"]

    def fail(device: str) -> str:
        raise ExecutionError([Problem("TW412", "there are too many trends to show", "LIMIT 10")])

    with pytest.raises(ExecutionError, match="TW412"):
        auto.run_on_best(choice, fail)


def test_a_card_is_looked_for_when_it_would_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(auto, "find_machine", lambda: Machine(1, "a GPU"))
    monkeypatch.setattr(auto.card, "has_card", lambda: asked.append(1) is not None)
    events = make_events(100_000)
    program = bind(trendweave.query(NEAR).plan, events.schema, "time", None, Settings())
    few = auto.choose_device(program, events.slice(0, 5_000))
    assert (few.device, asked) == ("cpu", [])
    many = auto.choose_device(program, events)
    assert (many.device, asked) == ("cpu", [1])


def test_chains_are_dealt_out_by_keys_in_common() -> None:
    events = make_events(200_000)
    windows = ops.window_aggregate("SUM(v) AS total", rows=100, slide_rows=1, keys=["k"])
    chain = bind_operator(ops.filter("v >= 0") | windows, events.schema)
    assert auto.choose_device(chain, events, Machine(4)).device == "threads"
    apart = bind_operator(windows | ops.window_aggregate("SUM(total) AS all", rows=3), events.schema)
    choice = auto.choose_device(apart, events, Machine(4))
    assert choice.device == "cpu"
    assert "not taken" in choice.tell()[2]


def test_seconds_are_estimated_where_they_grow_with_the_number_of_events() -> None:
    events = make_events(10)
    count = bind(trendweave.query(COUNT).plan, events.schema, "time", "type", Settings())
    one, all_cores = (auto.estimate_seconds(count, 10**6, device) for device in ("cpu", "threads"))
    assert one is not None
    assert all_cores is not None
    assert 0 < all_cores <= one < inf
    scan = bind(trendweave.query(SCAN).plan, events.schema, "time", "type", Settings())
    assert auto.estimate_seconds(scan, 10**6, "cpu") is None
    assert set(WORTH) >= {find_kind(trendweave.query(text).plan) for text in (COUNT, SCAN, NEAR)}


def test_there_is_nothing_to_calibrate() -> None:
    with pytest.warns(DeprecationWarning, match="table of thresholds"):
        trendweave.calibrate()
