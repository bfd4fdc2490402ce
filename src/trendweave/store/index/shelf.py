"""Where indexes lie beside the data, and which of them are believed.

An index is believed if its own bytes are whole and if it was made of the file that now has this name: same size, same
time of writing, same footer. One that is not is told of and left alone; the file is then read as if there were none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow.fs as pafs

from trendweave.store.index.array_file import ArrayFile, DamagedIndex, write_arrays
from trendweave.store.layout.files import DataFile, footer_digest
from trendweave.store.layout.places import OWN_FOLDER, Place

_LOG = logging.getLogger("trendweave")
_FOLDER = f"{OWN_FOLDER}/index"
_LIGHT, _BY, _END = ".light", ".by-", ".twx"
VERSION = 2


@dataclass(frozen=True)
class Shelf:
    """The indexes of a store.

    Attributes:
        place: The folder of the store.
        time: The column of the time, which indexes are made for.
    """

    place: Place
    time: str

    def light_name(self, file: DataFile) -> str:
        """The file of the light index."""
        return f"{_FOLDER}/{file.name}{_LIGHT}{_END}"

    def secondary_name(self, file: DataFile, column: str) -> str:
        """The file of the entries sorted by a column."""
        return f"{_FOLDER}/{file.name}{_BY}{quote(column, safe='')}{_END}"

    def list(self) -> dict[str, int]:
        """All index files that are there, with their sizes."""
        found = self.place.list(_FOLDER, deep=True)
        names = ((self.place.relative(info.path), info) for info in found if info.type == pafs.FileType.File)
        return {name: info.size for name, info in names if name.endswith(_END)}

    def columns(self, names: Mapping[str, int], file: DataFile) -> tuple[str, ...]:
        """The columns that a file has entries of."""
        start = f"{_FOLDER}/{file.name}{_BY}"
        own = (name for name in names if name.startswith(start))
        return tuple(unquote(name[len(start) : -len(_END)]) for name in own)

    def write(self, file: DataFile, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> int:
        """Write an index of a file, whole or not at all; how many bytes it has."""
        about = {
            "version": VERSION,
            "file": file.name,
            "size": file.size,
            "changed": file.changed,
            "footer": footer_digest(self.place, file).hex(),
            "time": self.time,
        }
        return write_arrays(self.place, name, {**about, **facts}, arrays)

    def load(self, file: DataFile, name: str) -> ArrayFile | None:
        """An index of a file, if it is to be believed."""
        try:
            found = ArrayFile(self.place, name)
            self.compare(file, found)
        except DamagedIndex as error:
            tell_of_damage(error)
            return None
        return found

    def data_name(self, name: str) -> str | None:
        """The data file that an index file is about, by its name; None where it is no index file."""
        if not name.startswith(f"{_FOLDER}/") or not name.endswith(_END):
            return None
        inner = name[len(_FOLDER) + 1 : -len(_END)]
        return inner.removesuffix(_LIGHT) if inner.endswith(_LIGHT) else inner.rpartition(_BY)[0]

    def compare(self, file: DataFile, found: ArrayFile) -> None:
        """Raise a DamagedIndex where an index is not about this file as it is now."""
        facts = found.facts
        checks: dict[str, Callable[[], bool]] = {
            "of another version": lambda: facts.get("version") == VERSION,
            "about another file": lambda: facts.get("file") == file.name,
            "about another time column": lambda: facts.get("time") == self.time,
            "older than its file": lambda: (facts.get("size"), facts.get("changed")) == (file.size, file.changed),
            "about another content of its file": lambda: (
                not self.place.is_local or facts.get("footer") == footer_digest(self.place, file).hex()
            ),
        }
        for why, holds in checks.items():
            if not holds():
                raise DamagedIndex(f"{found.name}: it is {why}")


def tell_of_damage(error: DamagedIndex) -> None:
    """An index that is not used is told of; the answer is the same without it."""
    _LOG.warning("the index %s; the file is read without it; build_index() rebuilds it", error)
