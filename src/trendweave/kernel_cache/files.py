"""Files that are kept for later processes: written in one piece or not at all, read only where they can be trusted.

They lie in a folder of the user, or in one that root has made for all; what a program has brought along lies in a
package of it. What is loaded from them is run, so nothing is read that somebody else could have written.
"""

from __future__ import annotations

import hashlib
import os
import pkgutil
import stat
import tempfile
import uuid
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

#: Names the folder for all that is kept; without it a folder below XDG_CACHE_HOME or ~/.cache is taken.
VARIABLE = "TRENDWEAVE_CACHE"
#: Packages that may bring files, in a folder of this name: this one, and a module that a driver sends to its workers.
MODULE = "trendweave_kernels"
BROUGHT = "kept"
_MOST_FILES = 4_000
_DIGEST_BYTES = hashlib.sha256().digest_size
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def kept_folders() -> list[Path]:
    """Folders to look into, best first: the user's, and a temporary one for users who cannot write there."""
    named = os.environ.get(VARIABLE)
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME") or (None if home == "~" else f"{home}/.cache")
    own = named or (caches and f"{caches}/trendweave")
    temporary = Path(tempfile.gettempdir(), f"trendweave-{_user()}")
    return [*([Path(own, "kernels")] if own else []), temporary]


def kept_folder() -> Path | None:
    """The folder to write to; None where there is none, so that nothing is kept."""
    return next((folder for folder in kept_folders() if _can_write(folder)), None)


@lru_cache(8)
def _can_write(folder: Path) -> bool:
    """Whether it is there, or can be made, and is no place for others to write."""
    temporary = str(folder.parent) == tempfile.gettempdir()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700 if temporary else 0o755, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_trusted(status) and os.access(folder, os.W_OK | os.X_OK)


def is_trusted(status: os.stat_result) -> bool:
    """Whether a file or folder is the user's or root's, and nobody else may write to it."""
    if os.name == "nt":  # there the folder of a user is the user's, and a file does not tell
        return True
    return status.st_uid in (_user(), 0) and not status.st_mode & _WRITABLE_BY_OTHERS


def _user() -> int:
    """The number of the user, 0 where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def is_kept(name: str) -> bool:
    """Whether there is a file of this name."""
    return any((folder / name).exists() for folder in kept_folders()) or _read_brought(name) is not None


def read_kept(name: str) -> bytes | None:
    """What was kept under a name, from the first folder that has it; None where there is nothing, or nothing whole."""
    for folder in kept_folders():
        content = _read_trusted(folder / name)
        if content is not None:
            with suppress(OSError):  # it may be root's
                os.utime(folder / name)  # what is in use is not old, whenever it was written
            return content
    return _read_brought(name)


def _read_trusted(path: Path) -> bytes | None:
    """The content of a file that this user or root has written; None where it is not whole."""
    try:
        with path.open("rb") as file:
            return _unseal(file.read()) if is_trusted(os.fstat(file.fileno())) else None
    except OSError:
        return None


def _read_brought(name: str) -> bytes | None:
    """The content of a file that has come with the program, which is trusted as the program is."""
    for package in (__name__.partition(".")[0], MODULE):
        with suppress(ImportError, OSError):
            if sealed := pkgutil.get_data(package, f"{BROUGHT}/{name}"):
                return _unseal(sealed)
    return None


def seal(content: bytes) -> bytes:
    """What a file holds: a digest of its content tells whether it is whole."""
    return hashlib.sha256(content).digest() + content


def _unseal(sealed: bytes) -> bytes | None:
    content = sealed[_DIGEST_BYTES:]
    return content if sealed == seal(content) else None


def write_kept(name: str, content: bytes) -> None:
    """Keep something for this and other processes; where the disk is full or nothing can be written, it is not."""
    folder = kept_folder()
    if folder is None:
        return
    new = folder / f"{uuid.uuid4().hex}.new"
    with suppress(OSError):
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
                file.write(seal(content))
            new.replace(folder / name)
        finally:
            new.unlink(missing_ok=True)
        entries = [entry for entry in os.scandir(folder) if entry.is_file()]
        if len(entries) > _MOST_FILES:
            for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime)[:-_MOST_FILES]:
                os.unlink(entry)
