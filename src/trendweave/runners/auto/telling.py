"""Estimates of devices as lines for people, and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trendweave.devices.choosing import Choice
from trendweave.runners.auto.choosing import explain_device


@dataclass(frozen=True, slots=True)
class ToldEstimates:
    """What was estimated, best first, in both forms."""

    lines: tuple[str, ...]
    data: dict[str, Any]


def tell_estimates(choice: Choice) -> ToldEstimates:
    """JSON knows no numbers without end: seconds of a device that is not taken are null."""
    estimates = [
        {"device": one.device, "seconds": None if one.why_not is not None else one.seconds, "not taken": one.why_not}
        for one in choice.estimates
    ]
    work = {one.kind: one.units for one in choice.work.all_units}
    data = {"chosen": choice.device, "events": choice.work.rows, "work": work, "estimates": estimates}
    return ToldEstimates(tuple(explain_device(choice).split("\n")), data)
