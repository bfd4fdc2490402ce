"""Which files become one: those of a bucket that are small, or whose times overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.store.layout.files import DataFile

#: A file that has as many rows is left alone, unless its times overlap those of another.
ENOUGH_ROWS = 4_000_000


@dataclass(frozen=True)
class Extent:
    """A file, with its rows and its first and last time; None where it has no event."""

    file: DataFile
    rows: int
    first: int | None
    last: int | None


def choose_files(extents: Sequence[Extent], enough: int = ENOUGH_ROWS) -> list[list[DataFile]]:
    """Files to merge, several at a time. Only those that `append` wrote, as others may be somebody's.

    Args:
        extents: All files of a store.
        enough: Small files are merged until they have so many rows.
    """
    buckets: dict[tuple[int, int], list[Extent]] = {}
    for extent in extents:
        if extent.file.bucket is not None:
            buckets.setdefault(extent.file.bucket, []).append(extent)
    chosen = []
    for _, own in sorted(buckets.items()):
        chosen += _of_bucket(own, enough)
    return [files for files in chosen if len(files) > 1]


def _of_bucket(extents: list[Extent], enough: int) -> list[list[DataFile]]:
    groups: list[list[DataFile]] = []
    rows, reach = 0, None
    for extent in sorted(extents, key=lambda one: (one.first is not None, one.first, one.file.name)):
        overlaps = reach is not None and extent.first is not None and extent.first <= reach
        if groups and (overlaps or rows + extent.rows <= enough):
            groups[-1].append(extent.file)
            rows += extent.rows
        else:
            groups.append([extent.file])
            rows = extent.rows
        if extent.last is not None:
            reach = extent.last if reach is None else max(reach, extent.last)
    return groups
