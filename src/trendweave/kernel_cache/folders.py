"""Where compiled code is kept: in a folder of the user, or in one that root has made for all.

What is loaded there is run, so nothing is read that somebody else could have written: neither this user nor root.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

#: Names the folder for all that is kept; without it a folder below XDG_CACHE_HOME or ~/.cache is taken.
VARIABLE = "TRENDWEAVE_CACHE"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def kernel_folders() -> list[Path]:
    """Folders to look into, best first: the user's, and a temporary one for users who cannot write there."""
    return list(_folders(os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")))


def kernel_folder() -> Path | None:
    """The folder to write to; None where there is none, so that nothing is kept."""
    return next((folder for folder in kernel_folders() if _can_write(folder)), None)


@lru_cache(8)
def _folders(named: str | None, caches: str | None, home: str | None) -> tuple[Path, ...]:
    found = []
    if named:
        found.append(Path(named))
    elif caches:
        found.append(Path(caches) / "trendweave")
    else:
        with suppress(RuntimeError):  # a user without a home
            found.append(Path.home() / ".cache" / "trendweave")
    found.append(Path(tempfile.gettempdir()) / f"trendweave-{user_number()}")
    return tuple(folder / "kernels" for folder in found)


@lru_cache(8)
def _can_write(folder: Path) -> bool:
    """Whether it is there, or can be made, and neither it nor what it lies in is a place for others to write."""
    try:
        if folder.parent.parent == Path(tempfile.gettempdir()):
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            if folder.parent.is_symlink() or not is_trusted(folder.parent.stat()):
                return False
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755, exist_ok=True)
        return is_trusted(folder.stat()) and os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        return False


def is_trusted(status: os.stat_result) -> bool:
    """Whether a file or folder is the user's or root's, and nobody else may write to it."""
    if os.name == "nt":  # there the folder of a user is the user's, and a file does not tell
        return True
    return status.st_uid in (user_number(), 0) and not status.st_mode & _WRITABLE_BY_OTHERS


def user_number() -> int:
    """The number of the user, 0 where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else 0
