"""Compiled code is told apart by what it was made of, shared by all who have the same, and read from nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import pytest

import trendweave
from trendweave import shipping
from trendweave.kernel_cache import cache, files
from trendweave.kernel_cache.kernel import Kernel, load_text
from trendweave.kernels import packs
from trendweave.shipping import WarmUp

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")

PACKAGE = Path(trendweave.__file__).parent


DOUBLE = "@loop\ndef double(x):\n    return 2 * x\n"


def double(x: int) -> int:
    return 2 * x


def made(function: Callable[..., Any] = double) -> Any:
    """A kernel as a new process would make it."""
    return Kernel(function, {}).compiled


def written(text: str, **names: Any) -> Any:
    """The function that a text defines, in a module of the package."""
    names |= {"__name__": "trendweave.written"}
    exec(text, names)
    return next(one for one in reversed(names.values()) if isinstance(one, FunctionType))


@pytest.fixture(scope="module")
def all_kernels() -> list[Kernel]:
    """Those of all modules that make kernels."""
    found = list[Kernel]()
    for path in sorted(PACKAGE.rglob("*.py")):
        if "trendweave.kernels.compiling" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            found += [value for value in vars(import_module(name)).values() if isinstance(value, Kernel)]
    assert len(found) > 50
    return found


def hits(kernel: Any) -> tuple[int, int]:
    return sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(files.VARIABLE, str(tmp_path / "kept"))
    # What a user has whose folder cannot be written to is another test's.
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    files._can_write.cache_clear()
    yield tmp_path / "kept" / "kernels"
    files._can_write.cache_clear()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


def test_the_second_of_two_loads(folder: Path) -> None:
    first, second = made(), made()
    assert first(21) == 42
    assert second(21) == 42
    assert hits(first) == (0, 1)
    assert hits(second) == (1, 0)
    (path,) = kept(folder)
    # Whoever may look into the folder may use what is there, and nobody else may write.
    for made_here in (path, path.parent, folder):
        assert made_here.stat().st_mode & 0o022 == 0


#: Allocates, calls functions of C, sorts, raises: what is kept has to find all of that where nothing is compiled.
LOADED_ALONE = """
import sys
import numpy as np
from trendweave.kernel_cache.kernel import Kernel

def spread(values):
    if values.size == 0:
        raise ValueError("nothing")
    found = np.empty(values.size)
    for place in range(values.size):
        found[place] = np.log2(values[place]) ** 1.5 + np.fmod(values[place], 3.0)
    found.sort()
    return found, [len(found)], np.random.random() < 2

def total(values):
    return spread(values)[0].sum()

spread = Kernel(spread, {"nogil": True})
total = Kernel(total, {"nogil": True})

def hits(kernel):
    return sum(kernel.compiled.stats.cache_hits.values())

print(spread.compiled(np.arange(1.0, 9.0))[0].sum(), hits(spread))
try:
    spread.compiled(np.empty(0))
except ValueError as error:
    print(error)
