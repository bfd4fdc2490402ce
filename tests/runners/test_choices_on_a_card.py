"""What "auto" comes to where each device takes as long as was measured on an H200 with 16 cores."""

from __future__ import annotations

from math import inf

import pyarrow as pa
import pytest

from benchmarks.device_cases import CASES
from benchmarks.workloads.devices_auto import BAR, LEAST
from trendweave.programs.program import Program
from trendweave.runners import auto
from trendweave.runners.auto import Choice, Machine

MACHINE = Machine(16, "NVIDIA H200", warm=True)
#: A case of the benchmark of devices, its events, and the milliseconds of one core, of all cores and of the card;
#: of windows those of the card are not known, which only adds up what a core has put in order.
RECORDED = (
    ("filter, six dimensions, 1 of 1,000", 1_024, 1.33, 1.51, 1.87),
    ("filter, six dimensions, 1 of 1,000", 16_384, 2.1, 1.97, 2.08),
    ("filter, six dimensions, 1 of 1,000", 262_144, 2.5, 2.48, 6.17),
    ("SUM over a quarter of the events, slide 1", 1_024, 1.07, 1.07, inf),
    ("SUM over a quarter of the events, slide 1", 16_384, 1.29, 1.42, inf),
    ("SUM over a quarter of the events, slide 1", 262_144, 5.33, 5.59, inf),
    ("AVG and MAX per key and 100 seconds", 1_024, 1.73, 1.76, inf),
    ("AVG and MAX per key and 100 seconds", 16_384, 3.3, 3.23, inf),
    ("AVG and MAX per key and 100 seconds", 262_144, 37.3, 24.9, inf),
    ("join by distance, windows of an eighth", 1_024, 13, 12.8, 7.16),
    ("join by distance, windows of an eighth", 16_384, 33.4, 15.9, 8.81),
    ("join by distance, windows of an eighth", 262_144, 6590, 730, 47.9),
    ("(A, B, C) by nearness, windows of half", 1_024, 58.4, 59.7, 5.29),
    ("S+ with one comparison, keys of 1,000 events", 1_024, 2.06, 2.01, 3.1),
    ("S+ with one comparison, keys of 1,000 events", 16_384, 3.64, 3.59, 4.52),
    ("S+ with one comparison, keys of 1,000 events", 262_144, 25.4, 21.5, 13.7),
    ("SEQ(A, B, C), counted", 1_024, 1.73, 1.68, 2.01),
    ("SEQ(A, B, C), counted", 16_384, 2.56, 2.63, 3.1),
    ("SEQ(A, B, C), counted", 262_144, 16, 13, 15.9),
)


class CapturedError(Exception):
    """What was to be run."""


def capture(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Program, pa.Table]:
    def stop(program: Program, events: pa.Table) -> Choice:
        raise CapturedError(program, events)

    with monkeypatch.context() as patch:
        patch.setattr(auto, "choose_device", stop)
        run = next(case for case in CASES if case.name == name).make(size)
        with pytest.raises(CapturedError) as caught:
            run("auto")
    program, events = caught.value.args
    return program, events


@pytest.mark.parametrize(("name", "size", "cpu", "threads", "gpu"), RECORDED)
def test_a_good_device_is_taken(name, size, cpu, threads, gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"cpu": cpu / 1e3, "threads": threads / 1e3, "gpu": gpu / 1e3}
    monkeypatch.setattr(auto.card, "has_card", lambda: True)
    program, events = capture(name, size, monkeypatch)
    taken = auto.choose_device(program, events, MACHINE).device
    assert max(seconds[taken], LEAST) <= BAR * max(min(seconds.values()), LEAST), taken
