"""A folder in some file system: this machine's, or one that Arrow reaches by an address such as s3://bucket/folder."""

from __future__ import annotations

import os
import posixpath
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, Problem

#: What is ours in a folder of data. Names that begin so are left alone by all that read such folders.
OWN_FOLDER = "_trendweave"
#: Names of file systems as Hadoop writes them, where Arrow has another one.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True)
class Place:
    """A folder. All names are relative to it, with `/` between their parts.

    Attributes:
        system: The file system.
        root: The path of the folder in it.
        address: How users wrote it.
    """

    system: pafs.FileSystem
    root: str
    address: str

    @property
    def is_local(self) -> bool:
        """Whether files are those of this machine, which can be mapped into memory and renamed at once."""
        return isinstance(self.system, pafs.LocalFileSystem)

    def path(self, name: str) -> str:
        """The path of a file in the file system."""
        return posixpath.join(self.root, name) if name else self.root

    def list(self, name: str = "", deep: bool = False) -> list[pafs.FileInfo]:
        """What lies in a folder; nothing where it is not there."""
        chosen = pafs.FileSelector(self.path(name), allow_not_found=True, recursive=deep)
        return self.system.get_file_info(chosen)

    def relative(self, path: str) -> str:
        """The name of a path of the file system."""
        return posixpath.relpath(path, self.root)

    def info(self, name: str) -> pafs.FileInfo:
        """What is known of one file."""
        return self.system.get_file_info([self.path(name)])[0]

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return self.info(name).type != pafs.FileType.NotFound

    def open(self, name: str) -> pa.NativeFile:
        """A file, to be read at any place of it."""
        return pa.memory_map(self.path(name)) if self.is_local else self.system.open_input_file(self.path(name))

    def read(self, name: str) -> bytes:
        """All bytes of a small file."""
        with self.system.open_input_stream(self.path(name)) as stream:
            return stream.read()

    def write(self, name: str, data: Any) -> None:
        """Write a file whole or not at all: under another name first, which is changed at the end. Object stores show
        a file when it is complete."""
        self.make_folder(posixpath.dirname(name))
        if not self.is_local:
            with self.system.open_output_stream(self.path(name)) as stream:
                stream.write(data)
            return
        temporary = temporary_name(self.path(name))
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path(name))
        _keep_folder(os.path.dirname(self.path(name)))

    def write_once(self, name: str, data: bytes) -> bool:
        """Write a small file unless there is one of this name; whether it was written. Object stores have no way to
        say so at once: there the file is looked for, then written."""
        if self.exists(name):
            return False
        if not self.is_local:
            self.write(name, data)
            return True
        self.make_folder(posixpath.dirname(name))
        temporary = temporary_name(self.path(name))
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, self.path(name))
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        _keep_folder(os.path.dirname(self.path(name)))
        return True

    def make_folder(self, name: str) -> None:
        """Make a folder and those around it; object stores need none."""
        if self.is_local:
            os.makedirs(self.path(name), exist_ok=True)

    def move(self, name: str, target: str) -> None:
        """Give a file another name."""
        self.make_folder(posixpath.dirname(target))
        self.system.move(self.path(name), self.path(target))

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        if self.info(name).type == pafs.FileType.File:
            self.system.delete_file(self.path(name))


def _keep_folder(path: str) -> None:
    """A new name is on the disk only when its folder is."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_name(path: str) -> str:
    """A name in the same folder that nobody reads and no other writer has."""
    return posixpath.join(posixpath.dirname(path), f".{posixpath.basename(path)}.{uuid.uuid4().hex}.tmp")


def is_hidden(name: str) -> bool:
    """Whether some part of a name is one that readers of such folders leave out, as Spark does."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in name.split("/"))


def find_place(path: str | Path | Place, system: pafs.FileSystem | None = None) -> Place:
    """The folder at a path.

    Args:
        path: A path of this machine or an address; with a file system, a path in it.
        system: Arrow's file system, where an address does not say all.

    Raises:
        DataError: No file system has such an address, or a file is there.
    """
    if isinstance(path, Place):
        return path
    address = str(path)
    if system is not None:
        return Place(system, address.rstrip("/"), address)
    scheme, separator, rest = address.partition("://")
    if not separator:
        root = os.path.abspath(os.path.expanduser(address))
        if os.path.isfile(root):
            hint = "give the folder of the store; query.run(path) reads a file"
            raise DataError([Problem("TW331", f"{address} is a file, and a store is a folder", hint)])
        return Place(pafs.LocalFileSystem(), root, address)
    try:
        found, root = pafs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    except (pa.ArrowException, OSError, ValueError) as error:
        hint = "write a path, or a URI that Arrow supports, such as s3://bucket/folder"
        raise DataError([Problem("TW331", f"{address} cannot be reached: {error}", hint)]) from error
    return Place(found, root.rstrip("/"), address)
