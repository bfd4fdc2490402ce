"""A question to a store, planned and answered: from the tree where slices hold whole nodes, from rows at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.programs.operators.partials import Partials, merge
from trendweave.rows.times import check_edges
from trendweave.store.aggregate.answers import Groups, write_answer, write_groups
from trendweave.store.aggregate.costs import Costs
from trendweave.store.aggregate.question import Wanted, Windows
from trendweave.store.aggregate.rows import GroupRows, Membership, Rows, fold, fold_by_key, keep_stretches
from trendweave.store.aggregate.tree import Bounds, Walk, add_up, walk
from trendweave.store.layout.files import DataFile

if TYPE_CHECKING:
    from trendweave.store.snapshot import Snapshot

Using = Literal["auto", "index", "replay"]
#: Partial results are merged after so many slices.
_MERGED = 1 << 22


@dataclass(frozen=True)
class Question:
    """All that was asked.

    Attributes:
        wanted: The aggregates.
        windows: None for one window over all.
        bounds: Only events from the first step on and before the second.
        by: Columns that events are grouped by.
    """

    wanted: tuple[Wanted, ...]
    windows: Windows | None
    bounds: Bounds
    by: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are needed, each once."""
        return tuple(dict.fromkeys(one.column for one in self.wanted if one.column is not None))

    @property
    def kinds(self) -> tuple[pa.DataType, ...]:
        """Their types."""
        return tuple({one.column: one.kind for one in self.wanted if one.column is not None}.values())


@dataclass(frozen=True)
class Plan:
    """What will be done, and what the other way would have cost.

    Attributes:
        way: `index` or `replay`.
        found: The walk down the tree.
        groups: The row groups to read, by their number in the store.
        rows: How many rows these have.
        of_groups: How many row groups there are in the stretch of time.
        of_rows: How many rows.
        cost: Per way, in nanoseconds.
        groups_of: Groups of events, where some are asked for, and that of each block.
    """

    way: str
    found: Walk
    groups: np.ndarray
    rows: int
    of_groups: int
    of_rows: int
    cost: dict[str, float]
    groups_of: tuple[Groups, np.ndarray] | None = None

    def __str__(self) -> str:
        whole = sum(nodes.size for nodes in self.found.taken)
        return "\n".join(
            [
                f"{self.way}: {whole:,} nodes of the tree are taken whole, {self.found.visited:,} are looked at",
                f"  row groups to read: {self.groups.size:,} of {self.of_groups:,}, rows: {self.rows:,} of "
                f"{self.of_rows:,}",
                *(f"  estimated cost of {way}: {cost / 1e6:,.1f} ms" for way, cost in sorted(self.cost.items())),
            ]
        )


def check_using(using: str) -> None:
    """Raise an OptionError where there is no such way."""
    if using not in ("auto", "index", "replay"):
        raise OptionError([Problem("TW408", f"using={using!r} is not valid", "write auto, index or replay")])


def make_plan(store: Snapshot, question: Question, using: Using, costs: Costs) -> Plan:
    """Walk down the tree, and decide.

    Raises:
        OptionError: There is no such way.
    """
    check_using(using)
    tree, width = store.tree, len(question.columns) + len(question.by)
    grouped = Groups(store.schema, question.by) if question.by else None
    of_blocks = None if grouped is None else grouped.of_blocks(store)
    everything = walk(tree, question.windows, question.bounds, (), whole=False)
    all_groups = np.unique(store.blocks.number[everything.read])
    all_rows = int(store.groups.rows[all_groups].sum())
    cost = {"replay": costs.of_rows(all_groups.size, all_rows, width)}
    found, groups, rows = everything, all_groups, all_rows
    if using != "replay":
        found = walk(tree, question.windows, question.bounds, question.columns, groups=of_blocks)
        groups = np.unique(store.blocks.number[found.read])
        rows = int(store.groups.rows[groups].sum())
        cost["index"] = costs.of_nodes(found.visited, width) + costs.of_rows(groups.size, rows, width)
    way = using if using != "auto" else min(cost, key=lambda name: (cost[name], name))
    if way == "replay":
        found, groups, rows = everything, all_groups, all_rows
    groups_of = None if grouped is None or of_blocks is None else (grouped, of_blocks)
    return Plan(way, found, groups, rows, all_groups.size, all_rows, cost, groups_of)


def answer(store: Snapshot, question: Question, plan: Plan) -> pa.Table:
    """Carry a plan out in this process."""
    columns = question.columns
    reader = GroupRows(store.open_files, store.schema, store.time, store.kind, columns, question.bounds)
    grouped, of_blocks = plan.groups_of or (None, None)
    rows = replace(reader, keys=question.by).read(group_files(store, plan.groups))
    parts = fold_groups(rows, Membership.of(store, plan.found.read), question, grouped)
    whole = add_up(store.tree, plan.found, question.windows, columns, of_blocks)
    return finish(merge([whole, *parts], len(columns)), question, store, grouped)


def finish(slices: Partials, question: Question, store: Snapshot, grouped: Groups | None = None) -> pa.Table:
    """The table of slices that are in order."""
    windows = question.windows
    if windows is not None and slices.size and not windows.of_events:
        check_edges(np.array([slices.first.min(), slices.last.max()]), windows.length)
    if grouped is not None:
        return write_groups(slices, question.wanted, question.columns, windows, store.kind, grouped)
    return write_answer(slices, question.wanted, question.columns, windows, store.kind)


def fold_groups(
    rows: Iterable[Rows], kept: Membership, question: Question, grouped: Groups | None = None
) -> list[Partials]:
    """Rows as slices, merged from time to time."""
    parts: list[Partials] = []
    held = 0
    for some in rows:
        own, stretches = kept.find(some)
        if grouped is None:
            part = fold(own, question.windows, stretches)
        else:
            own = own if stretches is None else keep_stretches(own, stretches)
            assert own.keys is not None, "columns that events are grouped by were read"
            keys = grouped.of_rows(own.keys)
            part = fold_by_key(own, question.windows, keys, max(1, grouped.size))
        parts.append(part)
        held += part.size
        if held > _MERGED:
            parts = [merge(parts, len(question.columns))]
            held = parts[0].size // 2
    return parts


def group_files(store: Snapshot, numbers: np.ndarray) -> Iterator[tuple[DataFile, np.ndarray, np.ndarray, np.ndarray]]:
    """Row groups by their files, for `GroupRows.read`."""
    groups = store.groups
    files = groups.file[numbers]
    for file in np.unique(files):
        own = numbers[files == file]
        yield store.files[file], groups.group[own], own, groups.rows[own]
