"""A condition as a list of steps: each applies one operation to arguments, constants and results of steps before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from trendweave.expressions.compiled.operations import OPERATIONS


@dataclass(frozen=True, slots=True)
class Name:
    """An argument of the condition, or the result of a step."""

    text: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a truth value that stands in the condition."""

    value: bool | int | float

    def __eq__(self, other: object) -> bool:
        # Python holds 1 == 1.0 == True and 0.0 == -0.0.
        return isinstance(other, Constant) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


Reference: TypeAlias = Name | Constant
TRUE, FALSE = Constant(True), Constant(False)


@dataclass(frozen=True, slots=True)
class Step:
    """`name` is what an operation gives of its arguments."""

    name: str
    operation: str
    arguments: tuple[Reference, ...]


@dataclass(slots=True)
class Steps:
    """Steps as they are made; what was made before is not made again."""

    made: list[Step] = field(default_factory=list)
    _known: dict[tuple[str, tuple[Reference, ...]], Name] = field(default_factory=dict)

    def make(self, operation: str, *arguments: Reference) -> Name:
        """Apply an operation.

        Args:
            operation: Its name in `OPERATIONS`.
            arguments: What it is applied to.

        Returns:
            Its result.
        """
        assert operation in OPERATIONS, operation
        if (operation, arguments) not in self._known:
            name = f"s{len(self.made)}"
            self.made.append(Step(name, operation, arguments))
            self._known[operation, arguments] = Name(name)
        return self._known[operation, arguments]

    def both(self, one: Reference, other: Reference) -> Reference:
        """One truth value and another."""
        if FALSE in (one, other):
            return FALSE
        if one in (TRUE, other):
            return other
        return one if other == TRUE else self.make("and", one, other)

    def either(self, one: Reference, other: Reference) -> Reference:
        """One truth value or another."""
        if TRUE in (one, other):
            return TRUE
        if one in (FALSE, other):
            return other
        return one if other == FALSE else self.make("or", one, other)

    def inverse(self, one: Reference) -> Reference:
        """The other truth value."""
        return Constant(not one.value) if isinstance(one, Constant) else self.make("not", one)
