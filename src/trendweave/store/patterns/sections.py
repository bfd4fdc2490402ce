"""Sections of a store: events that can be in one trend. Where files are bucketed by keys that a query asks to be equal,
each bucket is one; else all files are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.planning.plan import Plan
from trendweave.store.event_store import EventStore


@dataclass(frozen=True, slots=True)
class Section:
    """Attributes:
    bucket: Its number; None where it is the only section.
    files: Whether each file is in it.
    blocks: The numbers of its blocks that have events between the times that are asked for.
    firsts: The first such time of each.
    lasts: The last such time of each.
    """

    bucket: int | None
    files: np.ndarray
    blocks: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray


def find_sections(plans: Sequence[Plan], store: EventStore, low: int | None, high: int | None) -> list[Section]:
    """The sections that have events between two times, both included; None: no bound.

    Args:
        plans: Of the queries for trends that run; none for situations, which are looked for in all buckets at once.
        store: The events.
        low: The first time.
        high: The last time.
    """
    blocks = store.blocks
    firsts = blocks.first if low is None else np.maximum(blocks.first, low)
    lasts = blocks.last if high is None else np.minimum(blocks.last, high)
    known = (firsts <= lasts) & (blocks.count > 0)
    told = {file.bucket for file in store.files}
    numbers = np.zeros(len(store.files), np.int64)
    if None not in told and len({bucket[1] for bucket in told if bucket}) == 1 and is_apart(plans, store):
        numbers = np.array([file.bucket[0] for file in store.files if file.bucket], np.int64)
    sections = []
    for bucket in np.unique(numbers).tolist():
        files = numbers == bucket
        taken = np.flatnonzero(known & files[blocks.file])
        if taken.size:
            sections.append(Section(bucket, files, taken, firsts[taken], lasts[taken]))
    return sections if len(sections) != 1 else [_only(sections[0])]


def _only(section: Section) -> Section:
    return Section(None, section.files, section.blocks, section.firsts, section.lasts)


def is_apart(plans: Sequence[Plan], store: EventStore) -> bool:
    """Whether no trend has events of two buckets: queries ask all keys of buckets to be equal. Without queries for
    trends buckets are read together."""
    if not store.keys or not plans:
        return False
    keys = {(name,) for name in store.keys}
    return all(keys <= {key.path for key in plan.partition_key} for plan in plans)
