"""RESULTS.md: one section per workload between markers, each with the machine it ran on."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from benchmarks.registry import ResultRow

RESULTS = Path(__file__).parent / "RESULTS.md"
COLUMNS = ("name", "metric", "value", "unit", "bar", "met", "note")
_PACKAGES = ("trendweave", "numpy", "numba", "pyarrow", "pyspark", "cupy", "cupy-cuda12x", "cupy-cuda13x")
_HEADING = "# Benchmark results\n\nWritten by `make bench`; each section is the last run of one workload.\n"


def cells(row: ResultRow) -> list[str]:
    """The row as text, in the order of COLUMNS."""
    value = f"{row['value']:,.0f}" if abs(row["value"]) >= 1000 else f"{row['value']:.4g}"
    met = {True: "yes", False: "no", None: ""}[row["met"]]
    return [row["name"], row["metric"], value, row["unit"], row["bar"] or "", met, row["note"]]


def write_section(workload: str, rows: Sequence[ResultRow], file: Path = RESULTS, card: str | None = None) -> None:
    """Replace the section of this workload, or append it if there is none. `card`: the one that it used."""
    workload = section_name(workload, card)
    begin, end = f"<!-- begin {workload} -->", f"<!-- end {workload} -->"
    table = [COLUMNS, ["---"] * len(COLUMNS), *(cells(row) for row in rows)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in table]
    section = "\n".join([begin, f"## {workload}", "", machine(card), "", *lines, end])

    text = file.read_text(encoding="utf-8") if file.exists() else _HEADING
    old = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    # A function as replacement, so that backslashes in a note stay what they are.
    text, replaced = old.subn(lambda _: section, text)
    if not replaced:
        text = f"{text.rstrip()}\n\n{section}\n"
    file.write_text(text, encoding="utf-8")


def section_name(workload: str, card: str | None) -> str:
    """The section of a workload: where it used a card, one of its own, which runs without a card leave alone."""
    return workload if card is None else f"{workload} with {card}"


def machine(card: str | None = None) -> str:
    """What a reader needs to compare numbers; neither host name nor paths. `card` is the graphics card, if any."""
    versions = [f"{name} {version}" for name in _PACKAGES if (version := _installed(name))]
    parts = [
        _processor(),
        f"{os.cpu_count()} cores",
        f"{_memory_gib():.0f} GiB memory",
        *([card] if card else []),
        f"Python {platform.python_version()}",
        *versions,
        datetime.datetime.now(datetime.UTC).date().isoformat(),
    ]
    return "Machine: " + ", ".join(parts)


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    information = Path("/proc/cpuinfo")  # Linux; elsewhere Python's own answer must do
    if information.exists() and (model := re.search(r"model name\s*:\s*(.+)", information.read_text())):
        return model[1].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
