"""Patterns of trend queries, as nodes of a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from trendweave.language.nodes import Node

#: What stands for every type in a pattern, where it is not in back quotes; `_` is another way to write it.
ANY = "ANY"


def means_any(type_: str) -> bool:
    """Is a name without back quotes one that stands for every type?"""
    return type_.upper() == ANY or type_ == "_"


def type_text(type_: str | None) -> str:
    """The type of a variable for people."""
    return "any" if type_ is None else type_


@dataclass(frozen=True, slots=True)
class EventPattern(Node):
    """`Stock S`; without a variable the type names it. `ANY X` has no type (None) and reads events of every type."""

    type: str | None
    variable: str | None = None

    @property
    def name(self) -> str:
        return (self.type or ANY) if self.variable is None else self.variable


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """`body{low,high}`; `+` is (1, None), `*` is (0, None), `?` is (0, 1)."""

    body: Pattern
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Alternatives(Node):
    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Negation(Node):
    body: Pattern


Pattern: TypeAlias = EventPattern | Sequence | Repeat | Alternatives | Conjunction | Negation
