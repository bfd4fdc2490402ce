"""Sections of a store: events that can be in one trend. Where files are bucketed by keys that a query asks to be equal,
each bucket is one; else all files are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.planning.plan import Plan
from trendweave.store.patterns.source import Store


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


def find_sections(plans: Sequence[Plan], store: Store, low: int | None, high: int | None) -> list[Section]:
    """The sections that have events between two times, both included; None: no bound.

    Args:
        plans: Of the queries that run.
        store: The events.
        low: The first time.
        high: The last time.
    """
    blocks = store.blocks
    firsts = blocks.first if low is None else np.maximum(blocks.first, low)
    lasts = blocks.last if high is None else np.minimum(blocks.last, high)
    known = (firsts <= lasts) & (blocks.count > 0)
    numbers = np.array([-1 if file.bucket is None else file.bucket for file in store.files], np.int64)
    if not is_apart(plans, store) or (numbers < 0).any():
        numbers = np.zeros(numbers.size, np.int64)
    sections = []
    for bucket in np.unique(numbers).tolist():
        files = numbers == bucket
        taken = np.flatnonzero(known & files[blocks.file])
        if taken.size:
            sections.append(Section(bucket, files, taken, firsts[taken], lasts[taken]))
    return sections if len(sections) != 1 else [_only(sections[0])]


def _only(section: Section) -> Section:
    return Section(None, section.files, section.blocks, section.firsts, section.lasts)


def is_apart(plans: Sequence[Plan], store: Store) -> bool:
    """Whether no trend has events of two buckets: queries ask all keys of buckets to be equal."""
    if not store.buckets or not store.keys:
        return False
    keys = {(name,) for name in store.keys}
    return all(keys <= {key.path for key in plan.partition_key} for plan in plans)
