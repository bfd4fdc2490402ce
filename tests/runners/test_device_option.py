"""The option `device`: where it is taken, where it arrives, and what a device that is not there says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pytest

import trendweave
from trendweave.devices.names import assign_card, assigned_card
from trendweave.errors import ExecutionError, OptionError
from trendweave.gpu import card
from trendweave.gpu.card import using_card
from trendweave.programs.bind import bind
from trendweave.programs.trends.program import TrendAggregates, TrendLists
from trendweave.runners.options import Settings, make_settings
from trendweave.runners.place import Place

EVENTS = pa.table({"time": [1, 2, 3, 4], "type": ["S"] * 4, "v": [3, 1, 4, 5]})
COUNT = trendweave.query("RETURN COUNT(*) PATTERN S+")
LISTED = trendweave.query("RETURN TRENDS PATTERN S+ WITHIN 10 seconds SLIDE 10 seconds")
SITUATED = trendweave.query("RETURN COUNT(*) PATTERN S+ WHERE S DURING X FROM S DEFINE X AS v > 1")


@pytest.mark.parametrize("place", list(Place))
def test_every_place_takes_a_device(place: Place) -> None:
    assert make_settings(COUNT.plan, place, {}).device == "cpu"
    assert make_settings(COUNT.plan, place, {"device": "threads"}).device == "threads"
    with pytest.raises(OptionError, match="device is one of cpu, threads, gpu, auto, not gpus"):
        make_settings(COUNT.plan, place, {"device": "gpus"})


@pytest.mark.parametrize("place", [Place.SPARK_BATCH, Place.SPARK_STREAM])
def test_the_session_may_name_the_device(place: Place) -> None:
    session = {"spark.trendweave.device": "gpu"}
    assert make_settings(COUNT.plan, place, {}, session.get).device == "gpu", "cards of tasks are not looked for here"
    assert make_settings(COUNT.plan, place, {"device": "cpu"}, session.get).device == "cpu"


@pytest.mark.parametrize("place", [Place.SPARK_BATCH, Place.SPARK_STREAM])
def test_tasks_of_spark_choose_no_device(place: Place) -> None:
    assert make_settings(COUNT.plan, place, {"device": "auto"}).device == "cpu"
    assert make_settings(COUNT.plan, place, {}, {"spark.trendweave.device": "auto"}.get).device == "cpu"


def test_what_is_told_of_a_run_knows_the_device_of_the_session() -> None:
    assert make_settings(COUNT.plan, Place.SCHEMA, {}, {"spark.trendweave.device": "threads"}.get).device == "threads"


@pytest.mark.parametrize("query", [COUNT, LISTED, SITUATED], ids=["aggregates", "lists", "situated"])
def test_programs_know_their_device_and_states_do_not(query: trendweave.Query) -> None:
    bound = {
        device: bind(query.plan, EVENTS.schema, "time", "type", Settings(device=cast("Any", device)))
        for device in ("cpu", "gpu")
    }
    for device, program in bound.items():
        trends = getattr(program, "inner", program)
        assert isinstance(trends, TrendAggregates | TrendLists)
        assert trends.device == device
    assert bound["cpu"].facts == bound["gpu"].facts
    assert bound["cpu"].needs == bound["gpu"].needs


def test_a_state_goes_on_with_another_device() -> None:
    first = COUNT.incremental(EVENTS, device="threads")
    state, _ = first.push(first.start(), EVENTS.slice(0, 2))
    second = COUNT.incremental(EVENTS, device="cpu")
    state, _ = second.push(second.read(state.to_bytes()), EVENTS.slice(2))
    assert second.finish(state).equals(COUNT.run(EVENTS))


@pytest.mark.parametrize("method", ["run", "iter", "incremental", "push"])
def test_a_card_that_is_not_there_is_an_error_before_anything_runs(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(card, "_cards", {})
    with pytest.raises(ExecutionError, match="TW416: device='gpu' needs CuPy, which is not installed") as caught:
        getattr(COUNT, method)(EVENTS, device="gpu")
    assert "trendweave[gpu]" in caught.value.problems[0].hint
    assert COUNT.schema(EVENTS, device="gpu") == COUNT.schema(EVENTS)


def test_nothing_of_cuda_is_loaded_unless_asked_for() -> None:
    program = (
        "import sys, pyarrow as pa, trendweave; events = pa.table({'time': [1, 2], 'type': ['S', 'S']});"
        "trendweave.query('RETURN COUNT(*) PATTERN S+').schema(events, device='auto');"
        "print('cupy' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


@dataclass(frozen=True)
class FakeResource:
    addresses: list[str]


class FakeTask:
    def __init__(self, resources: dict[str, FakeResource]) -> None:
        self._resources = resources

    def resources(self) -> dict[str, FakeResource]:
        return self._resources


@pytest.mark.parametrize(
    ("task", "number"),
    [
        (None, None),
        (FakeTask({}), None),
        (FakeTask({"fpga": FakeResource(["1"])}), None),
        (FakeTask({"gpu": FakeResource(["2"])}), 2),
        (FakeTask({"gpu": FakeResource(["3", "0"])}), 3),
    ],
)
def test_a_task_uses_the_card_that_spark_gave_it(
    task: FakeTask | None, number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = pytest.importorskip("trendweave.runners.spark.workers")
    monkeypatch.setattr(cards.TaskContext, "get", staticmethod(lambda: task))
    assign_card(None)
    try:
        cards.use_assigned_card()
        assert assigned_card() == number
    finally:
        assign_card(None)


def test_cards_refuse_intervals_and_workloads() -> None:
    """Nothing of them would run on a card, so they do not run elsewhere in silence."""
    matches = trendweave.query("FROM S DEFINE X AS v > 1, Y AS v > 3 PATTERN X before Y")
    with pytest.raises(ExecutionError, match="queries over intervals are not computed on a GPU"):
        bind(matches.plan, EVENTS.schema, "time", None, Settings(device="gpu"))
    with (
        using_card(cast("Any", object())),
        pytest.raises(ExecutionError, match="workloads are not computed on a") as told,
    ):
        trendweave.workload({"count": "RETURN COUNT(*) PATTERN S+"}).run(EVENTS, device="gpu")
    assert told.value.problems[0].code == "TW422"
