"""Compiled kernels for other machines of the same kind: what a driver gives to its executors."""

from __future__ import annotations

import zipfile
from pathlib import Path

from trendweave.kernel_cache.cache import prefixes_of_kernels
from trendweave.kernel_cache.handed_over import MODULE
from trendweave.kernel_cache.packs import PACK, unpack_kernels
from trendweave.kernel_cache.packs import pack_kernels as pack_files

__all__ = ["pack_kernels", "unpack_kernels", "write_kernel_module"]


def pack_kernels() -> bytes:
    """All kernels that are compiled on this machine, as a zip; `trendweave.warm_up()` compiles what is missing."""
    return pack_files(prefixes_of_kernels())


def write_kernel_module(path: str | Path) -> None:
    """Write them as a zip that Spark sends to its executors as it does with modules (`--py-files`, `addArtifacts`).

    Processes that have it among their modules take from it what they would have to compile.
    """
    text = f'"""Compiled kernels of Trendweave, in {PACK}."""\n'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{MODULE}/__init__.py"), text)
        archive.writestr(zipfile.ZipInfo(f"{MODULE}/{PACK}"), pack_kernels())
