"""What was chosen, and what it took: who runs a query batch after batch has about the same events each time, so that
these need not be looked at again, and devices that are estimated to be about as fast are tried and compared."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

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


class KeptChoices:
    """The last choices, by plans, columns, machine, and about how many events there are."""

    def __init__(self) -> None:
        self._lock = Lock()
        # Plans are told apart as objects, and kept: a number of one that is gone could be that of another.
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()

    def find(self, plans: Sequence[object], events: pa.Table, machine: Machine) -> Choice | None:
        """The choice for the next run; None where it has to be made, for the first time or once more."""
        key = _key(plans, events, machine)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            if kept.runs == _RUNS or not kept.schema.equals(events.schema):
                del self._kept[key]
                return None
            kept.runs += 1
            return kept.next()

    def keep(self, plans: Sequence[object], events: pa.Table, machine: Machine, choice: Choice) -> None:
        """Remember a choice for the next runs."""
        key = _key(plans, events, machine)
        with self._lock:
            self._kept[key] = _Kept(tuple(plans), events.schema, choice)
            self._kept.move_to_end(key)
            if len(self._kept) > _PLANS:
                self._kept.popitem(last=False)

    def learn(
        self, plans: Sequence[object], events: pa.Table, machine: Machine, device: Device, seconds: float
    ) -> None:
        """Remember how long a run took. As a card that was used is another machine than before, that may be unknown."""
        with self._lock:
            kept = self._kept.get(_key(plans, events, machine))
            if kept is not None:
                kept.seconds.setdefault(device, []).append(seconds)
                del kept.seconds[device][:-_TRIES]


def _key(plans: Sequence[object], events: pa.Table, machine: Machine) -> tuple[object, ...]:
    return *map(id, plans), about(events.num_rows), machine


def about(rows: int) -> tuple[int, int]:
    """The same for numbers that differ by some percent: their length and their first binary digits."""
    length = rows.bit_length()
    return length, rows >> max(length - 4, 0)
