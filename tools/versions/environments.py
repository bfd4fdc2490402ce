"""The environments: which versions they have, and which tests are theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SPARKS = ("3.5", "4.0", "4.1", "4.2", "4.3")
PYTHONS = ("3.12", "3.13", "3.14")

_ON_SPARK = (
    "tests/spark/test_every_version.py",
    "tests/spark/test_connect.py",
    "tests/cluster/test_standalone_cluster.py",
)
_WITH_PANDAS = (
    *("tests/results", "tests/rows", "tests/test_queries.py", "tests/workloads/test_api_running.py"),
    *("tests/operators/test_odd_input.py", "tests/spark/test_every_version.py"),
)
_WITHOUT_SPARK = ("tests/language", "tests/planning", "tests/results", "tests/rows", "tests/test_queries.py")
_BASE = (
    *("lark", "numba", "numpy", "pyarrow", "rich", "typer", "PyYAML"),
    *("pandas", "polars", "hypothesis", "pytest", "pytest-timeout", "pytest-xdist"),
)


class NotInstalled(Exception):
    """The reason why an environment cannot be had, as one sentence."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Packages beside, or instead of, those of the environment that runs this; with another Python, all that tests
    need."""

    name: str
    packages: tuple[str, ...]
    tests: tuple[str, ...]
    python: str | None = None

    @property
    def folder(self) -> Path:
        return ROOT / f".venv-{self.name}"

    @property
    def executable(self) -> Path:
        return self.folder / "bin" / "python"

    def build(self) -> None:
        """Once; a folder that is not complete is made anew.

        Raises:
            NotInstalled: There is no such Python, or pip failed.
        """
        done = self.folder / ".packages-installed"
        if done.exists():
            return
        base = sys.executable if self.python is None else shutil.which(self.python)
        if base is None or subprocess.run([base, "-c", ""], capture_output=True).returncode:
            raise NotInstalled(f"there is no {self.python} on this machine")
        shutil.rmtree(self.folder, ignore_errors=True)
        _run([base, "-m", "venv", "--without-pip", str(self.folder)])
        if self.python is None:
            self._share_packages()
        constraints = self._write_constraints()
        pip = [sys.executable, "-m", "pip", "--python", str(self.executable), "install", "--quiet"]
        _run([*pip, *self.packages], PIP_CONSTRAINT=str(constraints.relative_to(ROOT)))
        done.touch()

    def _share_packages(self) -> None:
        """What this environment has, it has as well; its own come first."""
        own = Path(sysconfig.get_path("purelib", vars={"base": str(self.folder)}))
        shared = sysconfig.get_path("purelib")
        (own / "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n")

    def _write_constraints(self) -> Path:
        """Those of the project, but for the packages that are other ones here."""
        names = {package.partition("=")[0].partition(">")[0] for package in self.packages if self.python is None}
        others = names | ({"py4j"} if "pyspark" in names else set())
        lines = (ROOT / "constraints.txt").read_text().splitlines()
        file = self.folder / "constraints.txt"
        file.write_text("\n".join(line for line in lines if line.partition("==")[0] not in others) + "\n")
        return file


def list_environments() -> list[Environment]:
    return [
        *(Environment(f"spark-{version}", (f"pyspark=={version}.*",), _ON_SPARK) for version in SPARKS),
        Environment("pandas-3", ("pandas>=3,<4",), _WITH_PANDAS),
        *(Environment(f"python-{version}", _BASE, _WITHOUT_SPARK, f"python{version}") for version in PYTHONS),
    ]


def _run(command: list[str], **variables: str) -> None:
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no word of why"]
        raise NotInstalled(said[-1])
