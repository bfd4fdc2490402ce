"""Vectors of a loop: where their numbers lie, and how a line is written for each of them.

A vector has a number per component and lane, component by component. Lanes are windows side by side (or queries and
windows); without them vectors are local variables. Numbers of the kind "limbs" are signed digits of so many bits, limb
by limb in place of the components.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from trendweave.kernels.inputs import Selection
from trendweave.kernels.loops.plan import LoopPlan
from trendweave.kernels.loops.text import Text

_OPERATORS = {"shift_down": ">>", "keep_bits": "&", "join_bits": "|"}


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

    def each(self, line: str, low: str = "low", high: str = "high", mask: str | None = None) -> None:
        """A line for every number of a vector, or of some lanes: `{x}` is the vector at hand, `{o}` the place in one.
        A mask says for which queries."""
        if not self.arrays:
            for k in range(self.shape.components):
                self.text.put(line.format(x=f"x{k}", o=k if k else "0").replace(" + 0]", "]"))
            return
        if self.shape.packs and mask is None and high == "high" and "-=" not in line:
            self.each_pack(line)
            return
        with self.over_components(f"for i in range({low}, {high})") as offsets:
            with self.text.block_if(None if mask is None else f"{mask} >> query[i] & 1"):
                self.text.put(*(line.format(x=f"pending[at + {o}]", o=o) for o in offsets))

    def each_pack(self, line: str) -> None:
        """The same eight lanes at a time: all of them that the row is in, and others that hold nothing."""
        with self.over_components("for i in range(low & -8, high, 8)") as offsets:
            for o in offsets:
                self.put_pack(line.format(x="pending[at + {o}]", o="{o}"), o)

    def put_pack(self, line: str, offset: str) -> None:
        """A line for eight numbers."""
        target, operator, source = re.split(" ([+]?=) ", line)
        if source.startswith("max("):
            operator, source = "max", source.removeprefix("max(").removesuffix(")").split(", ")[1]
        value = "nothing" if source == self.zero else f"load(nothing, {self.place(source, offset)})"
        if operator != "=":
            value = f"{self.plus}(load(nothing, {self.place(target, offset)}), {value})"
        self.text.put(f"store({self.place(target, offset)}, {value})")

    @staticmethod
    def place(entry: str, offset: str) -> str:
        """An entry of an array as two arguments."""
        return entry.replace("[", ", ").removesuffix("]").format(o=offset)

    @property
    def plus(self) -> str:
        """What adds packs."""
        return "add" if self.shape.sums else "larger"

    @contextmanager
    def over_components(self, header: str) -> Iterator[list[str]]:
        """A loop over lanes `i`; what is found are the places of all components in a vector."""
        if self.limbs:
            with self.text.block("for c in range(0, limbs * step, lanes)"), self.text.block(header):
                yield ["c + i"]
            return
        with self.text.block(header):
            yield ["i", *(f"{lanes_of(k)} + i" for k in range(1, self.shape.components))]

    # The vector at hand, of which a number per component is in local variables: x0, x1 ...

    @contextmanager
    def over_lanes(self, packed: bool) -> Iterator[list[str]]:
        """A loop over lanes `i`, or over packs of eight of them, if vectors have lanes at all; what is found are the
        places of all components in a vector."""
        if not self.arrays:
            yield [str(k) for k in range(self.shape.components)]
            return
        self.packed = packed
        with self.text.block("for i in range(low & -8, high, 8)" if packed else "for i in range(low, high)"):
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

    def get(self, array: str, place: str) -> str:
        """A number of an array, or the pack that begins with it."""
        return f"load(nothing, {array}, {place})" if self.packed else f"{array}[{place}]"

    def set(self, array: str, place: str, value: str) -> None:
        self.text.put(f"store({array}, {place}, {value})" if self.packed else f"{array}[{place}] = {value}")

    def joined(self, function: str, *operands: str) -> str:
        """What a function of packs, or the operator in its place, makes of two numbers or packs."""
        return f"{function}({', '.join(operands)})" if self.packed else f" {_OPERATORS[function]} ".join(operands)

    def add_to(self, name: str, value: str) -> None:
        """Add to a number or pack in a local variable."""
        self.text.put(f"{name} = {self.plus}({name}, {value})" if self.packed else self.add(name, value))

    def add_to_entry(self, array: str, place: str, value: str) -> None:
        """Add to a number or pack of an array."""
        if self.packed:
            self.set(array, place, f"{self.plus}({self.get(array, place)}, {value})")
        else:
            self.text.put(self.add(self.get(array, place), value))

    @property
    def width(self) -> str:
        """Numbers of a vector."""
        return "width" if self.arrays else str(self.shape.components)

    def whole(self, line: str) -> None:
        """A line for every number of a vector that is in use."""
        if not self.arrays:
            self.each(line)
            return
        end = f"limbs * {lanes_of(self.shape.components)}" if self.limbs else "width"
        if self.shape.packs:
            with self.text.block(f"for i in range(0, {end}, 8)"):
                self.put_pack(line, "i")
            return
        with self.text.block(f"for i in range({end})"):
            self.text.put(line.format(o="i"))

    def over_stores(self):
        """Every store: its number, and the block that its lines stand in."""
        if self.unrolled:
            for s in range(len(self.plan.store_kind)):
                yield str(s), self.text.block_if(None)
        else:
            yield "s", self.text.block(f"for s in range({len(self.plan.store_kind)})")

    def dispatch_kind(self, s: str):
        """The kinds that a store may be of, and the block that lines for it stand in."""
        if self.unrolled:
            yield self.plan.kinds[self.plan.store_kind[int(s)]], self.text.block_if(None)
            return
        for number, kind in enumerate(self.plan.kinds):
            asked = None if len(self.plan.kinds) == 1 else f"store_kind[{s}] == {number}"
            yield kind, self.text.block_if(asked)
