"""What all nodes of syntax trees have in common: a place in the text, and a depth that is limited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from trendweave.errors import LanguageError, Problem

MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query text. Lines and columns count from 1."""

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Node:
    """What all nodes share: a place in the text, and a depth that is never above the limit."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    depth: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max((child.depth for child in self.children()), default=0)
        if depth > MAX_DEPTH:
            raise LanguageError([too_deep(self.span)])
        object.__setattr__(self, "depth", depth)

    def children(self) -> Iterator[Node]:
        for name in parts_of(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Node))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first, in the order of the text."""
        yield self
        for child in self.children():
            yield from child.walk()


_PARTS: dict[type, tuple[str, ...]] = {}


def parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields that make a node what it is, in the order of the text."""
    if kind not in _PARTS:
        _PARTS[kind] = tuple(spec.name for spec in fields(kind) if spec.name not in ("span", "depth", "situation_span"))
    return _PARTS[kind]


def copy_node(node: Any, change: Callable[[Any], Any], span: Span | None = None) -> Any:
    """A copy with every child replaced, at another place of the text or at none."""
    parts: dict[str, Any] = {}
    for name in parts_of(type(node)):
        value = parts[name] = getattr(node, name)
        if isinstance(value, Node):
            parts[name] = change(value)
        elif isinstance(value, tuple):
            parts[name] = tuple(change(item) if isinstance(item, Node) else item for item in value)
    return type(node)(**parts, span=span)


def without_places(node: Any) -> Any:
    """A copy without its places in the text, as they would only make plans differ."""
    return copy_node(node, without_places)


def too_deep(span: Span | None) -> Problem:
    return problem_at(
        span,
        "TW103",
        f"the query is nested more than {MAX_DEPTH} levels deep",
        "split it, or write repetition with a quantifier such as {2,5}",
    )


def problem_at(span: Span | None, code: str, message: str, hint: str = "") -> Problem:
    """A problem placed at a span of the text, or nowhere for a tree that was built without text."""
    if span is None:
        return Problem(code, message, hint)
    return Problem(code, message, hint, span.line, span.column, max(1, span.end - span.start))
