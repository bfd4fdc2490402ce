"""Calls of two source trees in turn, each tree in a process of its own, and the ratio of their times."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from benchmarks.comparison import cases
from benchmarks.registry import ResultRow
from benchmarks.result_rows import at_most, duration

#: How much slower than before a call may be.
MOST = 1.05
#: Seconds that the timed calls of one tree should take together, and how many there are at most.
_ENOUGH, _MOST_CALLS = 3.0, 60
HERE = Path(__file__).resolve().parents[2] / "src"


class Session:
    """One tree's process, which answers one line at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, line: str) -> float:
        """Send a line and give the number that comes back."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        for said in self._process.stdout:
            word, _, number = said.partition(" ")
            if word in ("rows", "seconds"):
                return float(number)
        raise RuntimeError(f"the process ended at: {line}")


def find_source(tree: Path) -> Path:
    """Find the folder that holds the package `trendweave`: the tree itself, or `src` in it."""
    found = [folder.resolve() for folder in (tree, tree / "src") if (folder / "trendweave" / "__init__.py").is_file()]
    if not found:
        raise FileNotFoundError(f"there is no package trendweave in {tree} or in its folder src")
    return found[0]


def choose_cases(names: Sequence[str]) -> list[str]:
    """All cases that bear one of the names, or belong to a group of that name; without names, all of them."""
    known = {*cases.CASES, *(one.group for one in cases.CASES.values())}
    if unknown := sorted(set(names) - known):
        raise KeyError(f"unknown case {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    return [name for name, one in cases.CASES.items() if not names or name in names or one.group in names]


def compare(before: Path, names: Sequence[str], repeat: int) -> Iterator[ResultRow]:
    """Compare the tree of this file with an earlier one.

    Args:
        before: The folder of the earlier package.
        names: Cases, as `choose_cases` gives them.
        repeat: Timed calls of each tree, at least; there are more of short ones.

    Yields:
        One row per case, whose value is the time of a call now, as a multiple of that before.
    """
    by_group: dict[str, list[str]] = {}
    for name in names:
        by_group.setdefault(cases.CASES[name].group, []).append(name)
    for members in by_group.values():
        with ExitStack() as stack:
            trees = {
                "before": stack.enter_context(_start(before)),
                "after": stack.enter_context(_start(HERE)),
            }
            for name in members:
                yield _compare_case(name, trees, repeat)


def _compare_case(name: str, trees: dict[str, Session], repeat: int) -> ResultRow:
    rows = {which: session.ask(f"prepare {name}") for which, session in trees.items()}
    if rows["before"] != rows["after"]:
        raise AssertionError(f"{name}: {rows['before']:,.0f} rows before, {rows['after']:,.0f} after")
    seconds: dict[str, list[float]] = {which: [] for which in trees}
    # Short calls are timed more often: one that takes a few milliseconds is at the mercy of a single interruption.
    shortest = min(session.ask(f"run {name}") for session in trees.values())
    calls = max(repeat, min(_MOST_CALLS, math.ceil(_ENOUGH / max(shortest, 1e-6))))
    for number in range(calls):
        # Now one is first, now the other, so that a machine that slows down or speeds up favours neither.
        for which in list(trees) if number % 2 == 0 else list(trees)[::-1]:
            seconds[which].append(trees[which].ask(f"run {name}"))
    ratio = median(seconds["after"]) / median(seconds["before"])
    fastest = min(seconds["after"]) / min(seconds["before"])
    times = f"{duration(median(seconds['before']))} before, {duration(median(seconds['after']))} after"
    note = f"{times}; fastest calls {fastest:.3f} x; {calls} calls each, {rows['after']:,.0f} rows"
    return at_most(name, f"{cases.CASES[name].group}: time after / before", ratio, "x", MOST, note)


@contextmanager
def _start(source: Path) -> Iterator[Session]:
    environment = dict(os.environ, PYTHONPATH=str(source), PYSPARK_PYTHON=sys.executable)
    java = Path(sys.prefix) / "java-home"
    if "JAVA_HOME" not in environment and java.exists():
        environment["JAVA_HOME"] = java.read_text().strip()
    # -P: the folder of the script is no place to import from.
    command = [sys.executable, "-P", str(Path(cases.__file__).resolve()), str(source)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=source
    ) as process:
        # Leaving closes its input, at which it ends by itself.
        yield Session(process)
