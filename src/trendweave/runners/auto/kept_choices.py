"""Choices of devices that are taken again: a look at events takes a while, and who runs a query batch after batch has
about the same events each time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from trendweave.devices.choosing import Choice, Machine

#: After so many runs events are looked at again.
_RUNS = 16
#: Plans that are remembered.
_PLANS = 32


class KeptChoices:
    """The last choices, by plans, columns, machine, and about how many events there are."""

    def __init__(self) -> None:
        self._lock = Lock()
        # Plans are told apart as objects, and kept: a number of one that is gone could be that of another.
        self._kept: OrderedDict[tuple[object, ...], tuple[tuple[object, ...], pa.Schema, Choice, int]] = OrderedDict()

    def find(self, plans: Sequence[object], events: pa.Table, machine: Machine) -> Choice | None:
        """A choice that was made before; None where there is none, or it was taken often."""
        key = _key(plans, events, machine)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            own, schema, choice, runs = kept
            if runs == 0 or not schema.equals(events.schema):
                del self._kept[key]
                return None
            self._kept[key] = own, schema, choice, runs - 1
            return choice

    def keep(self, plans: Sequence[object], events: pa.Table, machine: Machine, choice: Choice) -> None:
        """Remember a choice for the next runs."""
        key = _key(plans, events, machine)
        with self._lock:
            self._kept[key] = tuple(plans), events.schema, choice, _RUNS - 1
            self._kept.move_to_end(key)
            if len(self._kept) > _PLANS:
                self._kept.popitem(last=False)


def _key(plans: Sequence[object], events: pa.Table, machine: Machine) -> tuple[object, ...]:
    return *map(id, plans), about(events.num_rows), machine


def about(rows: int) -> tuple[int, int]:
    """The same for numbers that differ by some percent: their length and their first binary digits."""
    length = rows.bit_length()
    return length, rows >> max(length - 4, 0)
