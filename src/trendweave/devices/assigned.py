"""The card that this process was told to use, where somebody else deals out cards, as Spark does among its tasks."""

from __future__ import annotations

_assigned: list[int] = []


def assign_card(number: int | None) -> None:
    """Tell this process which card it uses from now on; None for any."""
    _assigned[:] = [] if number is None else [number]


def assigned_card() -> int | None:
    """The card that this process was told to use; None where nobody has said so."""
    return _assigned[0] if _assigned else None
