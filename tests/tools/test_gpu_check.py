"""The check of kernels on a card runs on a simulated one, and tells what is wrong."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.gpu.simulator import SimulatedCard, why_not
from tools import gpu_check


def test_operators_pass_and_a_report_is_written() -> None:
    if reason := why_not():
        pytest.skip(reason)
    card, report = SimulatedCard(), gpu_check.Report()

    gpu_check.run(card, report, ["operators"], scale=1e-4, figures=False)

    text = report.write(card, 1.0)
    assert report.failed == 0, text
    assert "a simulated card" in text
    assert "| joins: full size, two ways | as on the CPU" in text


def test_checks_run_side_by_side_and_the_report_grows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def check(card: object, report: gpu_check.Report, scale: float) -> None:
        report("a kernel", ok=True, scale=scale)

    def measure(card: object, report: gpu_check.Report, scale: float) -> None:
        assert "a kernel | as on the CPU" in path.read_text(), "what was found before is kept if this fails"
        report("its speed", events_per_s=2e9)

    path = tmp_path / "report.md"
    module = SimpleNamespace(__name__="tools.gpu_checks.small", check=check, measure=measure)
    monkeypatch.setattr(gpu_check, "find_checks", lambda only: [module])
    monkeypatch.setattr(gpu_check, "find_card", SimulatedCard)
    # Another process would look for a card by itself.
    monkeypatch.setattr(gpu_check, "ProcessPoolExecutor", lambda number, _: ThreadPoolExecutor(number))

    gpu_check.run_side_by_side(gpu_check.Report(), path, (), 0.5, figures=True)

    assert "| its speed | events per s 2 G |" in path.read_text()
    assert "all as on the CPU" in path.read_text()


def test_what_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(card: object, report: object, scale: float) -> None:
        raise ValueError("no such thing")

    module = SimpleNamespace(__name__="tools.gpu_checks.broken", check=fail, measure=fail)
    monkeypatch.setattr(gpu_check, "find_checks", lambda only: [module])
    report = gpu_check.Report()

    gpu_check.run(SimulatedCard(), report, figures=False)

    assert report.failed == 1
    assert "no such thing" in report.write(SimulatedCard(), 1.0)
