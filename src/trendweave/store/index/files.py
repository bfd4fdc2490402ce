"""Index files beside the data: named flat arrays, mapped into memory where they are local.

An index is believed if its own bytes are whole and if it was made of the file that now has this name: same size,
same time of writing, same footer. One that is not is reported and left alone; the file is then read as if there were
none.
"""

from __future__ import annotations

import json
import logging
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.store.layout.files import DataFile, footer_digest
from trendweave.store.layout.places import OWN_FOLDER, Place

_MAGIC = b"TWINDEX1"
_TAIL = struct.Struct("<QI8s")
_HEAD = struct.Struct("<8sI")
_ALIGNED = 64
#: So many bytes are fetched at once where a file is not local.
_AT_ONCE = 1 << 22
#: Bytes that share a checksum.
PIECE = 1 << 16


class DamagedIndex(Exception):
    """An index file that is not what was written, whatever happened to it."""


@dataclass(frozen=True, slots=True)
class _Place:
    kind: np.dtype
    offset: int
    length: int
    checksums: tuple[int, ...]


def write_arrays(place: Place, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> int:
    """Write a file whole or not at all.

    Args:
        place: The folder of the store.
        name: The name of the file.
        facts: What the header tells beside the arrays, as JSON knows it.
        arrays: Flat arrays.

    Returns:
        How many bytes it has.
    """
    plain = {key: np.ascontiguousarray(array).view(np.uint8) for key, array in arrays.items()}
    described = {
        key: [array.dtype.str, plain[key].size, [zlib.crc32(piece.data) for piece in _pieces(plain[key])]]
        for key, array in arrays.items()
    }
    header = json.dumps({"facts": facts, "arrays": described}).encode()
    parts: list[bytes | np.ndarray] = [_HEAD.pack(_MAGIC, len(header)), header]
    done = _HEAD.size + len(header)
    for array in plain.values():
        padding = -done % _ALIGNED
        parts += [bytes(padding), array]
        done += padding + array.size
    parts.append(_TAIL.pack(done + _TAIL.size, zlib.crc32(header), _MAGIC))
    place.write(name, b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts))
    return done + _TAIL.size


def _pieces(data: np.ndarray) -> list[np.ndarray]:
    return [data[first : first + PIECE] for first in range(0, data.size, PIECE)]


class ArrayFile:
    """A file that is open. Whatever is wrong with it is a `DamagedIndex`."""

    def __init__(self, place: Place, name: str) -> None:
        self.name = name
        try:
            self._source: pa.NativeFile = place.open(name)
            self.size: int = self._source.size()
            if not place.is_local and self.size <= _AT_ONCE:
                # One request costs more than the bytes.
                self._source = pa.BufferReader(self._source.read_buffer())
            self.facts, self._arrays = self._read_header()
        except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, struct.error) as error:
            raise DamagedIndex(f"{name}: {error}") from error

    def _read_header(self) -> tuple[dict[str, Any], dict[str, _Place]]:
        if self.size < _HEAD.size + _TAIL.size:
            raise ValueError("it is too short")
        length, checksum, magic = _TAIL.unpack(self._bytes(self.size - _TAIL.size, _TAIL.size))
        first_magic, header_length = _HEAD.unpack(self._bytes(0, _HEAD.size))
        if magic != _MAGIC or first_magic != _MAGIC or length != self.size or header_length > self.size:
            raise ValueError("it is cut short, or of another version")
        header = self._bytes(_HEAD.size, header_length)
        if zlib.crc32(header) != checksum:
            raise ValueError("its header has changed")
        read = json.loads(header.to_pybytes())
        places, offset = {}, _HEAD.size + header_length
        for key, (kind, size, checksums) in read["arrays"].items():
            offset += -offset % _ALIGNED
            places[key] = _Place(np.dtype(kind), offset, size, tuple(checksums))
            offset += size
        return read["facts"], places

    def _bytes(self, offset: int, length: int) -> pa.Buffer:
        self._source.seek(offset)
        found = self._source.read_buffer(length)
        if len(found) != length:
            raise ValueError("it is cut short")
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arrays."""
        return tuple(self._arrays)

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def length(self, key: str) -> int:
        """How many entries an array has."""
        described = self._arrays[key]
        return described.length // described.kind.itemsize

    def array(self, key: str) -> np.ndarray:
        """An array, all of it."""
        return self.part(key, 0, self.length(key))

    def part(self, key: str, first: int, end: int) -> np.ndarray:
        """The entries of an array between two places."""
        described = self._arrays[key]
        width = described.kind.itemsize
        low, high = first * width, end * width
        if high <= low:
            return np.empty(0, described.kind)
        begin, stop = low // PIECE, -(-high // PIECE)
        start = begin * PIECE
        try:
            found = self._bytes(described.offset + start, min(stop * PIECE, described.length) - start)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DamagedIndex(f"{self.name}: {error}") from error
        data = np.frombuffer(found, np.uint8)
        for number, piece in enumerate(_pieces(data)):
            if zlib.crc32(piece.data) != described.checksums[begin + number]:
                raise DamagedIndex(f"{self.name}: some of its bytes have changed")
        return data[low - start : high - start].view(described.kind)


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
