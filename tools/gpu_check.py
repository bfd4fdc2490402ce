"""Check all kernels on a card against the CPU, time them, and write what was found.

    python -m tools.gpu_check benchmarks/GPU_REPORT.md

It needs a card and CuPy, and none of the packages that tests need. What is checked and timed lies in `gpu_checks`.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import pkgutil
import platform
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from tools import gpu_checks
from trendweave.gpu.card import Card, find_card, using_card


@dataclass
class Report:
    """Findings, as they come."""

    lines: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    section: str = ""
    failed: int = 0

    def __call__(self, name: str, **cells: object) -> None:
        """Add one finding; `ok` tells whether it is as it should be."""
        self.failed += cells.get("ok", True) is not True
        self.lines.append((self.section, name, cells))
        print(f"{name}: {_shown(cells)}", flush=True)

    def add(self, other: Report) -> None:
        """Findings of another process."""
        self.lines += other.lines
        self.failed += other.failed

    def write(self, card: Card, seconds: float) -> str:
        """All of it as Markdown."""
        outcome = "all as on the CPU" if not self.failed else f"{self.failed} FAILED"
        text = [
            "# Kernels on a graphics card",
            "",
            f"Written by `python -m tools.gpu_check` on {card.name}, {platform.processor() or platform.machine()}, "
            f"Python {platform.python_version()}, in {seconds:.0f} s: {outcome}.",
        ]
        for section in dict.fromkeys(section for section, _, _ in self.lines):
            text += ["", f"## {section}", "", "| what | found |", "| --- | --- |"]
            text += [f"| {name} | {_shown(cells)} |" for own, name, cells in self.lines if own == section]
        return "\n".join(text) + "\n"


def _shown(cells: dict[str, object]) -> str:
    parts = []
    for name, value in cells.items():
        if value is None:
            continue
        if name == "ok":
            parts.append("as on the CPU" if value is True else "**FAILED**")
        else:
            parts.append(f"{name.replace('_', ' ')} {_number(value)}")
    return ", ".join(parts)


def _number(value: object) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    for unit, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def find_checks(only: Sequence[str] = ()) -> list[ModuleType]:
    """The modules of `gpu_checks`, or some of them."""
    names = [module.name for module in pkgutil.iter_modules(gpu_checks.__path__)]
    return [importlib.import_module(f"tools.gpu_checks.{name}") for name in names if not only or name in only]


def run(card: Card, report: Report, only: Sequence[str] = (), scale: float = 1.0, figures: bool = True) -> None:
    """Do all checks, and take all figures, one after the other."""
    for module in find_checks(only):
        run_one(card, report, module, "check", scale)
        if figures:
            run_one(card, report, module, "measure", scale)


def run_one(card: Card, report: Report, module: ModuleType, kind: str, scale: float) -> None:
    """The checks, or the figures, of one module."""
    name = module.__name__.rpartition(".")[2]
    report.section = f"{name.capitalize()}: {'compared' if kind == 'check' else 'timed'}"
    began = time.perf_counter()
    with using_card(card):
        try:
            getattr(module, kind)(card, report, scale)
        except Exception:
            report(f"{name}.{kind}", ok=False, error=traceback.format_exc(limit=-3).replace("\n", "; "))
    report("all of it", seconds=time.perf_counter() - began)


def check_apart(name: str, scale: float) -> Report:
    """The checks of one module in a process of its own, as most of their time goes into compiling for the CPU."""
    report = Report()
    run_one(find_card(), report, find_checks([name])[0], "check", scale)
    return report


def run_side_by_side(report: Report, path: Path, only: Sequence[str], scale: float, figures: bool) -> None:
    """Do the checks of all modules at the same time, then take figures, one after the other. The report is written
    whenever something was found."""
    card, began, modules = find_card(), time.perf_counter(), find_checks(only)
    names = [module.__name__.rpartition(".")[2] for module in modules]
    with ProcessPoolExecutor(len(modules), multiprocessing.get_context("spawn")) as processes:
        for found in as_completed([processes.submit(check_apart, name, scale) for name in names]):
            report.add(found.result())
            path.write_text(report.write(card, time.perf_counter() - began), encoding="utf-8")
    for module in modules if figures else ():
        run_one(card, report, module, "measure", scale)
        path.write_text(report.write(card, time.perf_counter() - began), encoding="utf-8")


def main() -> int:
    """The command."""
    os.environ.setdefault("TRENDWEAVE_COMPILE", "always")  # figures are of compiled code
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="the file to write")
    parser.add_argument("--only", nargs="*", default=(), help="modules of gpu_checks")
    parser.add_argument("--scale", type=float, default=1.0, help="sizes, as a part of the full ones")
    parser.add_argument("--no-figures", action="store_true", help="compare alone")
    given = parser.parse_args()
    report = Report()
    run_side_by_side(report, given.report, given.only, given.scale, not given.no_figures)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
