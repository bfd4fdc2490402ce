"""The files of a package, wherever it lies: in a folder or in a zip."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.resources.abc import Traversable

from trendweave.kernel_cache.files import BROUGHT

OWN = "trendweave"
#: In packages that are shipped: what `fingerprint` says of them. Reading hundreds of files of a zip takes a while.
FINGERPRINT = f"{OWN}/FINGERPRINT"
#: In packages that are shipped with compiled kernels: their files.
KERNELS = f"{OWN}/{BROUGHT}/"
#: Made by Python and Numba beside the files of the package.
_MADE_HERE = (".pyc", ".nbi", ".nbc")


def read_package(name: str) -> dict[str, bytes]:
    """All files that a package is made of, by their paths, in order; without what shipping adds to them."""
    found = ((path, file.read_bytes()) for path, file in _walk(files(name), name))
    return dict(sorted((path, data) for path, data in found if path != FINGERPRINT and not path.startswith(KERNELS)))


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """Files below a folder with their paths, without what is hidden or made by compilers."""
    for entry in folder.iterdir():
        name = entry.name
        if name.startswith(".") or name == "__pycache__" or name.endswith(_MADE_HERE):
            continue
        if entry.is_dir():
            yield from _walk(entry, f"{path}/{name}")
        else:
            yield f"{path}/{name}", entry


def read_metadata(name: str) -> dict[str, bytes]:
    """What tells the version and the licence of a package; nothing where it was never installed."""
    try:
        about = distribution(name)
    except PackageNotFoundError:
        return {}
    folder = f"{name}-{about.version}.dist-info"
    # The long description behind the first empty line is of no use to tasks.
    texts = {"METADATA": (about.read_text("METADATA") or "").partition("\n\n")[0].rstrip("\n") + "\n"}
    if licence := about.read_text("licenses/LICENSE"):
        texts["licenses/LICENSE"] = licence
    return {f"{folder}/{path}": text.encode() for path, text in texts.items()}


@cache
def own_fingerprint() -> str:
    """Tells the code of this package from any other: a driver and its tasks work together only where it is the same."""
    shipped = files(OWN).joinpath(FINGERPRINT.rpartition("/")[2])
    return shipped.read_text(encoding="ascii") if shipped.is_file() else fingerprint(read_package(OWN))


def fingerprint(package: Mapping[str, bytes]) -> str:
    """Changes with any file of a package.

    Args:
        package: The files of the package by their paths, in order.
    """
    digest = hashlib.sha256()
    for path, data in package.items():
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:16]
