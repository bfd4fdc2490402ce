"""The rows of a result with groups: the windows of each group by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.partials import Partials
from trendweave.rows.times import TimeType, as_times
from trendweave.store.aggregate.answers import write_aggregates
from trendweave.store.aggregate.groups import Groups
from trendweave.store.aggregate.question import Wanted
from trendweave.store.aggregate.windows import Windows


def write_groups(
    slices: Partials,
    wanted: Sequence[Wanted],
    columns: Sequence[str],
    windows: Windows | None,
    kind: TimeType,
    grouped: Groups,
) -> pa.Table:
    """One row per window and group that has an event, in order of windows, then of groups.

    Groups are moved apart in time, one behind the other and further than a window reaches, so that one pass over all
    slices gives the windows of each.

    Args:
        slices: In order of groups and slices, each once.
        wanted: The aggregates.
        columns: The columns of the slices.
        windows: Of time; None for one window over all.
        kind: How the time column counts.
        grouped: Knows the groups.
    """
    group = slices.group if slices.group is not None else np.empty(0, np.int64)
    of_all = windows or Windows(1, 1)
    numbers, place, low, high = _find_windows(slices.number, group, of_all)
    made = write_aggregates(slices, wanted, columns, low, high)
    start = numbers * of_all.slide
    if windows is None:
        edges = [pa.nulls(numbers.size, kind.arrow)] * 2
    else:
        edges = [as_times(start, kind), as_times(start + of_all.length, kind)]
    keys = grouped.table().take(pa.array(place))
    named = {"window_start": edges[0], "window_end": edges[1]}
    named |= {name: keys.column(name) for name in grouped.names}
    order = np.lexsort((grouped.ranks()[place], start))
    return pa.table({**named, **made}).take(pa.array(order))


def _find_windows(
    number: np.ndarray, group: np.ndarray, windows: Windows
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Windows that hold a slice of a group: their numbers, their groups, and the places of their slices."""
    none = np.empty(0, np.int64)
    if not number.size:
        return none, none, none, none
    stride, reach = windows.stride, windows.whole + 2
    base = int(number.min()) // stride
    apart = int(number.max()) // stride - base + 2 * reach
    if apart * (int(group.max()) + 2) < 2**61:
        moved = number - stride * base + stride * (group * apart + reach)
        numbers = windows.holding(moved)
        place = numbers // apart
        return (numbers - place * apart - reach + base, place, *windows.reach(numbers, moved))
    # Times are too far apart for that: one group after the other.
    found = []
    edges = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1], [True])))
    for begin, end in pairwise(edges.tolist()):
        numbers = windows.holding(number[begin:end])
        low, high = windows.reach(numbers, number[begin:end])
        found.append((numbers, np.full(numbers.size, group[begin]), low + begin, high + begin))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]
