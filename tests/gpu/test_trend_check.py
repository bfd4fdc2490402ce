"""The check of trends on a card runs on a simulated one, and tells what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.simulator import SimulatedCard
from tools.gpu_checks import trends


def told(card: SimulatedCard) -> dict[str, Any]:
    found: dict[str, Any] = {}
    trends.check(card, lambda name, **cells: found.update({name: cells}), scale=1e-3)
    return found


def test_all_is_as_on_a_processor(card: SimulatedCard) -> None:
    found = told(card)
    assert len(found) == 10
    assert [name for name, cells in found.items() if not cells["ok"]] == []


def test_what_is_wrong_is_told(card: SimulatedCard, monkeypatch: pytest.MonkeyPatch) -> None:
    on_card = trends.aggregate_on_card

    def twice(*given: Any, **named: Any) -> Any:
        results = on_card(*given, **named)
        return results._replace(count=results.count * 2)

    monkeypatch.setattr(trends, "aggregate_on_card", twice)
    assert {cells["ok"] for cells in told(card).values()} == {False}


def test_figures_are_taken(card: SimulatedCard) -> None:
    found: dict[str, Any] = {}
    trends.measure(card, lambda name, **cells: found.update({name: cells}), scale=1e-5)
    assert len(found) == 9
    assert all(cells["events_per_s"] > 0 for cells in found.values())
