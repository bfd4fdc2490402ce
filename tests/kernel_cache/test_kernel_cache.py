"""Compiled code is told apart by what it was made of, shared by all who have the same, and read from nobody else."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import pytest

import trendweave
from trendweave.kernel_cache import cache, files, folders, handed_over, machine, packs
from trendweave.kernel_cache.cache import prefixes_of_kernels
from trendweave.kernel_cache.kernel import Kernel
from trendweave.kernel_cache.packs import pack_kernels, unpack_kernels
from trendweave.kernel_cache.sources import fingerprint_of
from trendweave.runners import kernel_packs
from trendweave.runners.warm_up import WarmUp

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")

PACKAGE = Path(trendweave.__file__).parent


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


def hits(kernel: Any) -> tuple[int, int]:
    return sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "kept"))
    # What a user has whose folder cannot be written to is another test's.
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "nowhere"))
    for known in (folders._folders, folders._can_write):
        known.cache_clear()
    yield tmp_path / "kept" / "kernels"
    for known in (folders._folders, folders._can_write):
        known.cache_clear()


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
        environment = os.environ | {folders.VARIABLE: str(tmp_path / "own")}
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


ADD = written("def add(x): return x + FIRST", FIRST=1)
TWICE = "def twice(x): return add(x) + add(x)"


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (written("def twice(x):\n    # why\n    return add(x) + add(x)", add=numba.njit(ADD)), True),
        (written("def twice(x):\n    'What it does.'\n    return add(x) + add(x)", add=numba.njit(ADD)), True),
        (written("def twice(y): return add(y) - add(y)", add=numba.njit(ADD)), False),
        (written(TWICE, add=numba.njit(written("def add(x): return x + FIRST", FIRST=2))), False),
        (written(TWICE, add=numba.njit(written("def add(x): return FIRST + x", FIRST=1))), False),
        (written(TWICE, add=numba.njit(ADD, inline="always")), False),
        (written(TWICE, add=written("def add(x): return x + FIRST", FIRST=1)), False),
    ],
    ids=["comment", "docstring", "statement", "constant of what it calls", "what it calls", "inlined", "not compiled"],
)
def test_a_fingerprint_changes_with_what_a_function_is_made_of(changed: Any, same: bool) -> None:
    before = written(TWICE, add=numba.njit(ADD))
    assert (fingerprint_of(changed) == fingerprint_of(before)) == same


def test_functions_that_call_each_other_have_fingerprints() -> None:
    odd = written("def odd(n): return n > 0 and even(n - 1)")
    odd.__globals__["even"] = written("def even(n): return n == 0 or odd(n - 1)", odd=odd)
    assert len(fingerprint_of(odd)) == 64


def test_the_order_of_the_fields_of_a_named_tuple_counts(folder: Path) -> None:
    """Code reads the fields of an argument by their number."""
    for fields in (("low", "high"), ("high", "low")):
        pair = namedtuple("Pair", fields)
        assert made(written("def low_of(pair): return pair.low"))(pair(**{"low": 1, "high": 2})) == 1
    assert len(kept(folder)) == 2


def test_another_machine_compiles_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    made()(21)
    monkeypatch.setattr(cache, "machine_key", lambda: "another machine")
    other = made()
    assert other(21) == 42
    assert hits(other) == (0, 1)


def test_a_machine_is_its_compiler_and_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {machine._digest(("x86_64", "znver3", "+avx2")), machine._digest(("x86_64", "znver4", "+avx2"))}
    keys.add(machine._digest(("x86_64", "znver3", "")))
    machine._digest.cache_clear()
    monkeypatch.setattr(numba, "__version__", "0.0")
    keys.add(machine._digest(("x86_64", "znver3", "+avx2")))
    machine._digest.cache_clear()
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


class Gone:
    """A type that a later version of the kernels does not have any more."""


def test_code_that_names_types_of_another_version_is_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_arguments", lambda signature: Gone)
    made()(21)
    monkeypatch.undo()
    again = made()
    monkeypatch.delattr(sys.modules[__name__], "Gone")
    assert again(21) == 42


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
    assert files.read_trusted(path) is not None
    status = os.stat_result((0o100600, 0, 0, 1, 4711, 0, 9, 0, 0, 0))
    assert not folders.is_trusted(status)
    assert folders.is_trusted(os.stat_result((0o100644, 0, 0, 1, 0, 0, 9, 0, 0, 0))), "what root has made is for all"
    monkeypatch.setattr(files.os, "fstat", lambda descriptor: status)
    assert files.read_trusted(path) is None


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    kernel = made()
    assert kernel(21) == 42
    assert kept(folder) == []


def test_where_there_is_no_folder_a_temporary_one_of_the_user_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "nowhere").mkdir()
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "file" / "kept"))
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
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "file" / "kept"))
    assert made()(21) == 42
    assert folders.kernel_folder() is None
    assert kept(tmp_path) == []


def test_the_folder_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(folders.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert folders.kernel_folders()[0] == Path("/caches/trendweave/kernels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folders.kernel_folders()[0] == Path("/home/somebody/.cache/trendweave/kernels")


def test_texts_are_kept_by_what_they_say(folder: Path) -> None:
    for text in ("one text", "one text", "another text"):
        kernel = Kernel(double, {}, text).compiled
        assert kernel(21) == 42
    assert len(kept(folder)) == 2


def test_the_oldest_texts_leave(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_TEXTS", 3)
    for number in range(5):
        files.write_kept("texts-here", f"text{number}", b"code")
        os.utime(folder / "texts-here" / f"text{number}.kernel", (number, number))
    assert [path.stem for path in kept(folder)] == ["text2", "text3", "text4"]


def test_what_is_used_is_not_old(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_FOLDERS", 3)
    monkeypatch.setattr(files, "_MOST_TEXTS", 2)
    for number, group in enumerate(["first", "second", "texts-here"]):
        files.write_kept(group, "kernel", b"code")
        os.utime(folder / group, (number, number))
    assert files.read_kept("first", "kernel") == b"code"
    files.write_kept("new", "kernel", b"code")
    assert {path.parent.name for path in kept(folder)} == {"first", "texts-here", "new"}

    files.write_kept("texts-here", "later", b"code")
    for number, name in enumerate(["kernel", "later"]):
        os.utime(folder / "texts-here" / f"{name}.kernel", (number, number))
    assert files.read_kept("texts-here", "kernel") == b"code"
    files.write_kept("texts-here", "last", b"code")
    assert {path.stem for path in (folder / "texts-here").iterdir()} == {"kernel", "last"}


def test_what_is_used_may_belong_to_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_kept("group", "kernel", b"code")

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "utime", refuse)
    assert files.read_kept("group", "kernel") == b"code"


def test_a_pack_gives_kernels_to_the_same_machine_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made()(21)
    made(written("def double(x): return 3 * x"))(21)
    prefixes = (made()._cache.prefix,)
    assert set(prefixes) < set(prefixes_of_kernels())
    packed = pack_kernels(prefixes)
    assert packed == pack_kernels(prefixes)
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "elsewhere"))
    assert unpack_kernels(packed) == 1
    assert unpack_kernels(packed) == 0
    there = made()
    assert there(21) == 42
    assert hits(there) == (1, 0)


def test_a_pack_of_another_machine_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made()(21)
    packed = pack_kernels(prefixes_of_kernels())
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "elsewhere"))
    monkeypatch.setattr(packs, "machine_key", lambda: "another")
    assert unpack_kernels(packed) == 0
    assert unpack_kernels(b"no zip at all") == 0


def test_a_pack_writes_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    made()(21)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"../../x-{machine.machine_key()}/name.kernel", b"code")
        archive.writestr(f"x-{machine.machine_key()}/../../name.kernel", b"code")
    assert unpack_kernels(content.getvalue()) == 0
    assert not list(tmp_path.rglob("name.kernel"))


def test_kernels_are_the_same_in_a_copy_and_in_a_zip(tmp_path: Path) -> None:
    """Wherever the package lies, and in whatever order sets are read."""
    copy = tmp_path / "copy" / "trendweave"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    zipped = shutil.make_archive(str(tmp_path / "zipped"), "zip", copy.parent)
    program = "import trendweave.kernels; from trendweave.kernel_cache import cache; print(cache.prefixes_of_kernels())"
    found = set()
    for number, where in enumerate((PACKAGE.parent, copy.parent, zipped)):
        variables = os.environ | {"PYTHONPATH": str(where), "PYTHONHASHSEED": str(number + 1)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert len(next(iter(found))) > 300


def test_a_module_that_was_sent_along_brings_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--py-files` and `addArtifacts` send it: a zip among the modules of a process whose folder is empty."""
    made()(21)
    kernel_packs.write_kernel_module(tmp_path / "kernels.zip")
    monkeypatch.setenv(folders.VARIABLE, str(tmp_path / "elsewhere"))
    monkeypatch.syspath_prepend(str(tmp_path / "kernels.zip"))
    handed_over.take_handed_over.cache_clear()
    there = made()
    assert there(21) == 42
    assert hits(there) == (1, 0)
    handed_over.take_handed_over.cache_clear()
    sys.modules.pop(handed_over.MODULE)


def test_a_warm_up_tells_what_it_did() -> None:
    done = WarmUp(kernels=120, compiled=3, seconds=4.26, folder=Path("/caches/kernels"))
    assert str(done) == "120 kernels, 3 of them new, in 4.3 s, kept in /caches/kernels"
    assert "nothing is kept" in str(WarmUp(0, 0, 4.26, None))
