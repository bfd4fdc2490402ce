"""device="auto": prices, estimates, the choice, and what it says of itself."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave import calibrating
from trendweave import operators as ops
from trendweave.devices.choosing import Choice, Costs, Machine, Units, Work, choose, tell_choice
from trendweave.devices.kept_costs import costs_file, load_costs, save_costs
from trendweave.errors import ExecutionError, Problem
from trendweave.operators.binding import Asked
from trendweave.programs.bind import bind
from trendweave.programs.program import Program
from trendweave.runners.auto import calibrate as measuring
from trendweave.runners.auto import choosing
from trendweave.runners.auto.sample import Sample, look_at
from trendweave.runners.auto.work import find_task
from trendweave.runners.options import Settings

CARD = Machine(16, "a card of the tests", warm=True)
COUNT = "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


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


def work(rows: int, kind: str = "sums over ranks", **others: Any) -> Work:
    return Work(kind, rows, float(rows), rows * 10.0, bytes=rows * 64.0, **others)


def seconds(choice: Choice) -> dict[str, float]:
    return {one.device: one.seconds for one in choice.estimates}


# Estimates


def test_more_work_takes_longer_on_every_device() -> None:
    before = dict.fromkeys(("cpu", "threads", "gpu"), 0.0)
    for rows in (0, 10, 10_000, 1_000_000, 100_000_000):
        now = seconds(choose(work(rows), CARD))
        assert all(now[device] > before[device] or rows == 0 for device in now)
        before = now


@pytest.mark.parametrize("device", ["cpu", "threads", "gpu"])
def test_prices_count_for_their_device(device: str) -> None:
    usual = seconds(choose(work(10**6), CARD))
    higher = {"cpu": {"row": 80.0}, "threads": {"deal_row": 80.0}, "gpu": {"card_byte": 80.0}}[device]
    dearer = seconds(choose(work(10**6), CARD, replace(Costs(), **higher)))
    assert dearer[device] > usual[device]
    assert device == "cpu" or dearer["cpu"] == usual["cpu"]


def test_rows_that_stay_where_they_are_cost_threads_less() -> None:
    """Where time is cut nothing is moved to the part of its key."""
    events = make_events(400_000)
    by_key, by_time = (
        choosing.measure_work(program, look_at(program, events), 4)
        for program in (
            bind(trendweave.query(text).plan, events.schema, "time", "type", Settings())
            for text in (COUNT, "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute SLIDE 1 minute")
        )
    )
    assert (by_key.moved, by_time.moved) == (1.0, 0.0)
    assert by_key.not_dealt is by_time.not_dealt is None
    moved = seconds(choose(work(10**6, moved=1.0), CARD))
    kept = seconds(choose(work(10**6, moved=0.0), CARD))
    assert kept["threads"] < moved["threads"]
    assert (kept["cpu"], kept["gpu"]) == (moved["cpu"], moved["gpu"])


def test_more_cores_are_quicker_until_the_largest_part_is_all_that_counts() -> None:
    by_cores = [seconds(choose(work(10**7), Machine(cores)))["threads"] for cores in (2, 4, 8, 16)]
    assert by_cores == sorted(by_cores, reverse=True)
    assert by_cores[0] > 4 * by_cores[-1]
    uneven = [seconds(choose(work(10**7, largest=0.5), Machine(cores)))["threads"] for cores in (2, 16)]
    assert uneven[1] > 0.7 * uneven[0]


@pytest.mark.parametrize(
    ("asked", "machine", "device"),
    [
        (work(1_000), CARD, "cpu"),
        (work(10**7), Machine(1), "cpu"),
        (work(10**7), Machine(4), "threads"),
        (work(10**7, not_dealt="there are no keys"), Machine(4), "cpu"),
        (work(10**7, not_dealt="there are no keys"), CARD, "gpu"),
        (Work("scan", 10**6, 10.0**6, 1e12, 1e8), CARD, "gpu"),
        (Work("scan", 10**6, 10.0**6, 1e12, 1e8, not_on_card="texts"), CARD, "threads"),
        (work(10**6, not_dealt="there are no keys"), replace(CARD, warm=False), "cpu"),
        (work(10**6, kind="intervals", not_on_card="no card does this"), CARD, "threads"),
    ],
)
def test_the_device_that_suits(asked: Work, machine: Machine, device: str) -> None:
    choice = choose(asked, machine)
    assert choice.device == device
    known = [one.seconds for one in choice.estimates if one.why_not is None]
    assert known == sorted(known)


def test_a_choice_tells_its_reasons() -> None:
    lines = tell_choice(choose(work(10**7, not_dealt="there are no keys"), CARD), CARD)
    assert lines[0].startswith("device: gpu, of 10,000,000 events (sums over ranks, 100,000,000 units")
    assert any(line.startswith("  gpu (a card of the tests): about ") for line in lines)
    assert "  threads (16 cores): not taken: there are no keys" in lines
    assert any(line.startswith("  cpu (one core): about ") and line.endswith("s") for line in lines)


# A look at events


@pytest.mark.parametrize("keys", [1, 20, 3_000])
def test_a_sample_tells_how_many_keys_there_are(keys: int) -> None:
    events = make_events(60_000, keys)
    program = bind(trendweave.query(COUNT).plan, events.schema, "time", "type", Settings())
    sample = look_at(program, events)
    assert sample.rows == 60_000
    assert sample.kept == 1.0
    assert keys * 0.8 <= sample.keys <= keys * 1.25
    assert math.isclose(sample.span, 60_000 * 1e9, rel_tol=0.05)


def test_a_sample_of_nothing_that_is_kept() -> None:
    events = make_events(10_000)
    program = bind(trendweave.query("RETURN COUNT(*) PATTERN Z+").plan, events.schema, "time", "type", Settings())
    assert look_at(program, events).kept < 0.001
    assert look_at(program, events.slice(0, 0)).rows == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (COUNT, "running sums"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v", "sums over ranks"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v AND A.k < NEXT(A).k", "scan"),
        ("RETURN TRENDS PATTERN SEQ(A, B) WITHIN 1 minute", "trends one by one"),
        ("FROM A DEFINE X AS v > 1, Y AS v < 1 PATTERN X before Y WITHIN 1 minute", "intervals"),
        ("FROM A DEFINE X AS v > 1 RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A DURING X", "running sums"),
    ],
)
def test_kinds_of_work(text: str, kind: str) -> None:
    plan = trendweave.query(text).plan
    few, many = find_task(plan, Sample(1_000)), find_task(plan, Sample(100_000))
    assert few.kind == many.kind == kind
    assert many.units > few.units > 0
    assert (few.not_on_card is None) == (kind in ("running sums", "sums over ranks", "scan") and "DURING" not in text)


def test_wider_windows_are_more_work() -> None:
    text = "RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v WITHIN {} SLIDE 10 seconds"
    sample = Sample(100_000, span=1e14)
    narrow, wide = (find_task(trendweave.query(text.format(w)).plan, sample) for w in ("10 seconds", "10 minutes"))
    assert wide.units > 30 * narrow.units


def test_few_pairs_cost_more_each_on_a_core_and_not_on_a_card() -> None:
    """No loop is compiled for few of them."""
    join = ops.window_join("left.v < right.v", left="1000 rows", right="1000 rows")
    few, many = (find_task(join.task, Sample(rows)) for rows in (1_000, 1_000_000))
    assert few.card_units is not None
    assert many.card_units is not None
    assert few.units > 10 * few.card_units
    assert many.units == many.card_units


# Runs


def test_auto_gives_the_rows_of_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "find_machine", lambda: Machine(2))
    events, taken = make_events(160_000), []
    real = choosing.run_on_best

    def watch(choice: Choice, run: Any) -> Any:
        taken.append(choice.device)
        return real(choice, run)

    monkeypatch.setattr(choosing, "run_on_best", watch)
    query = trendweave.query(COUNT)
    for rows in (events, events.slice(0, 100)):
        found = query.run(rows, device="auto")
        assert found.sort_by("k").equals(query.run(rows).sort_by("k"))
    assert len(list(query.iter(events.slice(0, 100), device="auto"))) == 1
    window = ops.window_aggregate("AVG(v) AS mean", rows=3, keys=["k"])
    assert window.run(events, device="auto").equals(window.run(events))
    assert taken[1:3] == ["cpu", "cpu"], "few events are no work"


def test_what_a_card_refuses_is_done_elsewhere() -> None:
    choice = choose(Work("scan", 10**6, 10.0**6, 1e12), CARD)
    assert choice.devices == ("gpu", "threads", "cpu")
    tried: list[str] = []

    def run(device: str) -> str:
        tried.append(device)
        if device == "gpu":
            raise ExecutionError([Problem("TW422", "texts are not compared on a card", "use device='cpu'")])
        return device

    assert choosing.run_on_best(choice, run) == "threads"
    assert tried == ["gpu", "threads"]

    def fail(device: str) -> str:
        raise ExecutionError([Problem("TW412", "there are too many trends to show", "LIMIT 10")])

    with pytest.raises(ExecutionError, match="TW412"):
        choosing.run_on_best(choice, fail)


def test_explain_names_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "find_machine", lambda: Machine(4))
    query = trendweave.query(COUNT)
    told = query.explain(events=make_events(160_000), device="auto")
    assert "of 160,000 events (running sums" in told
    assert "cpu (one core): about" in told
    assert "threads (4 cores): about" in told
    assert "gpu (a GPU): not taken: there is no GPU, or no CuPy" in told
    assert query.explain(rows=100_000_000).startswith("device: threads, of 100,000,000 events")
    without = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B)")
    assert "threads (4 cores): not taken: there are no keys, and time is not cut" in without.explain(rows=10**8)


# Prices of this machine


def test_prices_are_kept_and_read(cache: Path) -> None:
    assert load_costs() == Costs()
    costs = replace(Costs(), row=12.5, units={**Costs().units, "scan": 3.25})
    path = save_costs(costs, {"cores": "2"})
    assert path == costs_file() == cache / "trendweave" / "devices.json"
    assert load_costs() == costs
    kept = json.loads(path.read_text())
    assert kept["cores"] == "2"


@pytest.mark.parametrize(
    "spoilt",
    [
        "",
        "[]",
        "{}",
        '{"version": 99}',
        '{"version": 1, "machine": "another", "nanoseconds": {"row": 1}}',
        '{"version": 1, "machine": "HERE", "nanoseconds": {"row": -1, "call": "x", "units": {"scan": null}}}',
        '{"version": 1, "machine": "HERE", "nanoseconds": {"row": NaN, "units": 7, "shared": true}}',
        '{"version": 1, "machine": "HERE", "nanoseconds": [1]}',
    ],
)
def test_what_cannot_be_read_is_as_usual(spoilt: str) -> None:
    import platform

    path = save_costs(Costs(), {})
    path.write_text(spoilt.replace("HERE", platform.node()))
    assert load_costs() == Costs()


def test_calibrating_measures_and_keeps_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_ROWS", 5_000)
    monkeypatch.setattr(measuring, "_FEW", 1_000)
    monkeypatch.setattr(measuring, "_TIMES", 1)
    kept = {
        kind: calibrating._cases()[kind] for kind in ("nothing", "short", "running sums", "sums over ranks", "windows")
    }
    monkeypatch.setattr(calibrating, "_cases", lambda: kept)
    monkeypatch.setattr(measuring, "find_machine", lambda: Machine(2))
    costs = trendweave.calibrate()
    assert costs != Costs()
    assert load_costs() == costs
    for price in (costs.call, costs.read, costs.row, costs.deal_call, costs.shared, *costs.units.values()):
        assert 0 < price < math.inf
    assert costs.units["scan"] == Costs().units["scan"], "what was not measured is as usual"
    monkeypatch.setattr(calibrating, "_cases", lambda: kept)
    costs_file().unlink()
    trendweave.calibrate(save=False)
    assert not costs_file().exists()


def test_all_kinds_of_work_are_measured() -> None:
    assert Costs().units.keys() <= calibrating._cases().keys()


@pytest.mark.parametrize("kind", ["partners", "pairs", "links"])
def test_a_case_is_mostly_of_its_kind(kind: str) -> None:
    """As many events as are measured, so that loops are compiled as they are for large runs."""
    events = measuring.make_events(measuring._ROWS)
    program = calibrating._cases()[kind](events.schema, "cpu")
    measured = choosing.measure_work(program, look_at(program, events), 1)
    assert measured.kind == kind
    if kind != "partners":
        assert measured.units == measured.card_units, "a loop is compiled for so many"


def test_a_price_is_what_other_kinds_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Work("pairs", 1_000, 1_000.0, 5_000.0, others=(Units("partners", 1_000.0),))
    monkeypatch.setattr(measuring._Timing, "work", lambda *_: both)
    timing, costs = measuring._Timing({}, make_events(10)), Costs()
    taken = costs.call + measuring.prepare_rows(both, costs) + 1_000 * costs.units["partners"] + 5_000 * 7.0
    assert math.isclose(measuring._left(timing, "pairs", taken, costs), 7.0)


def test_operators_and_workloads_name_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "find_machine", lambda: Machine(4))
    events = make_events(460_000)
    for operator, kind in (
        (ops.filter("v > 0.5"), "filter"),
        (ops.window_aggregate("AVG(v) AS mean", rows=3, keys=["k"]), "windows"),
        (ops.window_join("left.v < right.v", left="10 rows", right="10 rows", keys=["k"]), "pairs"),
    ):
        told = operator.explain(events, device="auto")
        assert f"of 460,000 events ({kind}, " in told
        assert "threads (4 cores): about" in told
        assert "of 460,000 events" not in operator.explain(events.schema, device="auto")
    workload = trendweave.workload({"a": COUNT, "b": "RETURN COUNT(*) PATTERN A+ WHERE [k]"})
    assert "of 460,000 events (running sums" in workload.explain(events=events)
    assert workload.explain(rows=10**8).startswith("device: threads")


def test_few_events_with_many_pairs_go_to_a_card() -> None:
    """One core would compile nothing for them, and a card looks at all pairs at once."""
    events = make_events(1_000)
    near = " AND ".join(f"abs({a}.v - {b}.v) <= 0.0001" for a, b in ("AB", "BC"))
    query = trendweave.query(f"RETURN EACH COUNT(B) PATTERN SEQ(E A, E B, E C) WHERE {near} WITHIN 500 seconds")
    program = bind(query.plan, events.schema, "time", None, Settings())
    assert choosing._choose_device(program, events, CARD).device == "gpu"
    assert choosing._choose_device(program, events, Machine(16)).device == "cpu"
    assert choosing._choose_device(program, events, replace(CARD, warm=False)).device == "cpu", "it takes long to start"


def test_events_that_one_core_is_soon_done_with_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("events were looked at")

    monkeypatch.setattr(choosing, "look_at", refuse)
    events = make_events(20_000)
    for text in (COUNT, "RETURN k, COUNT(*) PATTERN A+ WHERE [k] AND A.v < NEXT(A).v GROUP-BY k"):
        program = bind(trendweave.query(text).plan, events.schema, "time", "type", Settings())
        choice = choosing._choose_device(program, events, CARD)
        assert choice.devices == ("cpu",)
        assert all(one.why_not == "there are too few events" for one in choice.estimates[1:])
    whole = bind(trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B)").plan, events.schema, "time", "type", Settings())
    assert choosing._choose_device(whole, make_events(200_000), Machine(4)).device == "cpu", "nobody shares it"


def test_a_card_is_looked_for_when_it_would_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(choosing, "find_machine", lambda: Machine(1, "a GPU"))
    monkeypatch.setattr(choosing.card, "has_card", lambda: asked.append(1) is not None)
    events = make_events(100_000)
    query = trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v AND A.k < NEXT(A).k")
    program = bind(query.plan, events.schema, "time", "type", Settings())
    few = choosing.choose_device(program, events.slice(0, 5_000))
    assert (few.device, asked) == ("cpu", [])
    many = choosing.choose_device(program, events)
    assert (many.device, asked) == ("cpu", [1])


# Chains, joins and rows of results


def bind_operator(operator: ops.Operator | ops.Chain, events: pa.Schema) -> Program:
    return Asked(operator.operators, "time", None).bind(events, Settings())


def estimate(operator: ops.Operator | ops.Chain, events: pa.Table, cores: int = 4) -> Choice:
    return choosing.choose_device(bind_operator(operator, events.schema), events, Machine(cores), closely=True)


def test_a_chain_costs_as_much_as_its_operators() -> None:
    events = make_events(400_000, keys=1_000)
    kept = ops.filter("v >= 0 AND v * v >= 0 AND v + v >= 0")
    windows = ops.window_aggregate("SUM(v) AS total, MAX(v) AS most", rows=100, slide_rows=1, keys=["k"])
    alone, chain = estimate(windows, events), estimate(kept | windows, events)
    assert seconds(chain)["cpu"] > seconds(alone)["cpu"]
    assert chain.work.kinds == {"filter", "windows"}
    assert chain.work.kind == "windows", "it takes the longest, whatever the number of units"
    assert "threads" in chain.devices, "there are many keys"


def test_few_events_of_a_chain_are_not_taken_for_those_of_one_key() -> None:
    events = make_events(5_000)
    windows = ops.window_aggregate("SUM(v) AS total", rows=100, slide_rows=1, keys=["k"])
    reasons = {one.device: one.why_not for one in estimate(ops.filter("v >= 0") | windows, events).estimates}
    assert reasons["threads"] == "there are too few events"


def test_work_of_all_kinds_counts_on_every_device() -> None:
    one = work(10**7)
    both = replace(one, others=(Units("filter", 1e8),))
    usual, more = seconds(choose(one, CARD)), seconds(choose(both, CARD))
    assert all(more[device] > usual[device] for device in usual)
    refused = choose(replace(one, others=(Units("intervals", 1.0),)), CARD)
    assert "gpu" not in refused.devices


def make_sides(rows: int) -> pa.Table:
    draw = np.random.default_rng(3)
    times = pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us"))
    return pa.table({"time": times, "v": draw.random(rows), "n": draw.integers(0, 10, rows)})


@pytest.mark.parametrize(
    ("condition", "least", "most"),
    [
        ("left.v = right.v", 0.0, 1e-3),
        ("abs(left.v - right.v) <= 1e-7", 0.0, 1e-3),
        ("abs(left.v - right.v) <= 0.4", 1.0, 1.0),
        ("left.n = right.n", 0.08, 0.12),
        ("left.n = right.n AND left.v < 0.5", 0.03, 0.07),
        ("left.v < right.v", 1.0, 1.0),
        ("left.v * right.v > 0.5", 1.0, 1.0),
    ],
)
def test_pairs_of_a_join_are_those_that_it_looks_at(condition: str, least: float, most: float) -> None:
    events = make_sides(20_000)
    program = bind_operator(ops.window_join(condition, left="1000 rows", right="1000 rows"), events.schema)
    sample = look_at(program, events)
    assert sample.matching is not None
    assert least <= sample.matching <= most


def test_joins_that_look_partners_up_take_no_time_for_other_pairs() -> None:
    events = make_sides(300_000)
    every, equal, near = (
        seconds(estimate(ops.window_join(condition, left="100000 rows", right="100000 rows"), events))["cpu"]
        for condition in ("left.v < right.v", "left.v = right.v", "abs(left.v - right.v) <= 1e-7")
    )
    assert every > 10
    assert 0.02 < equal < 1
    assert 0.02 < near < 1


def test_a_join_behind_another_operator_is_assumed_to_find_few_partners() -> None:
    equal = ops.window_join("left.v = right.v", left="1000 rows", right="1000 rows").task
    every = ops.window_join("left.v < right.v", left="1000 rows", right="1000 rows").task
    found, tried = (find_task(plan, Sample(1_000_000)).card_units or 0.0 for plan in (equal, every))
    assert 0 < found <= tried / 10


def test_rows_of_results_that_one_core_puts_in_order_count_for_threads() -> None:
    events = make_events(400_000, keys=1_000)
    each, seldom = (
        estimate(ops.window_aggregate("SUM(v) AS total", rows=100, slide_rows=slide, keys=["k"]), events)
        for slide in (1, 100)
    )
    assert each.work.arranged == 400_000
    assert seldom.work.arranged == 4_000
    more = {device: seconds(each)[device] - seconds(seldom)[device] for device in ("cpu", "threads")}
    assert more["cpu"] > 0.005, "each row that comes out is written"
    assert more["threads"] > more["cpu"] / 2 + 0.01, "and cores share that, but not the order"
    by_time = ops.window_aggregate("SUM(v) AS total", within="1 minute")
    assert estimate(by_time, events).work.arranged == 0, "chunks of time stand in order"
