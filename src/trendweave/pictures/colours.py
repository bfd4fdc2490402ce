"""The colours of every picture."""

from __future__ import annotations

from collections.abc import Iterable

#: Colours that keep apart from each other and from white and black, also for most who see colours differently.
COLOURS = ("#0f7fc4", "#d95f02", "#2a9d6b", "#b8549c", "#a8870a", "#6a6fd0", "#c4433f", "#6b7785")


def assign_colours(names: Iterable[str]) -> dict[str, str]:
    """Give each name a colour, in the order of the names; after the last colour the first one comes again."""
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(dict.fromkeys(names))}
