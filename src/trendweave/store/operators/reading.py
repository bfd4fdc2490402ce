"""What operators read of a store: the row groups in which the filters at their beginning may hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trendweave.language.syntax_tree import Expression
from trendweave.runners.options import Settings
from trendweave.store.event_store import EventStore
from trendweave.store.layout.moments import read_between
from trendweave.store.patterns.rewriting.possible_blocks import find_possible


def read_for_filters(
    store: EventStore, conditions: Sequence[Expression], columns: Sequence[str], settings: Settings
) -> pa.Table:
    """Events of a store: all that the conditions keep, and others.

    Args:
        store: The events.
        conditions: All of them hold for an event that is kept.
        columns: Those that are read.
        settings: Checked options; with "replay" no index is asked.
    """
    between = read_between(settings.between, store.kind)
    bounds = None if between == (None, None) else between
    names = list(dict.fromkeys([*columns, store.time]))
    return store.read(_groups(store, conditions, between, settings.using == "replay"), names, bounds)


def _groups(
    store: EventStore, conditions: Sequence[Expression], between: tuple[int | None, int | None], all_of_them: bool
) -> np.ndarray | None:
    """The numbers of row groups; None for all. Rows without a time are in no block, and no filter keeps them."""
    low, end = between
    if all_of_them or (not conditions and low is None and end is None):
        return None
    blocks = store.blocks
    possible = np.ones(blocks.count.size, np.bool_)
    possible &= True if low is None else blocks.last >= low
    possible &= True if end is None else blocks.first < end
    for condition in conditions:
        possible &= find_possible(condition, blocks, store.schema)
    return np.unique(blocks.number[possible])
