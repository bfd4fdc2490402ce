"""What each task reads of a store. No Spark is needed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path
from trendweave.programs.program import Program
from trendweave.store.event_store import EventStore
from trendweave.store.layout.files import DataFile
from trendweave.store.patterns.access import Access, ReadSection
from trendweave.store.patterns.intervals.stretches import Stretches

#: So many bytes of row groups for a task: a second or less of work.
BYTES_OF_A_TASK = 16 * 2**20
#: What one task may read where no shuffle would cut it.
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Piece:
    """Attributes:
    files: Files with their row groups that are read.
    stretches: Only events of these; None: all.
    first: The number of the first of these stretches among those of all pieces.
    """

    files: tuple[tuple[DataFile, tuple[int, ...]], ...]
    stretches: Stretches | None
    first: int = 0


def meeting_keys(program: Program) -> frozenset[Path] | None:
    """The columns by which all rows of a result row meet, in every way in which they do; None: any row may have to meet
    any other."""
    columns = {name: one.names for name, one in program.needs.columns if isinstance(one, st.Attribute)}
    families = [family.keys for family in program.needs.families] or [program.needs.together]
    found = [frozenset(columns[path[0]] + path[1:] for path in keys if path[0] in columns) for keys in families]
    common = frozenset.intersection(*found)
    return common or None


def split_buckets(access: Access, store: EventStore, program: Program) -> list[ReadSection] | None:
    """What is read, bucket by bucket; None where rows of several buckets may have to meet."""
    told = {file.bucket for file in store.files}
    keys = meeting_keys(program)
    if keys is None or not store.keys or None in told or len({bucket[1] for bucket in told if bucket}) != 1:
        return None
    if not {(name,) for name in store.keys} <= keys:
        return None
    if access.reason is None:
        if any(section.bucket is None for section in access.sections) and len(told) > 1:
            return None
        return list(access.sections)
    numbers = np.array([file.bucket[0] for file in store.files if file.bucket], np.int64)
    groups = access.chosen_groups
    of_group = numbers[store.groups.file[groups]]
    bounds = bounded(access)
    return [ReadSection(bucket, bounds, groups[of_group == bucket]) for bucket in np.unique(of_group).tolist()]


def bounded(access: Access) -> Stretches | None:
    """The one stretch that is asked for; None where there is no bound."""
    if access.low is None and access.high is None:
        return None
    low = -(2**63) if access.low is None else access.low
    high = 2**63 - 1 if access.high is None else access.high
    return Stretches(np.array([low], np.int64), np.array([high], np.int64))


def cut_sections(sections: Sequence[ReadSection], store: EventStore) -> list[Piece]:
    """Pieces that tasks compute by themselves: of one section each, cut where nothing lies across."""
    pieces = []
    before = 0
    for section in sections:
        where = section.stretches
        if where is None or section.free is None:
            pieces.append(Piece(_files(store, section.groups), where, before))
        else:
            for low, high in _cuts(section, where, store):
                part = Stretches(where.lows[low:high], where.highs[low:high])
                groups = _groups_of(part, section.groups, store)
                if groups.size:
                    pieces.append(Piece(_files(store, groups), part, before + low))
        before += 0 if where is None else where.count
    return pieces


def _cuts(section: ReadSection, where: Stretches, store: EventStore) -> Iterator[tuple[int, int]]:
    """Stretches that one task takes: as many as read enough."""
    assert section.free is not None
    began, ended = store.group_times
    sizes = store.groups.bytes[section.groups]
    firsts, lasts = began[section.groups], ended[section.groups]
    # The bytes that begin in each stretch or behind it, before the next one.
    place = np.clip(np.searchsorted(where.highs, firsts), 0, where.count - 1)
    weight = np.bincount(place[lasts >= firsts], sizes[lasts >= firsts], where.count)
    low, held = 0, 0.0
    for number in range(where.count):
        held += weight[number]
        if section.free[number] and held >= BYTES_OF_A_TASK:
            yield low, number + 1
            low, held = number + 1, 0.0
    if low < where.count:
        yield low, where.count


def _groups_of(stretches: Stretches, groups: np.ndarray, store: EventStore) -> np.ndarray:
    began, ended = store.group_times
    return groups[stretches.touch(began[groups], ended[groups])]


def _files(store: EventStore, groups: np.ndarray) -> tuple[tuple[DataFile, tuple[int, ...]], ...]:
    own = store.groups
    return tuple(
        (store.files[number], tuple(own.group[groups[own.file[groups] == number]].tolist()))
        for number in np.unique(own.file[groups]).tolist()
    )


def deal_groups(access: Access, store: EventStore) -> list[Piece]:
    """Pieces that tasks read for a shuffle: some row groups each, whatever stretches lie in them."""
    pieces = []
    before = 0
    for section in access.sections:
        where = section.stretches if access.reason is None else bounded(access)
        held: list[int] = []
        taken = 0
        for group in section.groups.tolist():
            held.append(group)
            taken += int(store.groups.bytes[group])
            if taken >= BYTES_OF_A_TASK:
                pieces.append(Piece(_files(store, np.array(held)), where, before))
                held, taken = [], 0
        if held:
            pieces.append(Piece(_files(store, np.array(held)), where, before))
        before += 0 if where is None else where.count
    return pieces


def largest_piece(pieces: Sequence[Piece], store: EventStore) -> int:
    """How many bytes the largest piece reads."""
    starts = {file.name: number for number, file in enumerate(store.files)}
    own = store.groups
    most = 0
    for piece in pieces:
        size = 0
        for file, groups in piece.files:
            inside = (own.file == starts[file.name]) & np.isin(own.group, groups)
            size += int(own.bytes[inside].sum())
        most = max(most, size)
    return most
