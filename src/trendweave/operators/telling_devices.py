"""What computes operators, and why: as lines for people, or as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.events import TypeColumn
from trendweave.operators.running import estimate_devices

if TYPE_CHECKING:
    from trendweave.devices.choosing import Choice
    from trendweave.operators.operator import Piped


@dataclass(frozen=True, slots=True)
class ToldDevice:
    """The device that is asked for, what was estimated where that is "auto", and what is missing for it."""

    device: str
    choice: Choice | None
    problem: str | None

    def lines(self) -> list[str]:
        if self.choice is not None:
            from trendweave.runners.auto.choosing import explain_device

            return explain_device(self.choice).split("\n")
        return [f"device: {self.device}", *([] if self.problem is None else [f"  {self.problem}"])]

    def data(self) -> dict[str, Any]:
        """JSON knows no numbers without end: seconds of a device that is not taken are null."""
        told: dict[str, Any] = {"device": self.device}
        if self.problem is not None:
            told["problem"] = self.problem
        if self.choice is None:
            return told
        work = self.choice.work
        estimates = [
            {
                "device": one.device,
                "seconds": None if one.why_not is not None else one.seconds,
                "not taken": one.why_not,
            }
            for one in self.choice.estimates
        ]
        counted = {one.kind: one.units for one in work.all_units}
        return {**told, "chosen": self.choice.device, "events": work.rows, "work": counted, "estimates": estimates}


def find_device(
    device: str, piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Mapping[str, Any]
) -> ToldDevice:
    """What is told of a device that is asked for."""
    choice = estimate_devices(piped, events, right, time, type_, options) if device == "auto" else None
    return ToldDevice(device, choice, _find_problem(device, events))


def _find_problem(device: str, events: Any) -> str | None:
    """Tasks of Spark have cards of their own, if any."""
    if device != "gpu" or places.is_spark(events) or places.is_read_by_tasks(events):
        return None
    from trendweave.gpu.card import has_card

    return None if has_card() else "there is no card here, or no CuPy: a run in this process fails with TW416"
