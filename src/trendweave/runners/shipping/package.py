"""One file that takes this package to executors: for `--py-files`, `addArtifacts(..., pyfile=True)` and the like.

It is a zip whose bytes follow from what is in it, and from nothing else.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from trendweave.runners.shipping.package_files import (
    FINGERPRINT,
    KERNELS,
    OWN,
    fingerprint,
    read_metadata,
    read_package,
)

_LARK = "lark"
#: What tasks import and cannot take from a zip.
INSTALLED = ("numba", "numpy", "pandas", "pyarrow")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")
#: The earliest time that a zip can tell; that of packing would make every zip another one.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o644 << 16
_LEVEL = 9
#: Python keeps no byte code for modules that it reads from a zip, so that every worker would compile hundreds of them
#: as it starts, which takes longer than most queries. The same bytes for the same sources: in a process that has loaded
#: nothing else, as what is interned shows in byte code, and with a fixed order of sets. Python takes it unseen where
#: its version is the same, and else the source.
_COMPILE = """
import _imp, pickle, sys
from importlib import _bootstrap_external as system
sources = pickle.load(sys.stdin.buffer)
compiled = {}
for path, source in sources.items():
    code = compile(source, path, "exec", dont_inherit=True)
    told = _imp.source_hash(system._RAW_MAGIC_NUMBER, source)
    compiled[path + "c"] = bytes(system._code_to_hash_pyc(code, told, False))
sys.stdout.buffer.write(pickle.dumps(compiled))
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that executors need."""

    name: str
    #: Versions that will do, such as `>=18`; empty where that is not known.
    wanted: str
    #: The version here; empty where it is missing.
    here: str

    def __str__(self) -> str:
        return f"{self.name}{self.wanted}" + (f" ({self.here} here)" if self.here else " (missing here)")


def list_requirements() -> tuple[Requirement, ...]:
    """What executors need, with the versions that this package asks for and those that are installed here."""
    try:
        declared = requires(OWN) or []
    except PackageNotFoundError:
        declared = []  # not installed here either: versions of this machine are known to work
    wanted = {found[1]: found[2].strip() for text in declared if (found := _REQUIREMENT.match(text)) is not None}
    return tuple(Requirement(name, wanted.get(name, ""), _version(name)) for name in INSTALLED)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class Package:
    """A package file for executors, and what they need besides.

    Attributes:
        path: Its path.
        size: Its size in bytes.
        files: The number of files in it, without byte code.
        fingerprint: Identifies the code in it.
        python: The version of Python whose byte code is in it, such as "3.12"; another one compiles its sources.
        lark: Whether Lark is in it.
        kernels: Bytes of the compiled kernels in it; 0 where it has none.
        needs: What executors must have installed.
    """

    path: Path
    size: int
    files: int
    fingerprint: str
    python: str
    lark: bool
    kernels: int
    needs: tuple[Requirement, ...]

    def __str__(self) -> str:
        """What is inside, what else executors need, and how it is handed to them."""
        inside = f"{OWN} {self.fingerprint}" + (" and lark" if self.lark else "") + f", {self.files} files"
        compiled = f"byte code of Python {self.python}"
        compiled += f", kernels for CPUs like this one ({_megabytes(self.kernels)})" if self.kernels else ", no kernels"
        needs = [str(one) for one in self.needs] + ([] if self.lark else [_LARK])
        return "\n".join(
            [
                f"{self.path}, {_megabytes(self.size)}",
                f"  inside          {inside}",
                f"  compiled        {compiled}",
                f"  executors need  Python {self.python}, {', '.join(needs)}",
                f"  spark-submit    spark-submit --py-files {self.path} your_program.py",
                f'  Spark Connect   spark.addArtifacts("{self.path}", pyfile=True)',
            ]
        )


def write_package(path: Path, lark: bool, kernels: Mapping[str, bytes]) -> Package:
    """Write a package file.

    Args:
        path: Where to write it; an existing file is replaced.
        lark: Whether to include Lark, which parses queries.
        kernels: Files of compiled code to include, by their names.
    """
    own = read_package(OWN)
    told = fingerprint(own)
    contents = own | read_metadata(OWN) | ({**read_package(_LARK), **read_metadata(_LARK)} if lark else {})
    files = len(contents)
    contents |= compile_sources({name: data for name, data in contents.items() if _is_module(name, contents)})
    contents |= {FINGERPRINT: told.encode()} | {f"{KERNELS}{name}": data for name, data in kernels.items()}
    write_archive(path, contents)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    size, of_kernels = path.stat().st_size, sum(map(len, kernels.values()))
    return Package(path, size, files, told, python, lark, of_kernels, list_requirements())


def _is_module(path: str, contents: Mapping[str, bytes]) -> bool:
    """Whether it is imported: what has no package around it is a file to be copied, such as a template."""
    return path.endswith(".py") and f"{path.rpartition('/')[0]}/__init__.py" in contents


def _megabytes(number: int) -> str:
    return f"{number / 1_000_000:.1f} MB"


def compile_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Byte code of this version of Python, by the paths at which Python looks for it in a zip."""
    done = subprocess.run(
        [sys.executable, "-S", "-s", "-c", _COMPILE],
        input=pickle.dumps(dict(sources)),
        stdout=subprocess.PIPE,
        check=True,
        env={"PYTHONHASHSEED": "0"},
    )
    compiled: dict[str, bytes] = pickle.loads(done.stdout)
    return compiled


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
