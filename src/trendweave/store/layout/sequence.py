"""The order in which appends are read by streams: each gets the next number, once and for all.

Appends are recorded in no order of their own. Whoever follows a store numbers those that have none yet, one small file
each, which only one process can write. Compactions add no events and have no number.
"""

from __future__ import annotations

import json

import pyarrow.fs as pafs

from trendweave.errors import DataError, Problem
from trendweave.store.layout.commits import is_own_name, list_files, load_commits, locate_committed
from trendweave.store.layout.files import DataFile, data_file
from trendweave.store.layout.places import OWN_FOLDER, Place

_FOLDER = f"{OWN_FOLDER}/sequence"


class Sequence:
    """The appends of a store in their order, and the files that others put there."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._entries: list[tuple[str, ...]] = []

    def count(self) -> int:
        """How many there are now; those that have no number get one."""
        self._look()
        known = {name for entry in self._entries for name in entry}
        for names in self._unknown(known):
            while not self._place.write_once(_name(len(self._entries)), json.dumps(names).encode()):
                self._look()  # another process was quicker
                if any(names[0] in entry for entry in self._entries):
                    break
            else:
                self._entries.append(names)
        return len(self._entries)

    def _look(self) -> None:
        """Read the numbers that were given since."""
        while self._place.exists(name := _name(len(self._entries))):
            self._entries.append(tuple(json.loads(self._place.read(name))))

    def _unknown(self, known: set[str]) -> list[tuple[str, ...]]:
        commits = sorted(load_commits(self._place), key=lambda commit: commit.number)
        appends = [commit.files for commit in commits if commit.files and not commit.removed]
        others = [(file.name,) for file in list_files(self._place) if not is_own_name(file.name)]
        return [names for names in (*appends, *others) if names[0] not in known]

    def files(self, first: int, end: int) -> list[DataFile]:
        """The files of some of them, wherever they lie now.

        Raises:
            DataError: One is gone: it was replaced and swept away before the stream came to it.
        """
        if len(self._entries) < end:
            self._look()
        numbers = {name: commit.number for commit in load_commits(self._place) for name in commit.files}
        return [self._find(name, numbers) for entry in self._entries[first:end] for name in entry]

    def _find(self, name: str, numbers: dict[str, str]) -> DataFile:
        if name in numbers:
            return locate_committed(self._place, name, numbers[name])
        info = self._place.info(name)
        if info.type != pafs.FileType.File:
            message = f"{name} was removed before a stream had read it"
            raise DataError([Problem("TW331", message, "start the stream with a new checkpoint")])
        return data_file(self._place, info)


def _name(number: int) -> str:
    return f"{_FOLDER}/{number:012}.json"
