"""`trendweave package`: what is inside, that it works by itself, and that it is the same file each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import trendweave
from tests.cli import command
from tests.cluster.bare_python import make_python
from trendweave import Package
from trendweave.runners.shipping.package import list_requirements
from trendweave.runners.shipping.package_files import fingerprint, own_fingerprint, read_package

ROOT = Path(__file__).parents[2]


def names_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_all_files_of_the_package_are_inside(shipped: Package) -> None:
    sources = ROOT / "src"
    on_disk = (file for file in (sources / "trendweave").rglob("*") if file.is_file() and file.suffix != ".pyc")
    expected = {file.relative_to(sources).as_posix() for file in on_disk if "__pycache__" not in file.parts}
    assert {"trendweave/language/grammar.lark", "trendweave/gpu/cuda/joins.cu", "trendweave/py.typed"} <= expected

    found = {name for name in names_in(shipped.path) if name.startswith("trendweave/")}

    modules = {name for name in expected if name.endswith(".py") and "/template/" not in name}
    assert found - expected == {f"{name}c" for name in modules} | {"trendweave/FINGERPRINT"}
    assert expected - found == set()


def test_lark_and_its_licence_travel(shipped: Package) -> None:
    names = names_in(shipped.path)
    assert {"lark/lark.py", "lark/grammars/common.lark"} <= names
    assert any(re.fullmatch(r"lark-[\d.]+\.dist-info/licenses/LICENSE", name) for name in names)
    assert "lark" not in str(shipped).partition("executors need")[2]


_BY_ITSELF = """
import sys
from pathlib import Path
import trendweave
from trendweave.cli.failure import Failure
from trendweave.cli.commands import serve, write_project
from trendweave.gpu.card import cuda_text
from trendweave.language.operator_texts import read_condition
assert sys.argv[1] in trendweave.__file__, trendweave.__file__
assert sys.argv[1] in sys.modules["lark"].__file__
for text in ("RETURN COUNT(*) PATTERN A+", "FROM X DEFINE P AS x > 1 RETURN SITUATIONS"):
    trendweave.query(text)
read_condition("x > 1")
write_project(Path(sys.argv[3]))
assert "__global__" in cuda_text("rows")
try:
    serve()
except Failure as failure:
    assert "cannot be served from a zip" in str(failure)
print(trendweave.package(sys.argv[2]).fingerprint, trendweave.__version__)
"""


def test_the_package_works_by_itself_and_writes_the_same_file(shipped: Package, tmp_path: Path) -> None:
    """In a Python without Trendweave and Lark, and with another order of sets."""
    copy = tmp_path / "copy.zip"
    environment = {"PYTHONPATH": str(shipped.path), "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [make_python(tmp_path / "python"), "-c", _BY_ITSELF, str(shipped.path), str(copy), str(tmp_path / "new")],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [shipped.fingerprint, trendweave.__version__]
    assert copy.read_bytes() == shipped.path.read_bytes()


def test_the_fingerprint_is_that_of_the_code(shipped: Package) -> None:
    files = read_package("trendweave")
    assert shipped.fingerprint == own_fingerprint() == fingerprint(files)
    assert fingerprint(files | {"trendweave/errors.py": b"pass"}) != shipped.fingerprint
    assert fingerprint(files | {"trendweave/language/grammar.lark": b""}) != shipped.fingerprint


def test_requirements_are_those_of_the_project() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*declared["dependencies"], *declared["optional-dependencies"]["spark"]]
    names = {re.split(r"[<>=\[]", one)[0] for one in asked}
    assert {one.name for one in list_requirements()} <= names
    assert all(one.here for one in list_requirements())


def test_the_command_tells_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With kernels, which other tests compile, and without Lark."""
    monkeypatch.setattr("trendweave.shipping.warm_up", lambda: None)
    monkeypatch.setattr("trendweave.kernel_cache.cache.used_kernels", lambda: {"loop.kernel": bytes(200_000)})
    path = tmp_path / "trendweave.zip"
    done = command.trendweave("package", "--out", str(path), "--with-kernels", "--without-lark")
    assert done.returncode == 0
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"byte code of Python {python}, kernels for CPUs like this one (0.2 MB)" in done.stdout
    assert f"spark-submit --py-files {path} your_program.py" in done.stdout
    assert re.search(r"executors need .*, lark$", done.stdout, re.MULTILINE)
    assert not any(name.startswith("lark") for name in names_in(path))
    assert "trendweave/kept/loop.kernel" in names_in(path)


def test_the_command_tells_why_nothing_was_written(tmp_path: Path) -> None:
    done = command.trendweave("package", "--out", str(tmp_path / "nowhere" / "trendweave.zip"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"there is no folder {tmp_path / 'nowhere'}\n  hint: ")
    assert os.listdir(tmp_path) == []
