"""Which files belong to a store: those that others put there, and those of appends that were finished.

An append writes its files into `_trendweave/staging`, then one record of all of them, then moves them to their place.
The record is what counts: before it is there, none of the files is part of the store; from then on all are, wherever
they lie. A compaction is the same with files that it replaces, which move to `_trendweave/replaced`. Records are never
changed. Two appends never meet, as each has a number of its own.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow.fs as pafs

from trendweave.errors import DataError, Problem
from trendweave.store.layout.files import DataFile, data_file, list_data_files
from trendweave.store.layout.places import OWN_FOLDER, Place

_RECORDS = f"{OWN_FOLDER}/commits"
STAGING = f"{OWN_FOLDER}/staging"
REPLACED = f"{OWN_FOLDER}/replaced"
_OWN_NAME = re.compile(r"(?:^|/)part-([0-9a-f]{32})-bucket-\d+-of-\d+[^/]*\.parquet$")


#: Records that this process has read, by path, size and time of writing: they never change.
_KNOWN: dict[tuple[str, int, int], Commit] = {}
_MOST_KNOWN = 200_000


@dataclass(frozen=True)
class Commit:
    """A change of a store.

    Attributes:
        number: What names it, 32 letters.
        files: The files that it adds.
        removed: The files that it takes away.
        rows: How many rows the added files have.
        batch: Of a stream, its name and the number of the batch.
    """

    number: str
    files: tuple[str, ...]
    removed: tuple[str, ...] = ()
    rows: int = 0
    batch: dict[str, Any] = field(default_factory=dict)

    def save(self, place: Place) -> bool:
        """Write the record; False where there is one of this number."""
        facts = {"version": 1, "files": self.files, "removed": self.removed, "rows": self.rows, "batch": self.batch}
        return place.write_once(record_name(self.number), json.dumps(facts).encode())


def new_number(batch: tuple[str, int] | None = None) -> str:
    """A number that no other change has: those of later changes are higher. The same batch of a stream always has the
    same one."""
    if batch is not None:
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{batch[1]}/{batch[0]}").hex
    return f"{time.time_ns():016x}{uuid.uuid4().hex[:16]}"


def record_name(number: str) -> str:
    """The file of a record."""
    return f"{_RECORDS}/{number}.json"


def is_own_name(name: str) -> bool:
    """Whether a file beside the data is one of an append, which counts only if it was recorded."""
    return not name.startswith(f"{OWN_FOLDER}/") and _OWN_NAME.search(name) is not None


def is_committed(place: Place, number: str) -> bool:
    """Whether there is a record of this number."""
    return place.exists(record_name(number))


def load_commits(place: Place) -> list[Commit]:
    """All records.

    Raises:
        DataError: One cannot be read: without it rows would be missing.
    """
    found = []
    for info in place.list(_RECORDS):
        name = place.relative(info.path)
        if info.type != pafs.FileType.File or not name.endswith(".json") or info.base_name.startswith("."):
            continue
        key = (info.path, info.size, info.mtime_ns or 0)
        if key not in _KNOWN:
            if len(_KNOWN) > _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = _read(place, name)
        found.append(_KNOWN[key])
    return found


def _read(place: Place, name: str) -> Commit:
    try:
        facts = json.loads(place.read(name))
        if facts["version"] != 1:
            raise ValueError("it is of another version")
        number = name.rpartition("/")[2].removesuffix(".json")
        lists = tuple(facts["files"]), tuple(facts["removed"])
        return Commit(number, *lists, int(facts["rows"]), dict(facts["batch"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"the record {name} of an append cannot be read: {error}"
        raise DataError([Problem("TW331", message, "restore it, or read the folder with other tools")]) from error


def list_files(place: Place) -> list[DataFile]:
    """The files of a store, in the order of their names.

    Raises:
        DataError: A file of an append is gone.
    """
    commits = load_commits(place)
    lying = {file.name: file for file in list_data_files(place)}
    visible = {name: file for name, file in lying.items() if not _OWN_NAME.search(name)}
    committed = {name: commit.number for commit in commits for name in commit.files}
    removed = {name for commit in commits for name in commit.removed}
    for name, number in committed.items():
        if name not in removed:
            visible[name] = lying.get(name) or locate_committed(place, name, number)
    return [visible[name] for name in sorted(visible.keys() - removed)]


def locate_committed(place: Place, name: str, number: str) -> DataFile:
    """A file that is not in its place yet. It may come there while it is looked for."""
    for location in (staged_name(number, name), name, f"{REPLACED}/{name}"):
        info = place.info(location)
        if info.type == pafs.FileType.File:
            return data_file(place, info, name)
    message = f"{name} belongs to the store, but is missing"
    raise DataError([Problem("TW331", message, f"restore it, or delete {record_name(number)} to ignore it")])


def staged_name(number: str, name: str) -> str:
    """Where a file lies before it is in its place."""
    return f"{STAGING}/{number}/{name}"


def settle(place: Place, commits: Iterable[Commit] | None = None) -> None:
    """Finish what was recorded and not done: put files in their place, and take replaced ones away. Others may be
    doing the same."""
    if not place.is_local:
        return
    for commit in load_commits(place) if commits is None else commits:
        for name in commit.removed:
            _move(place, name, f"{REPLACED}/{name}")
        for name in commit.files:
            _move(place, staged_name(commit.number, name), name)


def _move(place: Place, name: str, target: str) -> None:
    if place.exists(name):
        try:
            place.move(name, target)
        except OSError:
            if place.exists(name):  # else another process was quicker
                raise
