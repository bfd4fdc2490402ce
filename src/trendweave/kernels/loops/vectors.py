"""Vectors of a loop: where their numbers lie, and how a line is written for each of them.

A vector has a number per component and lane, component by component. Lanes are windows side by side (or queries and
windows); without them vectors are local variables. Numbers of the kind "limbs" are signed digits of so many bits, limb
by limb in place of the components.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from trendweave.kernels.inputs import Selection
from trendweave.kernels.loops.plan import LoopPlan, StoreKind
from trendweave.kernels.loops.text import Text


class Numbers(StrEnum):
    """What vectors hold."""

    EXACT = "exact"  # Python's integers: interpreted only
    DECIMAL = "decimal"  # sums beyond floats: interpreted only
    INT64 = "int64"  # checked: blocks whose numbers do not fit are told
    LIMBS = "limbs"
    FLOAT64 = "float64"
    LARGEST = "largest"  # the largest value so far, as a code
    LATEST = "latest"  # the latest time at which a trend began


#: Numbers that only Python has.
INTERPRETED = (Numbers.EXACT, Numbers.DECIMAL)


@dataclass(frozen=True)
class Shape:
    """What else the text of a loop depends on.

    `counted` says per component beside the first (per component, for the largest) and state whether the state's rows
    count; with queries side by side masks say it.
    """

    numbers: Numbers
    components: int
    counted: tuple[tuple[bool, ...], ...]
    selection: Selection
    words: int = 1  # of a variable mask
    lanes: bool = False
    queries: bool = False
    digits: int = 1  # of a value that is multiplied with limbs
    per_row: bool = False  # the best of each row is wanted
    packs: bool = False  # lanes are gone over eight at a time, in vector registers (`kernels.packs`): compiled only

    @property
    def sums(self) -> bool:
        """Whether vectors are added, and not compared."""
        return self.numbers not in (Numbers.LARGEST, Numbers.LATEST)

    @property
    def values(self) -> int:
        """Number of the first component that rows add to."""
        return 1 if self.sums else 0


def lanes_of(components: int) -> str:
    """So many times the lanes: where a component begins, or how many numbers there are."""
    return "lanes" if components == 1 else f"{components} * lanes"


class Vectors:
    """What the parts of a loop have in common. States, transitions and stores are written one by one, or gone over in a
    loop where they are many: their numbers are texts, digits or the name of a variable."""

    def __init__(self, plan: LoopPlan, shape: Shape) -> None:
        self.plan, self.shape = plan, shape
        self.text = Text()
        self.unrolled = plan.is_written
        self.arrays = shape.lanes or shape.numbers is Numbers.LIMBS
        self.limbs = shape.numbers is Numbers.LIMBS
        self.packed = False  # what is written is for packs of lanes
        self.zero = {"float64": "0.0", "largest": "NO_TREND", "latest": "NO_TREND"}.get(shape.numbers, "0")

    @cached_property
    def has_lists(self) -> bool:
        return any(kind.is_listed for kind in self.plan.kinds)

    def matrix(self, name: str, number: int | str, row: str) -> str:
        """An entry of a matrix whose rows are columns of events."""
        return f"{name}[{row}]" if number == 0 else f"{name}[{number} * n + {row}]"

    def add(self, target: str, source: str) -> str:
        return f"{target} += {source}" if self.shape.sums else f"{target} = max({target}, {source})"

    # Numbers, or packs of lanes while `packed`: `vector` is x for the vector at hand, else where another one begins

    def entry(self, vector: str, place: str) -> str:
        """A number of a vector. That at hand is in local variables, if there are no lanes."""
        if vector == "x":
            return f"pending[at + {place}]" if self.arrays else f"x{place}"
        return f"{vector[:-1]} + {place}]".replace(" + 0]", "]").replace("[0 + ", "[")

    def get(self, entry: str) -> str:
        """A number of an array, or the pack that begins with it."""
        return f"load(nothing, {self.place(entry)})" if self.packed and "[" in entry else entry

    def set(self, entry: str, value: str) -> None:
        self.text.put(f"store({self.place(entry)}, {value})" if self.packed and "[" in entry else f"{entry} = {value}")

    def add_to(self, entry: str, value: str) -> None:
        """Add to a number or pack, of an array or in a local variable."""
        if self.packed:
            of_packs = "{} + {}" if self.shape.sums else "larger({}, {})"
            self.set(entry, of_packs.format(self.get(entry), value))
        else:
            self.text.put(self.add(self.get(entry), value))

    @staticmethod
    def place(entry: str) -> str:
        """An entry of an array as two arguments."""
        return entry.replace("[", ", ", 1).removesuffix("]")

    def change(self, vector: str, operator: str, other: str, place: str) -> None:
        """A number becomes (=) that of another vector, or 0, or is changed by it (+=, -=)."""
        entry, nothing = self.entry(vector, place), "nothing" if self.packed else self.zero
        value = nothing if other == self.zero else self.get(self.entry(other, place))
        if operator == "=":
            self.set(entry, value)
        elif operator == "+=":
            self.add_to(entry, value)
        else:
            self.text.put(f"{entry} {operator} {value}")

    # Loops over the numbers of a vector

    def each(
        self, vector: str, operator: str, other: str, low: str = "low", high: str = "high", mask: str | None = None
    ) -> None:
        """Change every number of a vector, or those of some lanes. A mask says for which queries."""
        packed = self.shape.packs and mask is None and high == "high" and operator != "-="
        with self.over_numbers(packed, low, high) as places:
            with self.text.block_if(None if mask is None else f"{mask} >> query[i] & 1"):
                for place in places:
                    self.change(vector, operator, other, place)

    def whole(self, vector: str, operator: str, other: str) -> None:
        """Change every number of a vector that is in use."""
        if not self.arrays:
            self.each(vector, operator, other)
            return
        end = f"limbs * {lanes_of(self.shape.components)}" if self.limbs else "width"
        self.packed = self.shape.packs
        with self.text.block(f"for i in range(0, {end}, 8)" if self.packed else f"for i in range({end})"):
            self.change(vector, operator, other, "i")
        self.packed = False

    @contextmanager
    def over_numbers(self, packed: bool, low: str = "low", high: str = "high") -> Iterator[list[str]]:
        """A loop over the lanes of all components and limbs; what is found are the places in a vector."""
        with self.text.block("for c in range(0, limbs * step, lanes)") if self.limbs else nullcontext():
            with self.over_lanes(packed, low, high) as places:
                yield ["c + i"] if self.limbs else places

    @contextmanager
    def over_lanes(self, packed: bool, low: str = "low", high: str = "high") -> Iterator[list[str]]:
        """A loop over lanes `i`, or over packs of eight of them (those that the row is in, and others that hold
        nothing), if vectors have lanes at all; what is found are the places of all components in a vector."""
        if not self.arrays:
            yield [str(k) for k in range(self.shape.components)]
            return
        self.packed = packed
        with self.text.block(f"for i in range({low} & -8, {high}, 8)" if packed else f"for i in range({low}, {high})"):
            yield ["i", *(f"{lanes_of(k)} + i" for k in range(1, self.shape.components))]
        self.packed = False

    @contextmanager
    def over_limbs(self, places: list[str]) -> Iterator[list[str]]:
        """A loop over the limbs of numbers at such places, if they have any."""
        if not self.limbs:
            yield places
            return
        with self.text.block("for c in range(0, limbs * step, step)"):
            yield [f"c + {place}" for place in places]

    @property
    def width(self) -> str:
        """Numbers of a vector."""
        return "width" if self.arrays else str(self.shape.components)

    def stores(self) -> Iterator[str]:
        """The number of every store; the block of its lines is open."""
        if self.unrolled:
            yield from map(str, range(len(self.plan.store_kind)))
            return
        with self.text.block(f"for s in range({len(self.plan.store_kind)})"):
            yield "s"

    def kinds_of(self, s: str) -> Iterator[StoreKind]:
        """The kinds that a store may be of; the block of their lines is open."""
        if s != "s":
            yield self.plan.kinds[self.plan.store_kind[int(s)]]
            return
        for number, kind in enumerate(self.plan.kinds):
            with self.text.block_if(None if len(self.plan.kinds) == 1 else f"store_kind[{s}] == {number}"):
                yield kind
