"""What computes operators, and why: as lines for people, or as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.events import TypeColumn
from trendweave.operators.running import estimate_devices

if TYPE_CHECKING:
    from trendweave.operators.operator import Piped
    from trendweave.runners.auto.telling import ToldEstimates


@dataclass(frozen=True, slots=True)
class ToldDevice:
    """The device that is asked for, what was estimated where that is "auto", and what is missing for it."""

    device: str
    estimates: ToldEstimates | None
    problem: str | None

    def lines(self) -> list[str]:
        if self.estimates is not None:
            return list(self.estimates.lines)
        return [f"device: {self.device}", *([] if self.problem is None else [f"  {self.problem}"])]

    def data(self) -> dict[str, Any]:
        problem = {} if self.problem is None else {"problem": self.problem}
        return {"device": self.device, **problem, **({} if self.estimates is None else self.estimates.data)}


def find_device(
    device: str, piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Mapping[str, Any]
) -> ToldDevice:
    """What is told of a device that is asked for."""
    estimates = estimate_devices(piped, events, right, time, type_, options) if device == "auto" else None
    return ToldDevice(device, estimates, _find_problem(device, events))


def _find_problem(device: str, events: Any) -> str | None:
    """Tasks of Spark have cards of their own, if any."""
    if device != "gpu" or places.is_spark(events) or places.is_read_by_tasks(events):
        return None
    from trendweave.programs.operators.resident import find_missing_card

    return find_missing_card()
