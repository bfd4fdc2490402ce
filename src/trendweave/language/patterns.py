"""Patterns of trend queries, as nodes of a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from trendweave.language.nodes import Node


@dataclass(frozen=True, slots=True)
class EventPattern(Node):
    """`Stock S`; without a variable the type names it."""

    type: str
    variable: str | None = None

    @property
    def name(self) -> str:
        return self.type if self.variable is None else self.variable


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
