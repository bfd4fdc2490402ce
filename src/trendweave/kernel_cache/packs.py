"""Compiled kernels in one piece, for other machines with the same compiler and processor."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from trendweave.kernel_cache.files import KERNELS, SUFFIX, is_kept, read_trusted, write_kept
from trendweave.kernel_cache.folders import kernel_folders
from trendweave.kernel_cache.machine import machine_key

#: The name of a file that brings kernels, beside the modules of a package.
PACK = "kernels.pack"


def list_kernels(prefixes: tuple[str, ...] | None = None) -> set[str]:
    """Names of files with code for this machine, of all kernels or of those with these prefixes."""
    return {path.name for path in _files_of(prefixes)}


def pack_kernels(prefixes: tuple[str, ...]) -> bytes:
    """The code of these kernels for this machine, as a zip."""
    packed = io.BytesIO()
    seen: set[str] = set()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files_of(prefixes):
            content = None if path.name in seen else read_trusted(path)
            if content is not None:
                seen.add(path.name)
                # The same bytes for the same kernels, whenever they are packed.
                archive.writestr(zipfile.ZipInfo(f"{path.parent.name}/{path.name}"), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files_of(prefixes: tuple[str, ...] | None) -> Iterator[Path]:
    wanted = None if prefixes is None else frozenset(prefixes)
    for folder in kernel_folders():
        for path in sorted((folder / f"{KERNELS}{machine_key()}").glob("*" + SUFFIX)):
            if wanted is None or path.name.rpartition("-")[0] in wanted:
                yield path


def unpack_kernels(packed: bytes) -> int:
    """Keep those kernels of a pack that run here and are not kept yet; returns how many.

    The pack is trusted as the program is that brings it.
    """
    machine, new = machine_key(), 0
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            for entry in archive.namelist():
                group, _, name = entry.partition("/")
                name = name.removesuffix(SUFFIX)
                # Names of no other form: nothing is written outside of the folder.
                if group.endswith(f"-{machine}") and "/" not in group + name and not is_kept(group, name):
                    write_kept(group, name, archive.read(entry))
                    new += 1
    except zipfile.BadZipFile:
        return 0
    return new
