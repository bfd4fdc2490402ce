"""The files of the served folder: which there are, and that no name leads out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from trendweave.serve.asking import Refused, can_be_sent
from trendweave.table_files import KINDS

_MOST_FILES = 1_000
_MOST_LOOKED_AT = 50_000
_MOST_QUERIES, _LONGEST_QUERY = 200, 20_000


def list_files(folder: Path | None) -> list[str]:
    """Files of events below a folder, by their names from there; hidden ones and what lies elsewhere are left out."""
    if folder is None:
        return []
    root = folder.resolve()
    found: list[str] = []
    for path in _walk(root):
        if path.suffix.lower() in KINDS and _lies_in(path, root):
            found.append(path.relative_to(root).as_posix())
            if len(found) == _MOST_FILES:
                break
    return sorted(found)


def read_queries(folder: Path | None) -> list[dict[str, str]]:
    """Queries in files of the folder that end with .tw, with their names and texts; those that are too long for a page,
    or no text, are left out."""
    if folder is None:
        return []
    root = folder.resolve()
    found: list[dict[str, str]] = []
    for path in _walk(root):
        if (
            path.suffix == ".tw"
            and _lies_in(path, root)
            and path.resolve().suffix == ".tw"
            and len(found) < _MOST_QUERIES
        ):
            try:
                with path.open("rb") as file:
                    text = file.read(_LONGEST_QUERY + 1).decode()
            except (OSError, UnicodeDecodeError):
                continue
            if len(text) <= _LONGEST_QUERY:
                found.append({"name": path.relative_to(root).with_suffix("").as_posix(), "text": text})
    return found


def find_file(folder: Path | None, name: str) -> Path:
    """The file of this name in the folder.

    Raises:
        Refused: There is none, or the name, or a link that it goes through, leads out of the folder.
    """
    unknown = Refused(f"there is no file {name!r} to read here")
    if folder is None or not name or "\0" in name or Path(name).is_absolute():
        raise unknown
    root = folder.resolve()
    parts = Path(name).parts
    if not all(map(_is_shown, parts)):
        raise unknown
    try:
        path = root.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise unknown from None
    # The ending is that of the file itself, so that a link cannot call something else a table.
    if not path.is_relative_to(root) or not path.is_file() or path.suffix.lower() not in KINDS:
        raise unknown
    return path


def _walk(root: Path) -> Iterator[Path]:
    looked_at = 0
    for where, folders, names in os.walk(root):
        folders[:] = sorted(filter(_is_shown, folders))
        for name in sorted(names):
            looked_at += 1
            if looked_at > _MOST_LOOKED_AT:
                return
            if _is_shown(name):
                yield Path(where) / name


def _is_shown(name: str) -> bool:
    return not name.startswith((".", "_")) and can_be_sent(name)


def _lies_in(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root) and path.is_file()
    except (OSError, RuntimeError):
        return False
