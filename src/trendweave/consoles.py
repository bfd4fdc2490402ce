"""The consoles of the package: what they print of queries and events stands as it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def make_console(*, errors: bool = False) -> Console:
    """A console on standard output or standard error.

    Rich would draw `10:x:20` as `10❌20`, also in cells of tables and in titles; codes of emoji are data here.
    """
    from rich.console import Console

    return Console(stderr=errors, emoji=False)
