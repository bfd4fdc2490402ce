"""One file that takes this package to executors: for `--py-files`, `addArtifacts(..., pyfile=True)` and the like."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trendweave.runners.shipping.archive import write_archive
from trendweave.runners.shipping.byte_code import compile_sources
from trendweave.runners.shipping.package_files import (
    FINGERPRINT,
    KERNELS,
    OWN,
    fingerprint,
    read_metadata,
    read_package,
)
from trendweave.runners.shipping.requirements import Requirement, list_requirements

_LARK = "lark"


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
