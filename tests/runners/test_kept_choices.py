"""Choices of devices are kept for some runs, and what these take is compared."""

from __future__ import annotations

import math
from dataclasses import replace
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from tests.runners.test_choosing_devices import make_events
from trendweave import operators as ops
from trendweave.devices.choosing import Choice, Estimate, Machine, Work
from trendweave.errors import ExecutionError, Problem
from trendweave.operators.binding import Asked
from trendweave.runners.auto import choosing, kept_choices
from trendweave.runners.auto.kept_choices import Asked as What
from trendweave.runners.auto.kept_choices import KeptChoices, about
from trendweave.runners.options import Settings

EVENTS = make_events(1_000)
ASKED = What((object(),), None, EVENTS, Machine(4, "a card", warm=True))


def choice_of(**seconds: float) -> Choice:
    """Devices with these estimates; one that takes forever is one that does not do it."""
    found = [Estimate(device, took, "no" if took == math.inf else None) for device, took in seconds.items()]  # type: ignore[arg-type]
    return Choice(tuple(sorted(found, key=lambda one: one.seconds)), Work("filter", 1_000, 1_000, 1_000))


def run_often(choice: Choice, took: dict[str, float], times: int) -> list[str]:
    """The devices of some runs that take as long as is said."""
    kept, devices = KeptChoices(), []
    for _ in range(times):
        found = kept.find(ASKED)
        if found is None:
            found = choice
            kept.keep(ASKED, choice)
        devices.append(found.device)
        assert set(found.devices) == set(choice.devices), "those that may be tried stay"
        kept.learn(ASKED, found.device, took[found.device])
    return devices


def test_devices_that_may_be_as_fast_are_tried() -> None:
    choice = choice_of(threads=0.010, gpu=0.017, cpu=0.021)
    devices = run_often(choice, {"threads": 0.025, "gpu": 0.014, "cpu": 0.001}, 20)
    assert devices[:4] == ["threads", "threads", "gpu", "gpu"]
    assert set(devices[4:]) == {"gpu"}, "it took the least of those that were tried"
    assert run_often(choice, {"threads": 0.01, "gpu": 0.014}, 20)[4:] == ["threads"] * 16


def test_what_is_not_done_or_far_slower_is_not_tried() -> None:
    assert set(run_often(choice_of(cpu=0.01, threads=0.021, gpu=math.inf), {"cpu": 9.0}, 10)) == {"cpu"}


def test_the_first_run_may_compile() -> None:
    kept, choice = KeptChoices(), choice_of(cpu=0.01, threads=0.015)
    kept.keep(ASKED, choice)
    for seconds in (30.0, 0.01):
        kept.learn(ASKED, "cpu", seconds)
    for seconds in (0.02, 0.02):
        kept.learn(ASKED, "threads", seconds)
    found = kept.find(ASKED)
    assert found is not None
    assert found.device == "cpu"


def test_all_is_asked_again_after_some_runs() -> None:
    kept = KeptChoices()
    kept.keep(ASKED, choice_of(cpu=0.01))
    found = [kept.find(ASKED) for _ in range(kept_choices._RUNS)]
    assert found[-1] is None
    assert None not in found[:-1]


def test_other_plans_events_and_machines_have_choices_of_their_own() -> None:
    kept, choice = KeptChoices(), choice_of(cpu=0.01)
    kept.keep(ASKED, choice)
    others = EVENTS.rename_columns([f"{name}_" for name in EVENTS.column_names])
    changes: list[dict[str, Any]] = [
        {"plans": (object(),)}, {"numbers": "float64"}, {"events": EVENTS.slice(0, 500)}, {"machine": Machine(2)},
        {"events": others},
    ]  # fmt: skip
    assert [kept.find(replace(ASKED, **change)) for change in changes] == [None] * 5
    kept.keep(ASKED, choice)
    for number in range(kept_choices._PLANS):
        kept.keep(replace(ASKED, plans=(number,)), choice)
    assert kept.find(ASKED) is None, "few are remembered"


def test_a_forked_process_begins_anew() -> None:
    kept = KeptChoices()
    kept.keep(ASKED, choice_of(cpu=0.01))
    other = Thread(target=kept._lock.acquire)
    other.start()
    other.join()
    kept.forget()
    assert kept.find(ASKED) is None


@pytest.mark.parametrize(("one", "other", "same"), [(0, 0, True), (100_000, 102_000, True), (1_000, 1_200, False)])
def test_about_as_many(one: int, other: int, same: bool) -> None:
    assert (about(one) == about(other)) is same


def test_runs_of_a_query_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    learnt: list[tuple[Any, ...]] = []
    monkeypatch.setattr(choosing._kept, "learn", lambda *given: learnt.append(given[1:]))
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B)")
    query.run(make_events(500), device="auto")
    ((device, seconds),) = learnt
    assert device == "cpu"
    assert 0 < seconds < 60
    list(query.iter(make_events(500), device="auto"))
    assert len(learnt) == 1, "batches are made while they are read"


def test_what_a_card_refuses_is_not_tried_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    operator, events = ops.filter("v > 0"), make_events(200)
    monkeypatch.setattr(choosing, "_kept", KeptChoices())
    monkeypatch.setattr(choosing, "_choose_what_is_there", lambda *given: choice_of(cpu=0.01, gpu=0.011))

    def work(device: str) -> pa.Table:
        asked.append(device)
        if device == "gpu":
            raise ExecutionError([Problem("TW422", "no", "no")])
        return events

    bound = Asked(operator.operators, "time", None).bind(events.schema, Settings())
    for _ in range(10):
        choosing.run_where_best(bound, events, work)  # type: ignore[arg-type]
    assert asked.count("gpu") == kept_choices._TRIES
    assert asked.count("cpu") == 10
