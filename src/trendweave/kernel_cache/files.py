"""Files of compiled code: written in one piece or not at all, read only where they are whole and can be trusted."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from trendweave.kernel_cache.folders import is_trusted, kernel_folder, kernel_folders

#: Of files with compiled code.
SUFFIX = ".kernel"
_DIGEST_BYTES = hashlib.sha256().digest_size
#: So many folders are kept, one per compiler and processor, with so many files of kernels and of queries' texts.
_MOST_FOLDERS, _MOST_KERNELS, _MOST_TEXTS = 8, 4_000, 600
#: Folders with kernels, and with kernels of queries' texts, begin like this; tables of parsers have one of their own.
KERNELS, TEXTS, TABLES = "kernels-", "texts-", "tables"


def read_kept(group: str, name: str) -> bytes | None:
    """What was kept under a name, from the first folder that has it; None where there is nothing, or nothing whole."""
    for folder in kernel_folders():
        path = folder / group / (name + SUFFIX)
        content = read_trusted(path)
        if content is not None:
            _note_use(path)
            _note_use(path.parent)
            return content
    return None


@lru_cache(_MOST_KERNELS)
def _note_use(entry: Path) -> None:
    """Once per process: a file or folder that is in use is not old, whenever it was written. It may be root's."""
    with suppress(OSError):
        os.utime(entry)


def is_kept(group: str, name: str) -> bool:
    return any((folder / group / (name + SUFFIX)).exists() for folder in kernel_folders())


def read_trusted(path: Path) -> bytes | None:
    """The content of a file that this user or root has written; None where it is not whole."""
    try:
        with path.open("rb") as file:
            if not is_trusted(os.fstat(file.fileno())):
                return None
            kept = file.read()
    except OSError:
        return None
    digest, content = kept[:_DIGEST_BYTES], kept[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None


def write_kept(group: str, name: str, content: bytes) -> None:
    """Keep something for this and other processes; where the disk is full or nothing can be written, it is not."""
    folder = kernel_folder()
    if folder is None:
        return
    with suppress(OSError):
        if not (folder / group).exists():
            (folder / group).mkdir(mode=0o755, exist_ok=True)
            _drop_oldest([entry for entry in folder.iterdir() if entry.is_dir()], _MOST_FOLDERS)
        path = folder / group / (name + SUFFIX)
        new = path.with_name(f"{uuid.uuid4().hex}.new")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)
            raise
        _drop_oldest(list((folder / group).iterdir()), _MOST_TEXTS if group.startswith(TEXTS) else _MOST_KERNELS)


def _drop_oldest(entries: list[Path], most: int) -> None:
    """Keep so many files or folders, those written or read last. Who still uses one that is gone compiles again."""
    if len(entries) <= most:
        return
    entries.sort(key=lambda entry: entry.stat().st_mtime)
    for entry in entries[: len(entries) - most]:
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
