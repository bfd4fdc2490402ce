"""What a run costs on each device, and which one it takes.

The model is small on purpose: a call has a price, so has every row that is read, sorted and numbered, and every unit of
the work itself; threads share all of it out as evenly as keys allow, and a card has its own price for units and for
bytes that travel. Prices are measured (`trendweave calibrate`), or those of some machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from trendweave.devices.names import Device

#: Nanoseconds per unit on one core, and on a card, by the kind of work. A kind that a card does not serve is not there.
_UNITS: Mapping[str, float] = MappingProxyType(
    {
        "running sums": 55.0,
        "sums over ranks": 2.0,
        "scan": 2.5,
        "trends one by one": 350.0,
        "links": 5.0,
        "intervals": 120.0,
        "filter": 0.25,
        "windows": 8.0,
        "pairs": 0.8,
        "partners": 300.0,
    }
)
_CARD_UNITS: Mapping[str, float] = MappingProxyType(
    {
        "running sums": 50.0,
        "sums over ranks": 0.001,
        "scan": 0.006,
        "links": 0.05,
        "filter": 0.2,
        "windows": 20.0,
        "pairs": 0.01,
        "partners": 100.0,
    }
)
#: Kinds whose units are what is done with rows that are sorted and numbered before. Units of others are rows.
BEHIND_ROWS = frozenset({"sums over ranks", "scan", "links", "pairs"})


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices, in nanoseconds.

    Attributes:
        call: A run on one core, whatever comes.
        read: An event that is read: its expressions are evaluated, and it is kept or not.
        row: An event that is kept: it is sorted and numbered. Of kinds whose units are rows, units say all.
        units: A unit of work, by kind.
        deal_call: A run on several cores, in addition.
        part: A part of it: what Python does for each, one after the other.
        deal_row: A kept event that is moved to the part of its key, in addition.
        arrange_row: A row of the result that one core puts in order behind all parts, in addition.
        shared: How much of a further core is worth a core; the others wait for memory and for Python.
        card_start: The first use of a card in a process.
        card_call: A run on a card, in addition.
        card_byte: A byte that travels to a card, or back.
        card_units: A unit of work on a card, by kind.
    """

    call: float = 1e6
    read: float = 8.0
    row: float = 45.0
    units: Mapping[str, float] = field(default_factory=lambda: dict(_UNITS))
    deal_call: float = 3e6
    part: float = 7e5
    deal_row: float = 18.0
    arrange_row: float = 100.0
    shared: float = 0.7
    card_start: float = 1.5e9
    card_call: float = 1.2e6
    card_byte: float = 0.02
    card_units: Mapping[str, float] = field(default_factory=lambda: dict(_CARD_UNITS))


@dataclass(frozen=True, slots=True)
class Units:
    """Units of work of a kind, and how many they are on a card, which looks at all pairs where a core has a better
    way; None: as many."""

    kind: str
    units: float
    card_units: float | None = None

    @property
    def on_card(self) -> float:
        return self.units if self.card_units is None else self.card_units


