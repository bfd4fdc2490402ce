"""What was chosen, and what it took: who runs a query batch after batch has about the same events each time, so that
these need not be looked at again, and devices that are estimated to be about as fast are tried and compared."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import RLock

import pyarrow as pa

from trendweave.devices.choosing import Choice, Estimate, Machine
from trendweave.devices.names import Device

#: After so many runs all is asked again: events may have become others.
_RUNS = 64
#: Plans that are remembered.
_PLANS = 32
#: Devices that are estimated to take at most so many times as long as the best are tried.
_WORTH_TRYING = 2.0
#: Runs that tell how long a device takes; the first one may compile.
_TRIES = 2


@dataclass
class _Kept:
    """A choice, and the seconds of runs by device."""

    plans: tuple[object, ...]
    schema: pa.Schema
    choice: Choice
    runs: int = 1
    seconds: dict[Device, list[float]] = field(default_factory=dict)

    def next(self) -> Choice:
        """The choice for the next run."""
        there = [one for one in self.choice.estimates if one.why_not is None]
        untried = [one for one in there if self._is_worth_trying(one)]
        if untried:
            return self._begin_with(untried[0])
        known = [replace(one, seconds=min(self.seconds[one.device])) for one in there if one.device in self.seconds]
        return self._begin_with(min(known, key=lambda one: one.seconds)) if known else self.choice

    def _is_worth_trying(self, one: Estimate) -> bool:
        tried = len(self.seconds.get(one.device, ()))
        return tried < _TRIES and one.seconds <= _WORTH_TRYING * self.choice.estimates[0].seconds

    def _begin_with(self, first: Estimate) -> Choice:
        others = tuple(one for one in self.choice.estimates if one.device != first.device)
        return replace(self.choice, estimates=(first, *others))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is run, and where.

    Attributes:
        plans: Told apart as objects.
        numbers: How numbers are asked for, where there is a choice.
        events: Their columns, and about how many there are, count.
        machine: What there is.
    """

    plans: tuple[object, ...]
    numbers: str | None
    events: pa.Table
    machine: Machine

    @property
    def key(self) -> tuple[object, ...]:
        return *map(id, self.plans), self.numbers, about(self.events.num_rows), self.machine


class KeptChoices:
    """The last choices, by what was asked."""

    def __init__(self) -> None:
        self._lock = RLock()
        # Plans are told apart as objects, and kept: a number of one that is gone could be that of another.
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()

    def find(self, asked: Asked) -> Choice | None:
        """The choice for the next run; None where it has to be made, for the first time or once more."""
        with self._lock:
            kept = self._kept.get(asked.key)
            if kept is None:
                return None
            if kept.runs == _RUNS or not kept.schema.equals(asked.events.schema):
                del self._kept[asked.key]
                return None
            kept.runs += 1
            return kept.next()

    def keep(self, asked: Asked, choice: Choice) -> None:
        """Remember a choice for the next runs."""
        with self._lock:
            self._kept[asked.key] = _Kept(asked.plans, asked.events.schema, choice)
            self._kept.move_to_end(asked.key)
            if len(self._kept) > _PLANS:
                self._kept.popitem(last=False)

    def learn(self, asked: Asked, device: Device, seconds: float) -> None:
        """Remember how long a run took."""
        with self._lock:
            kept = self._kept.get(asked.key)
            if kept is not None:
                kept.seconds.setdefault(device, []).append(seconds)
                del kept.seconds[device][:-_TRIES]

    def forget(self) -> None:
        """Begin anew; in a process that is forked, another thread may have had the lock."""
        self.__init__()  # type: ignore[misc]


def about(rows: int) -> tuple[int, int]:
    """The same for numbers that differ by some percent: their length and their first binary digits."""
    length = rows.bit_length()
    return length, rows >> max(length - 4, 0)
