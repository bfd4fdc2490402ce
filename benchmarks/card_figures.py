"""What `tools/gpu_checks` times on a card, as rows of a workload with their bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.registry import ResultRow
from benchmarks.result_rows import at_least
from trendweave.gpu.card import Card, find_card

#: What a figure is called there, and how it is written here.
_FIGURES = {"events_per_s": ("G events/s", 1e9), "pairs_per_s": ("G pairs/s", 1e9), "times_the_scan": ("x", 1.0)}


def card_rows(
    measure: Callable[[Card, Callable[..., None]], None], bars: Mapping[tuple[str, str], float]
) -> list[ResultRow]:
    """Time something on the card.

    Args:
        measure: Reports figures by name.
        bars: By the beginning of a name and the figure, the least that is promised.

    Returns:
        A row per figure.

    Raises:
        AssertionError: Something was not as on the CPU.
    """
    card = find_card()
    rows: list[ResultRow] = []

    def report(name: str, **cells: Any) -> None:
        assert cells.get("ok", True) is True, f"{name} is not as on the CPU"
        for figure, value in cells.items():
            if figure not in _FIGURES:
                continue
            unit, scale = _FIGURES[figure]
            bar = next((bar for (begin, own), bar in bars.items() if own == figure and name.startswith(begin)), None)
            place = "one core" if "one core" in name else card.name
            metric = f"{place}: {figure.replace('_per_s', '').replace('_', ' ')}"
            rows.append(at_least(name, metric, value / scale, unit, bar))

    measure(card, report)
    return rows
