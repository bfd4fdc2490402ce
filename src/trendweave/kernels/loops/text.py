"""Python text that is written line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager as Context
from contextlib import contextmanager, nullcontext
from textwrap import indent, wrap

INDENT = "    "
WIDTH = 110
#: Codes that loops name, and functions that they may call.
NAMES = "NO_TREND = -(2**63)\nNO_VALUE = NO_TREND + 1"
PACKS = (*("all_bits", "differs", "larger", "load", "put_between", "raise_others", "spread", "store", "times"),)
PROVIDED = {*PACKS, "heed_stop", "index", "abs", "float", "len", "max", "min", "range"}


def write_signature(name: str, takes: tuple[str, ...]) -> str:
    """The line of a definition; several where it takes much."""
    lines = wrap(", ".join(takes), WIDTH)
    if len(lines) == 1:
        return f"def {name}({lines[0]}):\n"
    return f"def {name}(\n{indent(chr(10).join(lines), INDENT)},\n):\n"


def write_loop(name: str, lines: Text | str, *above: str) -> tuple[str, tuple[str, ...]]:
    """A loop of some lines, below functions and constants; and the names of what it takes: all that the lines read and
    nothing sets."""
    head = "".join(f"{part.strip()}\n\n\n" for part in above)
    body = indent(str(lines), INDENT)
    scope = compile(f"{head}def {name}():\n{body}", name, "exec")
    reads = next(part.co_names for part in scope.co_consts if getattr(part, "co_name", "") == name)
    takes = tuple(one for one in reads if one not in PROVIDED.union(scope.co_names))
    return f"{head}@loop\n{write_signature(name, takes)}{body}", takes


class Text:
    """Lines of Python, indented by the blocks that are open."""

    def __init__(self) -> None:
        self._lines = list[str]()
        self._depth = 0

    def put(self, *lines: str) -> None:
        """Add lines to the block that is open."""
        self._lines += [INDENT * self._depth + line if line else "" for line in lines]

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines below a header such as `if a < b`. One to which nothing is added does nothing."""
        self.put(f"{header}:")
        begin = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == begin:
            self.put("pass")
        self._depth -= 1

    @contextmanager
    def block_of(self, name: str, takes: tuple[str, ...]) -> Iterator[None]:
        """The lines of a loop."""
        self.put("@loop", *write_signature(name, takes).rstrip("\n").split("\n"))
        self._depth += 1
        yield
        self._depth -= 1

    def block_if(self, condition: str | None) -> Context[None]:
        """Lines that stand below an `if`; None adds them to the block that is open."""
        return nullcontext() if condition is None else self.block(f"if {condition}")

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