@dataclass(frozen=True, slots=True)
class Work:
    """What a run has to do.

    Attributes:
        kind: Of the work that takes the longest; prices of units go by it.
        rows: Events that are read.
        kept: Those of them that are sorted and numbered.
        units: Units of that work.
        card_units: The same on a card; 0: as many.
        others: Work of other kinds that is done besides.
        bytes: What would travel to a card.
        parts: How many parts are computed apart on several cores.
        largest: The share of the largest part that one core would get of very many, at least.
        copied: How many rows are computed for each that there is, where time is cut.
        moved: The share of kept events that are moved to the part of their key; none where time or pairs are cut.
        arranged: Rows of the result that one core puts in order where rows are dealt out.
        not_dealt: Why rows are not dealt out to cores; None where they are.
        not_on_card: Why no card does this; None where one may.
    """

    kind: str
    rows: int
    kept: float
    units: float
    card_units: float = 0.0
    bytes: float = 0.0
    parts: int = 2
    largest: float = 0.0
    copied: float = 1.0
    moved: float = 1.0
    arranged: float = 0.0
    others: tuple[Units, ...] = ()
    not_dealt: str | None = None
    not_on_card: str | None = None

    @property
    def all_units(self) -> tuple[Units, ...]:
        return (Units(self.kind, self.units, self.card_units or None), *self.others)

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(one.kind for one in self.all_units)


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is: cores, a card by its name (None: none), and whether this process has used it."""

    cores: int
    card: str | None = None
    warm: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds on a device, or why it is not taken into account; None where it is."""

    device: Device
    seconds: float
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The device that a run takes, and what was estimated for all of them, best first."""

    estimates: tuple[Estimate, ...]
    work: Work

    @property
    def device(self) -> Device:
        return self.estimates[0].device

    @property
    def devices(self) -> tuple[Device, ...]:
        """Those that may be tried, best first."""
        return tuple(one.device for one in self.estimates if one.why_not is None)


def choose(work: Work, machine: Machine, costs: Costs | None = None) -> Choice:
    """Estimate all devices. One core always can."""
    costs = costs or Costs()
    found = [_on_one_core(work, costs), _on_all_cores(work, machine, costs), _on_card(work, machine, costs)]
    return Choice(tuple(sorted(found, key=lambda one: (one.why_not is not None, one.seconds))), work)


def _on_one_core(work: Work, costs: Costs) -> Estimate:
    return Estimate("cpu", (costs.call + _compute(work, costs)) / 1e9)


def _compute(work: Work, costs: Costs) -> float:
    """Nanoseconds of one core for all rows."""
    return prepare_rows(work, costs) + sum(one.units * costs.units.get(one.kind, 0.0) for one in work.all_units)


def prepare_rows(work: Work, costs: Costs) -> float:
    """Nanoseconds until rows are as kernels read them. Filters alone read what their units say."""
    read = 0.0 if work.kinds == {"filter"} else work.rows * costs.read
    return read + (work.kept * costs.row if work.kinds & BEHIND_ROWS else 0.0)


def _on_all_cores(work: Work, machine: Machine, costs: Costs) -> Estimate:
    if machine.cores < 2:
        return Estimate("threads", float("inf"), "there is one core")
    if work.not_dealt is not None:
        return Estimate("threads", float("inf"), work.not_dealt)
    speed = 1 + (machine.cores - 1) * costs.shared
    share = max(work.largest, 1 / speed)
    dealt = work.moved * work.kept * costs.deal_row / speed + work.copied * _compute(work, costs) * share
    arranged = work.arranged * costs.arrange_row
    return Estimate("threads", (costs.call + costs.deal_call + work.parts * costs.part + dealt + arranged) / 1e9)


def _on_card(work: Work, machine: Machine, costs: Costs) -> Estimate:
    if machine.card is None:
        return Estimate("gpu", float("inf"), "there is no GPU, or no CuPy")
    unserved = [one.kind for one in work.all_units if one.kind not in costs.card_units]
    if work.not_on_card is not None or unserved:
        return Estimate("gpu", float("inf"), work.not_on_card or f"no GPU does this: {unserved[0]}")
    start = 0.0 if machine.warm else costs.card_start
    there = work.bytes * costs.card_byte + sum(one.on_card * costs.card_units[one.kind] for one in work.all_units)
    return Estimate("gpu", (costs.call + costs.card_call + start + prepare_rows(work, costs) + there) / 1e9)


def tell_choice(choice: Choice, machine: Machine) -> list[str]:
    """The devices with their estimated seconds, and the reason for the first, as lines of text."""
    work = choice.work
    lines = [f"device: {choice.device}, of {work.rows:,} events ({work.kind}, {work.units:,.0f} units of work)"]
    names = {"cpu": "one core", "threads": f"{machine.cores} cores", "gpu": machine.card or "a GPU"}
    for one in choice.estimates:
        told = f"not taken: {one.why_not}" if one.why_not is not None else f"about {_seconds(one.seconds)}"
        lines.append(f"  {one.device} ({names[one.device]}): {told}")
    return lines


def _seconds(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"
