"""What kernels were written as: a digest of the text of all files that they are made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable


def fingerprint_of(package: str, folders: Sequence[str]) -> str:
    """Changes with any Python file below the folders of a package, which may lie in a zip, and with nothing else.

    Numba itself looks at the file of a function alone, but functions are compiled together with those they call.
    """
    digest, found = hashlib.sha256(), False
    for folder in folders:
        where = files(package)
        for part in folder.split("/"):
            where = where / part
        for name, content in _python_files(where, folder):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
            found = True
    if not found:  # byte code alone: nothing tells what it was made of, so nothing is shared
        digest.update(os.urandom(16))
    return digest.hexdigest()


def _python_files(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".py"):
            yield f"{name}/{entry.name}", entry.read_bytes()
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _python_files(entry, f"{name}/{entry.name}")
