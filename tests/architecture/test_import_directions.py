"""The rooms of the package and who may import whom; pyspark stays in its rooms.

`ROOMS` is the whole rule: for every room (a folder or a module at the top of the package) the rooms it may import, at
the top of a file, inside a function or for types alone. A room that is not listed may not exist.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "trendweave"

# What each room may import beside itself. `__init__` stands for the public names of the package.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "consoles": set(),
    "stopping": set(),
    "interruptible": {"stopping"},
    "progress": {"consoles"},
    "events": {"errors"},
    "table_files": {"errors"},
    "devices": {"errors", "stopping"},
    "language": {"errors", "kernel_cache"},
    "planning": {"errors", "events", "language", "pictures"},
    "sharing": {"errors", "language", "pictures", "planning"},
    "expressions": {"errors", "events", "language", "planning.plan"},
    "kernel_cache": {"interruptible", "stopping"},
    "kernels": {"kernel_cache", "stopping"},
    "rows": {"errors", "events", "language", "planning", "expressions", "kernels", "table_files"},
    "results": {"errors", "language", "planning", "expressions", "rows", "kernels"},
    "gpu": {"errors", "devices", "kernel_cache", "language", "expressions", "kernels"},
    "programs": {
        *("errors", "language", "planning", "sharing", "expressions", "kernels", "rows", "results"),
        *("devices", "gpu", "kernel_cache", "progress"),
    },
    "runners": {
        *("errors", "events", "language", "planning", "expressions", "kernels", "rows", "results"),
        *("programs", "devices", "gpu", "kernel_cache", "pictures", "progress", "stopping", "interruptible"),
    },
    "store": {
        *("errors", "events", "language", "planning", "expressions", "kernels", "rows", "results", "programs"),
        *("runners", "devices", "pictures", "progress", "interruptible"),
    },
    "places": {
        *("errors", "devices", "kernel_cache", "pictures", "progress", "rows", "programs", "runners", "store"),
        "interruptible",
    },
    "queries": {"errors", "events", "language", "planning", "programs", "runners", "store", "places"},
    "operators": {
        *("errors", "events", "language", "planning", "rows", "programs", "runners", "store", "places", "queries"),
        "pictures",
    },
    "shipping": {"kernel_cache", "operators", "programs", "queries", "runners", "store", "workload"},
    "rules": {"errors", "events", "planning", "sharing", "results", "programs", "runners", "store", "queries"},
    "workload": {
        *("errors", "events", "planning", "sharing", "results", "runners", "places", "pictures", "queries"),
        "rules",
    },
    "showing": {
        "errors",
        "events",
        "operators",
        "pictures",
        "places",
        "planning",
        "queries",
        "rows",
        "runners",
        "workload",
    },
    "build": {"errors", "language", "queries"},
    "pictures": {"errors"},
    "datasets": {"errors"},
    # `trendweave.workload` is a function, too. The words of the language are those that a page highlights. Files, times
    # and months are read as everywhere else. What a process tells once, its worker tells each page.
    "serve": {
        *("__init__", "workload", "errors", "language", "pictures", "datasets"),
        *("rows.time_parsing", "runners.nothing_found", "store.layout.moments", "table_files"),
    },
    # What a version of Spark lacks is asked for in one place; far times of its rows are told of as elsewhere.
    "cli": {
        *("__init__", "consoles", "operators", "workload", "errors", "pictures", "datasets", "serve", "table_files"),
        *("rows.time_parsing", "runners.spark.versions", "kernel_cache.waiting", "showing"),
        # The values that options may have.
        *("devices.names", "results.types", "runners.options"),
    },
    "__init__": {
        *("errors", "planning", "programs", "queries", "rules", "runners", "showing", "store"),
        *("shipping", "workload"),
    },
    "__main__": {"cli"},
}

# Imports that are still to be mended: (file, what it imports) and what stands in the way. This list only gets shorter:
# an entry that is no longer needed fails a test.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "cli/stream.py",
        "language",
    ): "lengths of time are checked before Spark starts, and no public name does that",
}

# A kernel is arrays in, arrays out. `typing` is there for NamedTuples of arrays.
ALLOWED_IN_KERNELS = {
    *("__future__", "collections.abc", "dataclasses", "enum", "functools", "itertools", "math", "typing"),
    *("contextlib", "re", "textwrap"),  # for loops that are written as text
    "decimal",  # for sums that are beyond floats on the way
    *("llvmlite", "numba", "numpy"),
    "operator",  # for what `a + b` and `a & b` mean to Numba where these are packs
}

# Imported where something is compiled or loaded, and not before.
MAY_IMPORT_NUMBA = (
    "kernel_cache/cache.py",
    "kernels/numba_packs.py",
)

# Some modules name its types alone, in signatures; that they load nothing of it is tested below.
MAY_IMPORT_PYSPARK = (
    "runners/spark/*.py",
    "store/spark/*.py",
    "store/event_store.py",
    "cli/spark_*.py",
    "places.py",
    "queries.py",
    "operators/on_spark.py",
    "runners/options.py",
)


def imported_names(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of all that a module imports, also inside functions and for types alone.

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


def own_name(name: str) -> str | None:
    """The part of a dotted name behind the package, which begins with its room; None where it is not ours."""
    if not is_within(name, "trendweave"):
        return None
    inner = name.removeprefix("trendweave").removeprefix(".")
    # A name that is no room is one that `__init__` gives to everybody.
    return inner if inner.split(".")[0] in ROOMS else "__init__"


def complaint(path: str, name: str) -> str | None:
    """Why the file at `path` (relative to the package) may not import `name`; None if it may."""
    room = path.split("/")[0].removesuffix(".py")
    inner = own_name(name)
    if inner is None:
        if (room == "kernels" or path.startswith("store/kernels/")) and not any(
            is_within(name, allowed) for allowed in ALLOWED_IN_KERNELS
        ):
            return f"kernels must not import {name}"
        if is_within(name, "pyspark") and not any(fnmatch(path, allowed) for allowed in MAY_IMPORT_PYSPARK):
            return f"only {' and '.join(MAY_IMPORT_PYSPARK)} may import {name}"
        if (is_within(name, "numba") or is_within(name, "llvmlite")) and path not in MAY_IMPORT_NUMBA:
            return f"only {' and '.join(MAY_IMPORT_NUMBA)} may import {name}"
        return None
    if not any(is_within(inner, allowed) for allowed in {room} | ROOMS.get(room, set())):
        return f"{room} must not import {name}"
    return None


def excused(path: str, name: str) -> tuple[str, str] | None:
    """The entry of `EXCEPTIONS` that lets `path` import `name`."""
    inner = own_name(name) or name
    entries = (entry for entry in EXCEPTIONS if entry[0] == path and is_within(inner, entry[1]))
    return next(entries, None)


def sources(package: Path) -> Iterator[Path]:
    """The files of the package, without the texts of loops that are kept beside compiled kernels."""
    return (file for file in package.rglob("*.py") if "__pycache__" not in file.parts)


def complaints(package: Path) -> Iterator[tuple[str, int, str, str]]:
    """File, line, imported name and reason of all imports against the table."""
    for file in sorted(sources(package)):
        path = file.relative_to(package).as_posix()
        is_package = file.name == "__init__.py"
        inner = file.relative_to(package).parent if is_package else file.relative_to(package).with_suffix("")
        module = ".".join(["trendweave", *inner.parts])
        for line, name in imported_names(ast.parse(file.read_text(encoding="utf-8")), module, is_package):
            if reason := complaint(path, name):
                yield path, line, name, reason


def unlisted_rooms(package: Path) -> list[str]:
    """What lies at the top of the package and is not in the table."""
    folders = {file.relative_to(package).parts[0].removesuffix(".py") for file in sources(package)}
    return sorted(f"{room}: a room that ROOMS does not list" for room in folders - ROOMS.keys())


def violations(package: Path) -> list[str]:
    """All that is against the rules and has no excuse, imports as `file:line: reason`."""
    imports = [
        f"{path}:{line}: {reason}" for path, line, name, reason in complaints(package) if excused(path, name) is None
    ]
    return imports + unlisted_rooms(package)


def test_package_follows_the_table() -> None:
    assert (PACKAGE / "__init__.py").exists(), "looking at the wrong folder would find no violation"
    assert violations(PACKAGE) == []


def test_every_exception_is_still_needed() -> None:
    used = {excused(path, name) for path, _, name, _ in complaints(PACKAGE)}

    assert sorted(EXCEPTIONS.keys() - used) == [], "mended: take these entries out of EXCEPTIONS"


def test_every_room_of_the_table_is_there() -> None:
    rooms = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in sources(PACKAGE)}

    assert sorted(ROOMS.keys() - rooms) == []


def test_the_table_has_no_circle() -> None:
    done: list[str] = []
    while len(done) < len(ROOMS):
        ready = [
            room
            for room, allowed in ROOMS.items()
            if room not in done and {other.split(".")[0] for other in allowed} <= set(done)
        ]
        assert ready, f"each of {sorted(ROOMS.keys() - set(done))} waits for another"
        done += ready


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("language/parser.py", "from ..planning import plan", "language must not import trendweave.planning.plan"),
        ("language/parser.py", "from .. import kernels", "language must not import trendweave.kernels"),
        ("language/__init__.py", "from .. import query", "language must not import trendweave.query"),
        ("planning/plan.py", "import trendweave.runners.local", "planning must not import trendweave.runners.local"),
        (
            "planning/plan.py",
            "def f():\n    from trendweave import kernels",
            "planning must not import trendweave.kernels",
        ),
        (
            "results/trends.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..programs.trends import lists",
            "results must not import trendweave.programs.trends.lists",
        ),
        (
            "expressions/arrow/times.py",
            "from ...planning.planner import make_plan",
            "expressions must not import trendweave.planning.planner.make_plan",
        ),
        ("programs/trends/lists.py", "from ... import queries", "programs must not import trendweave.queries"),
        ("cli/commands.py", "from ..runners import local", "cli must not import trendweave.runners.local"),
        ("errors.py", "from . import events", "errors must not import trendweave.events"),
        ("kernels/fenwick.py", "import pyarrow", "kernels must not import pyarrow"),
        ("store/kernels/cutting.py", "import pyarrow", "kernels must not import pyarrow"),
        ("kernels/fenwick.py", "from trendweave.errors import X", "kernels must not import trendweave.errors.X"),
        ("runners/local.py", "import pyspark", f"only {' and '.join(MAY_IMPORT_PYSPARK)} may import pyspark"),
        ("cli/commands.py", "import pyspark", f"only {' and '.join(MAY_IMPORT_PYSPARK)} may import pyspark"),
        ("kernels/fenwick.py", "from numba import njit", "may import numba.njit"),
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
        ("expressions/arrow/times.py", "from ...planning.plan import Path"),
        ("kernels/fenwick.py", "import math\nimport numpy as np\nfrom .numbers import add"),
        ("kernels/numba_packs.py", "from llvmlite import ir\nfrom numba import types"),
        ("runners/spark/batch.py", "from pyspark.sql import DataFrame\nfrom ...kernels import fenwick"),
        ("cli/commands.py", "from .. import errors, query\nfrom ..pictures import charts\nfrom . import files"),
        ("cli/spark_session.py", "import pyspark"),
    ],
)
def test_imports_along_the_table_pass(tmp_path: Path, path: str, source: str) -> None:
    plant(tmp_path, path, source)

    assert violations(tmp_path) == []


@pytest.mark.parametrize("path", ["attic/boxes.py", "boxes.py"])
def test_room_that_is_not_listed_is_found(tmp_path: Path, path: str) -> None:
    plant(tmp_path, path, "")

    (found,) = violations(tmp_path)

    assert found.endswith(": a room that ROOMS does not list")


def plant(package: Path, path: str, source: str) -> None:
    file = package / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")


def test_importing_the_package_loads_neither_pyspark_nor_numba_nor_cupy() -> None:
    program = "import sys, trendweave; print(sorted({'pyspark', 'numba', 'cupy'} & set(sys.modules)))"

    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "[]"


#: What a short run of one aggregate waited for, and did not use.
UNUSED = (
    "numba.np.arraymath",
    "trendweave.kernels.loops.summaries",
    "trendweave.programs.intervals.program",
    "trendweave.programs.shared.program",
    "trendweave.programs.situated",
    "trendweave.programs.trends.lists.listing",
)
AGGREGATE = """
import sys
import pyarrow as pa
import trendweave

query = trendweave.query("RETURN COUNT(*) PATTERN A a+ WITHIN 1 minute")
print(query.run(pa.table({"time": [1, 2, 3], "type": ["A", "A", "A"]})).num_rows)
print([name for name in sys.argv[1:] if name in sys.modules])
"""


def test_an_aggregate_loads_nothing_of_other_kinds_of_queries() -> None:
    command = [sys.executable, "-c", AGGREGATE, *UNUSED]
    subprocess.run(command, capture_output=True, check=True)  # may compile, which loads more of Numba

    answer = subprocess.run(command, capture_output=True, text=True, check=True)

    assert answer.stdout.split("\n") == ["3", "[]", ""]
