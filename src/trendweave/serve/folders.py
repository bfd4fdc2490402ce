"""The files of the served folder: which there are, and that no name leads out of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from trendweave.serve.asking import Refused, can_be_sent
from trendweave.table_files import KINDS

_MOST_FILES = 1_000
_MOST_LOOKED_AT = 50_000
_MOST_QUERIES, _LONGEST_QUERY = 200, 20_000


def list_files(folder: Path | None) -> list[str]:
    """Files of events below a folder, by their names from there; what `find_file` refuses is left out."""
    return sorted(name for name, _ in islice(_find_all(folder, KINDS), _MOST_FILES))


def read_queries(folder: Path | None) -> list[dict[str, str]]:
    """Queries in files of the folder that end with .tw, with their names and texts; those that are too long for a page,
    or no text, are left out."""
    found: list[dict[str, str]] = []
    for name, path in islice(_find_all(folder, (".tw",)), _MOST_QUERIES):
        with suppress(OSError, UnicodeDecodeError), path.open("rb") as file:
            text = file.read(_LONGEST_QUERY + 1).decode()
            if len(text) <= _LONGEST_QUERY:
                found.append({"name": name.removesuffix(".tw"), "text": text})
    return found


def find_file(folder: Path | None, name: str, endings: Collection[str] = KINDS) -> Path:
    """The file of this name in the folder.

    Raises:
        Refused: There is none, or the name, or a link that it goes through, leads out of the folder.
    """
    unknown = Refused(f"there is no file {name!r} to read here")
    if folder is None or not name or "\0" in name or Path(name).is_absolute():
        raise unknown
    root, parts = folder.resolve(), Path(name).parts
    if not all(map(_is_shown, parts)):
        raise unknown
    try:
        path = root.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise unknown from None
    # The ending is that of the file itself, so that a link cannot call something else a table.
    if not path.is_relative_to(root) or not path.is_file() or path.suffix.lower() not in endings:
        raise unknown
    return path


def _find_all(folder: Path | None, endings: Collection[str]) -> Iterator[tuple[str, Path]]:
    """All files with one of these endings below a folder, with their names from there."""
    for name in islice(_walk(folder), _MOST_LOOKED_AT) if folder is not None else ():
        if Path(name).suffix.lower() in endings:
            with suppress(Refused):
                yield name, find_file(folder, name, endings)


def _walk(root: Path) -> Iterator[str]:
    for where, folders, names in os.walk(root):
        folders[:] = sorted(filter(_is_shown, folders))
        for name in sorted(names):
            yield (Path(where) / name).relative_to(root).as_posix()


def _is_shown(name: str) -> bool:
    return not name.startswith((".", "_")) and can_be_sent(name)
