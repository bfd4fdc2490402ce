"""Rows that several workloads return alike."""

from __future__ import annotations

from benchmarks.registry import ResultRow


def rate(name: str, events: int, seconds: float, at_least: float | None = None, note: str = "") -> ResultRow:
    """Events per second of CPU time, in millions."""
    value = events / seconds / 1e6
    bar = None if at_least is None else f"at least {at_least:g}"
    met = None if at_least is None else value >= at_least
    note = f"{events:,} events, {duration(seconds)} CPU" + (f"; {note}" if note else "")
    return ResultRow(name=name, metric="rate", value=round(value, 4), unit="M events/s", bar=bar, met=met, note=note)


def at_most(name: str, metric: str, value: float, unit: str, limit: float | None = None, note: str = "") -> ResultRow:
    bar = None if limit is None else f"at most {limit:g}"
    met = None if limit is None else value <= limit
    return ResultRow(name=name, metric=metric, value=round(value, 4), unit=unit, bar=bar, met=met, note=note)


def at_least(name: str, metric: str, value: float, unit: str, limit: float | None = None, note: str = "") -> ResultRow:
    bar = None if limit is None else f"at least {limit:g}"
    met = None if limit is None else value >= limit
    return ResultRow(name=name, metric=metric, value=round(value, 4), unit=unit, bar=bar, met=met, note=note)


def slower(
    name: str, events: int, seconds: dict[str, float], note: str = "", bar: float | None = None
) -> list[ResultRow]:
    """How many times as long as "ours" the others took, on the same input and in the same run."""
    size = f"{events:,} events; ours {duration(seconds['ours'])}"
    return [
        at_least(name, f"{other} / ours", took / seconds["ours"], "x", bar, f"{size}, {duration(took)}{note}")
        for other, took in seconds.items()
        if other != "ours"
    ]


def duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.3g} ms"