print("numba.np.arraymath" in sys.modules)
print(total.compiled(np.arange(1, 9)) == total.compiled(np.arange(1.0, 9.0)), hits(total))
"""


def test_a_process_that_compiles_nothing_is_not_made_ready_to_compile(tmp_path: Path) -> None:
    def run(program: str) -> list[str]:
        command = [sys.executable, "-c", program]
        environment = os.environ | {files.VARIABLE: str(tmp_path / "own")}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()

    first, loads = run(LOADED_ALONE), run(LOADED_ALONE)
    value = first[0].split()[0]
    assert first == [f"{value} 0", "nothing", "True", "True 0"]
    assert loads == [f"{value} 1", "nothing", "False", "True 2"]
    # Code that is loaded and code that is compiled go together in one process.
    for kept_here in kept(tmp_path / "own"):
        if "total" in kept_here.name:
            kept_here.unlink()
    assert run(LOADED_ALONE) == [f"{value} 1", "nothing", "False", "True 0"]


def test_other_types_and_other_functions_of_the_same_name_are_other_code(folder: Path) -> None:
    assert made(written("def double(x): return 2 * x"))(4) == 8
    assert made(written("def double(x): return 2 * x"))(4.5) == 9.0
    assert made(written("def double(x): return 3 * x"))(4) == 12
    assert len(kept(folder)) == 3


TWICE = "def twice(x): return add(x) + add(x)"


def made_of(text: str = TWICE, add: str = "def add(x): return x + FIRST", first: int = 1, **options: Any) -> str:
    called = Kernel(written(add, FIRST=first), options)
    return Kernel(written(text, add=called), {}).compiled._made_of


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (made_of("def twice(x):\n    # why\n    return add(x) + add(x)"), True),
        (made_of("def twice(x):\n    'What it does.'\n    return add(x) + add(x)"), True),
        (made_of("def twice(x): return add(x) - add(x)"), False),
        (made_of(first=2), False),
        (made_of(add="def add(x): return FIRST + x"), False),
        (made_of(inline="always"), False),
    ],
    ids=["comment", "docstring", "statement", "constant of what it calls", "what it calls", "inlined"],
)
def test_a_change_is_seen_in_what_a_function_is_made_of(changed: str, same: bool) -> None:
    assert (changed == made_of()) == same


def test_functions_that_call_each_other_are_told_apart() -> None:
    odd = Kernel(written("def odd(n): return n > 0 and even(n - 1)"), {})
    odd.py_func.__globals__["even"] = Kernel(written("def even(n): return n == 0 or odd(n - 1)", odd=odd), {})
    assert len(odd.compiled._made_of) == 64


def test_kernels_name_nothing_of_ours_but_kernels_and_what_has_rules(all_kernels: list[Kernel]) -> None:
    """All else would change unseen."""
    for kernel in all_kernels:
        for value in cache._named_by(kernel.py_func).values():
            if not isinstance(value, Kernel):
                module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
                assert not module.startswith("trendweave") or module == packs.__name__, (kernel, value)


def test_the_order_of_the_fields_of_a_named_tuple_counts(folder: Path) -> None:
    """Code reads the fields of an argument by their number."""
    for fields in (("low", "high"), ("high", "low")):
        pair = namedtuple("Pair", fields)
        assert made(written("def low_of(pair): return pair.low"))(pair(**{"low": 1, "high": 2})) == 1
    assert len(kept(folder)) == 2


def test_another_machine_compiles_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    made()(21)
    monkeypatch.setattr(cache, "_machine", lambda: "another machine")
    other = made()
    assert other(21) == 42
    assert hits(other) == (0, 1)


def test_a_machine_is_its_compiler_and_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    describe = cache._describe_machine.__wrapped__
    keys = {describe(("x86_64", *of)) for of in [("znver3", "+avx2"), ("znver4", "+avx2"), ("znver3", "")]}
    monkeypatch.setattr(numba, "__version__", "0.0")
    keys.add(describe(("x86_64", "znver3", "+avx2")))
    assert len(keys) == 4


@pytest.mark.parametrize("damage", [b"", b"something else"], ids=["cut off", "changed"])
def test_a_damaged_file_is_no_code(folder: Path, damage: bytes) -> None:
    made()(21)
    (path,) = kept(folder)
    path.write_bytes(path.read_bytes()[:-20] + damage)
    again, later = made(), made()
    assert again(21) == 42
    assert hits(again) == (0, 1)
    assert later(21) == 42
    assert hits(later) == (1, 0)


def test_code_that_names_types_of_another_version_is_no_code(folder: Path) -> None:
    made()(21)
    (path,) = kept(folder)
    files.write_kept(path.name, b"cno_such_module\nGone\n.")
    again = made()
    assert again(21) == 42
    assert hits(again) == (0, 1)


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_what_others_may_write_is_not_read(folder: Path, mode: int) -> None:
    made()(21)
    (path,) = kept(folder)
    path.chmod(mode)
    other = made()
    assert other(21) == 42
    assert hits(other) == (0, 1)


def test_what_others_have_written_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made()(21)
    (path,) = kept(folder)
    assert files.read_kept(path.name) is not None
    status = os.stat_result((0o100600, 0, 0, 1, 4711, 0, 9, 0, 0, 0))
    assert not files.is_trusted(status)
    assert files.is_trusted(os.stat_result((0o100644, 0, 0, 1, 0, 0, 9, 0, 0, 0))), "what root has made is for all"
    monkeypatch.setattr(files.os, "fstat", lambda descriptor: status)
    assert files.read_kept(path.name) is None


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    kernel = made()
    assert kernel(21) == 42
    assert kept(folder) == []


def test_where_there_is_no_folder_a_temporary_one_of_the_user_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "nowhere"))
    monkeypatch.setenv(files.VARIABLE, str(tmp_path / "file" / "kept"))
    made()(21)
    second = made()
    assert second(21) == 42
    assert hits(second) == (1, 0)
    own = tmp_path / "nowhere" / f"trendweave-{os.geteuid()}"
    assert own.stat().st_mode & 0o777 == 0o700
    assert len(kept(own)) == 1


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nowhere").mkdir()
    (tmp_path / "other").mkdir()
    # Somebody else was first in the folder for temporary files.
    (tmp_path / "nowhere" / f"trendweave-{os.geteuid()}").symlink_to(tmp_path / "other")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "nowhere"))
    monkeypatch.setenv(files.VARIABLE, str(tmp_path / "file" / "kept"))
    assert made()(21) == 42
    assert files.kept_folder() is None
    assert kept(tmp_path) == []


def test_the_folder_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(files.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert files.kept_folders()[0] == Path("/caches/trendweave/kernels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert files.kept_folders()[0] == Path("/home/somebody/.cache/trendweave/kernels")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert [path.name for path in files.kept_folders()] == [f"trendweave-{os.geteuid()}"]


def test_texts_are_kept_by_what_they_say(folder: Path) -> None:
    texts = [f"@loop\ndef double(x):\n    return {number} * x\n" for number in (2, 2, 3)]
    assert [load_text(text, "double").compiled(21) for text in texts] == [42, 42, 63]
    assert len(kept(folder)) == 2


def test_what_was_not_used_for_longest_leaves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_FILES", 3)
    for number in range(3):
        files.write_kept(f"code{number}", b"code")
        os.utime(folder / f"code{number}", (number, number))
    assert files.read_kept("code0") == b"code"
    files.write_kept("code3", b"code")
    files.write_kept("code4", b"code")
    assert sorted(path.name for path in folder.iterdir()) == ["code0", "code3", "code4"]


def test_what_is_used_may_belong_to_root(monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_kept("code", b"code")

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "utime", refuse)
    assert files.read_kept("code") == b"code"


@pytest.fixture
def only_used_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "used", {})
    monkeypatch.setattr(shipping, "_ask", lambda: load_text(DOUBLE, "double").compiled(21))


@pytest.mark.usefixtures("only_used_here")
def test_a_warm_up_tells_what_it_did(folder: Path) -> None:
    found = [(done.kernels, done.compiled, done.folder) for done in (shipping.warm_up(), shipping.warm_up())]
    assert found == [(1, 1, folder), (1, 0, folder)]
    done = WarmUp(kernels=120, compiled=3, seconds=4.26, folder=Path("/caches/kernels"))
    assert str(done) == "120 kernels, 3 of them new, in 4.3 s, kept in /caches/kernels"
    assert "nothing is kept" in str(WarmUp(0, 0, 4.26, None))


SENT_ALONG = f"""
import sys; sys.path.insert(0, sys.argv[1])
import trendweave
from trendweave.kernel_cache.kernel import load_text
kernel = load_text({DOUBLE!r}, "double").compiled
print(kernel(21), sum(kernel.stats.cache_hits.values()), ".zip" in trendweave.__file__)
"""


@pytest.mark.usefixtures("only_used_here")
@pytest.mark.parametrize("how", ["a module of kernels", "the package"])
def test_a_process_finds_kernels_that_were_sent_along(how: str, tmp_path: Path) -> None:
    """As `--py-files` and `addArtifacts` send them: a zip among the modules of a process whose folder is empty."""
    made()(21)  # in the folder, and not used by what is packed
    cache.used.clear()
    path = tmp_path / "sent.zip"
    if how == "the package":
        assert shipping.package(path, kernels=True).kernels > 1_000
    else:
        shipping.warm_up(path)
        before = path.read_bytes()
        shipping.warm_up(path)
        assert path.read_bytes() == before
    program, environment = [sys.executable, "-c", SENT_ALONG, str(path)], {files.VARIABLE: str(tmp_path / "elsewhere")}
    done = subprocess.run(program, env=os.environ | environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["42", "1", str(how == "the package")]
    with zipfile.ZipFile(path) as archive:
        assert len([name for name in archive.namelist() if name.endswith(".kernel")]) == 1


NAMES_ALL = """
import importlib, pkgutil
import trendweave.kernels
from trendweave.kernel_cache.kernel import Kernel
for module in pkgutil.walk_packages(trendweave.kernels.__path__, "trendweave.kernels."):
    for value in vars(importlib.import_module(module.name)).values():
        if isinstance(value, Kernel):
            print(value.compiled.file_of(()))
"""


def test_kernels_are_the_same_in_a_copy_and_in_a_zip(tmp_path: Path) -> None:
    """Wherever the package lies, and in whatever order sets are read."""
    copy = tmp_path / "copy" / "trendweave"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    zipped = shutil.make_archive(str(tmp_path / "zipped"), "zip", copy.parent)
    found = set()
    for number, where in enumerate((PACKAGE.parent, copy.parent, zipped)):
        variables = os.environ | {"PYTHONPATH": str(where), "PYTHONHASHSEED": str(number + 1)}
        program = [sys.executable, "-c", NAMES_ALL]
        found.add(subprocess.run(program, env=variables, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1
    assert len(next(iter(found)).splitlines()) > 50
