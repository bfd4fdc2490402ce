"""Measuring what reading and walking costs on this machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from trendweave.programs.operators.measured import is_measured
from trendweave.store.aggregate.costs import Costs
from trendweave.store.aggregate.question import Windows
from trendweave.store.aggregate.rows import GroupRows, fold
from trendweave.store.aggregate.run import group_files
from trendweave.store.aggregate.tree import add_up, walk
from trendweave.store.snapshot import Snapshot

#: Rows that are read to measure.
_ROWS = 2_000_000
_TIMES = 3


def measure_costs(store: Snapshot) -> Costs:
    """Read some row groups of a store in several ways. A store that is too small to measure gives the defaults.

    Args:
        store: Its own files are read, so that what they are encoded in counts.
    """
    groups = store.groups
    numbers = np.flatnonzero(np.cumsum(groups.rows) <= _ROWS)
    rows = int(groups.rows[numbers].sum())
    columns = [name for name in store.schema.names if name != store.time and is_measured(store.schema.field(name).type)]
    if rows < 100_000 or numbers.size < 2:
        return Costs()
    usual = Costs()
    windows = Windows(1 << 40, 1 << 40)
    together = _seconds(lambda: _read(store, numbers, (), windows))
    apart = _seconds(lambda: [_read(store, numbers[place : place + 1], (), windows) for place in range(numbers.size)])
    group = max(1e-6, (apart - together) / numbers.size)
    row = max(1e-10, (together - numbers.size * group / 2) / rows)
    value = usual.value / 1e9
    if columns:
        with_value = _seconds(lambda: _read(store, numbers, (columns[0],), windows))
        value = max(1e-10, (with_value - together) / rows)
    node = usual.node / 1e9
    if store.blocks.exact.all() and columns:
        store.tree.column(columns[0])
        found = walk(store.tree, windows, (None, None), columns[:1])
        seconds = _seconds(lambda: add_up(store.tree, walk(store.tree, windows, (None, None), columns[:1]), windows,
                                          columns[:1]))  # fmt: skip
        node = max(1e-9, min(1e-6, seconds / max(1, found.visited) / 2))
    return Costs(row * 1e9, value * 1e9, group * 1e9, node * 1e9)


def _read(store: Snapshot, numbers: np.ndarray, columns: tuple[str, ...], windows: Windows) -> int:
    """Read some row groups as a replay does; how many slices they have."""
    reader = GroupRows(store.open_files, store.schema, store.time, store.kind, columns)
    return sum(fold(rows, windows).size for rows in reader.read(group_files(store, numbers)))


def _seconds(work: Callable[[], object]) -> float:
    """The quickest of some calls."""
    work()
    found = []
    for _ in range(_TIMES):
        began = perf_counter()
        work()
        found.append(perf_counter() - began)
    return min(found)
