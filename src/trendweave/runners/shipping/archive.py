"""A zip whose bytes follow from what is in it, and from nothing else."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

#: The earliest time that a zip can tell; that of packing would make every zip another one.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o644 << 16
_LEVEL = 9


def write_archive(path: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a zip, in order of their paths. It is there when all of it is written, or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for name, data in sorted(contents.items()):
                entry = zipfile.ZipInfo(name, _NO_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = _READABLE
                entry.create_system = 3  # Unix, wherever it is written
                archive.writestr(entry, data, compresslevel=_LEVEL)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
