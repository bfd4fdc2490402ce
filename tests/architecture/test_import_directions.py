"""Imports follow the pipeline: language -> planning -> kernels -> runners, and pyspark stays in its rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "trendweave"

# A room may not import these rooms of the package.
FORBIDDEN_ROOMS = {
    "language": {"planning", "sharing", "kernels", "runners"},
    "planning": {"kernels", "runners"},
}
# A kernel is arrays in, arrays out. `typing` is there for NamedTuples of arrays.
ALLOWED_IN_KERNELS = {
    "__future__",
    "collections.abc",
    "hashlib",
    "math",
    "numba",
    "numpy",
    "pathlib",
    "typing",
    "trendweave.kernels",
}
MAY_IMPORT_PYSPARK = ("runners/spark/*.py", "cli/*.py", "store/*")


def imported_names(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of all that a module imports, also inside functions.

    `from a import b` counts as `a.b`: whether `b` is a module or a name in one, the direction is the same.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                # One dot is the package the module lies in, each further dot one package up.
                parents = module.split(".")
                package = parents[: len(parents) - node.level + is_package]
                base = ".".join([*package, base] if base else package)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def complaint(path: str, name: str) -> str | None:
    """Why the file at `path` (relative to the package) may not import `name`; None if it may."""
    room = path.split("/")[0].removesuffix(".py")
    if any(is_within(name, f"trendweave.{other}") for other in FORBIDDEN_ROOMS.get(room, ())):
        return f"{room} must not import {name}"
    if room == "kernels" and not any(is_within(name, allowed) for allowed in ALLOWED_IN_KERNELS):
        return f"kernels must not import {name}"
    if is_within(name, "pyspark") and not any(fnmatch(path, allowed) for allowed in MAY_IMPORT_PYSPARK):
        return f"only {' and '.join(MAY_IMPORT_PYSPARK)} may import {name}"
    return None


def violations(package: Path) -> list[str]:
    """All imports against the rules, as `file:line: reason`."""
    found = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package).as_posix()
        is_package = file.name == "__init__.py"
        inner = file.relative_to(package).parent if is_package else file.relative_to(package).with_suffix("")
        module = ".".join(["trendweave", *inner.parts])
        for line, name in imported_names(ast.parse(file.read_text(encoding="utf-8")), module, is_package):
            if reason := complaint(path, name):
                found.append(f"{path}:{line}: {reason}")
    return found


def test_package_follows_the_directions() -> None:
    assert (PACKAGE / "__init__.py").exists(), "looking at the wrong folder would find no violation"
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("language/parser.py", "from ..planning import plan", "language must not import trendweave.planning.plan"),
        ("language/parser.py", "from .. import kernels", "language must not import trendweave.kernels"),
        ("language/__init__.py", "from ..sharing import x", "language must not import trendweave.sharing.x"),
        ("planning/plan.py", "import trendweave.runners.local", "planning must not import trendweave.runners.local"),
        (
            "planning/plan.py",
            "def f():\n    from trendweave import kernels",
            "planning must not import trendweave.kernels",
        ),
        ("kernels/fenwick.py", "import pyarrow", "kernels must not import pyarrow"),
        ("kernels/fenwick.py", "from trendweave.errors import X", "kernels must not import trendweave.errors.X"),
        ("runners/local.py", "import pyspark", "only runners/spark/*.py and cli/*.py and store/* may import pyspark"),
        ("events.py", "from pyspark.sql import DataFrame", "may import pyspark.sql.DataFrame"),
    ],
)
def test_planted_violation_is_found(tmp_path: Path, path: str, source: str, expected: str) -> None:
    plant(tmp_path, path, source)

    (found,) = violations(tmp_path)

    line = source.count("\n") + 1
    assert found.startswith(f"{path}:{line}: ")
    assert found.endswith(expected)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("language/parser.py", "import lark\nfrom ..errors import LanguageError\nfrom .syntax_tree import Query"),
        ("language/__init__.py", "from . import parser\nfrom .printer import show"),
        ("planning/plan.py", "from ..language.syntax_tree import Query"),
        ("kernels/fenwick.py", "import math\nimport numpy as np\nfrom numba import njit\nfrom .numbers import add"),
        ("runners/spark/batch.py", "from pyspark.sql import DataFrame\nfrom ...kernels import fenwick"),
        ("store/segments.py", "import pyspark"),
    ],
)
def test_imports_along_the_pipeline_pass(tmp_path: Path, path: str, source: str) -> None:
    plant(tmp_path, path, source)

    assert violations(tmp_path) == []


def plant(package: Path, path: str, source: str) -> None:
    file = package / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")


def test_importing_the_package_loads_neither_pyspark_nor_numba() -> None:
    program = "import sys, trendweave; print(sorted({'pyspark', 'numba'} & set(sys.modules)))"

    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "[]"
