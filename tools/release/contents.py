"""What lies in a wheel and in a source distribution, and what should."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PACKAGE = "src/"
#: Files of the repository that are for nobody else.
_LEFT_OUT = (".ci/",)


def list_tracked() -> list[str]:
    """The files of the repository."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in found.stdout.split("\0") if name and (ROOT / name).exists()]


def compare_wheel(wheel: Path, tracked: Iterable[str]) -> list[str]:
    """What is wrong with a wheel: it has the files of the package, and its own notes, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        notes = {name.rpartition("/")[2] for name in archive.namelist() if ".dist-info/" in name}
    expected = {name.removeprefix(_PACKAGE) for name in tracked if name.startswith(_PACKAGE)}
    return [*_tell_differences(found, expected), *_tell_missing(notes, ("METADATA", "LICENSE", "entry_points.txt"))]


def compare_sources(archive: Path, tracked: Iterable[str]) -> list[str]:
    """What is wrong with a source distribution: it has all of the repository, so that it can be built and tested."""
    with tarfile.open(archive) as files:
        found = {member.name.partition("/")[2] for member in files.getmembers() if member.isfile()} - {"PKG-INFO"}
    return _tell_differences(found, {name for name in tracked if not name.startswith(_LEFT_OUT)})


def _tell_differences(found: set[str], expected: set[str]) -> list[str]:
    unexpected = [f"{name} should not be there" for name in sorted(found - expected)]
    return [*_tell_missing(found, sorted(expected)), *unexpected]


def _tell_missing(found: set[str], expected: Iterable[str]) -> list[str]:
    return [f"{name} is missing" for name in expected if name not in found]
