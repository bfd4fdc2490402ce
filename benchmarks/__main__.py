"""Run workloads: `python -m benchmarks [NAME ...] [--list] [--repeat N] [--write] [--compare TREE]`."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import traceback
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.devices import card_name
from benchmarks.registry import ResultRow, all_workloads
from benchmarks.results_file import COLUMNS, cells, machine, write_section

#: Groups of workloads that use a card where there is one.
_ON_CARDS = ("operators-", "devices-")


def main() -> int:
    # What is measured is compiled code, from the first call on and in all processes; `cold-start` measures the rest.
    os.environ.setdefault("TRENDWEAVE_COMPILE", "always")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Run named workloads and show the numbers."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads to run (default: all)")
    parser.add_argument("--list", action="store_true", help="show the workloads and stop")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="measured calls per number (default: 5)")
    parser.add_argument("--write", action="store_true", help="also record the numbers in benchmarks/RESULTS.md")
    parser.add_argument(
        "--compare", type=Path, metavar="TREE", help="compare with another source tree; names are cases or their groups"
    )
    options = parser.parse_args()
    if options.repeat < 1:
        parser.error("--repeat must be at least 1")

    console = Console()
    if options.compare is not None:
        return run_comparison(parser, options, console)
    workloads = all_workloads()
    if unknown := sorted(set(options.names) - set(workloads)):
        parser.error(f"unknown workload {', '.join(unknown)}; known: {', '.join(workloads) or 'none'}")
    if options.list:
        for name, function in workloads.items():
            print(f"{name}: {inspect.getdoc(function) or 'no description'}")
        return 0
    if not workloads:
        console.print("There are no workloads yet.")

    failed = []
    card = card_name()
    console.print(machine(card), highlight=False)
    for name in options.names or workloads:
        try:
            rows = workloads[name](options.repeat)
        except Exception:  # a wrong answer in one workload must not hide the numbers of the others
            traceback.print_exc()
            failed.append(name)
            continue
        console.print(as_table(name, rows))
        if options.write:
            write_section(name, rows, card=card if name.startswith(_ON_CARDS) else None)
    if failed:
        console.print(f"Failed, and not recorded: {', '.join(failed)}", style="red")
    return 1 if failed else 0


def run_comparison(parser: argparse.ArgumentParser, options: argparse.Namespace, console: Console) -> int:
    """Compare two source trees; 1 where a case is slower than it may be."""
    from benchmarks.comparison.compare import choose_cases, compare, find_source

    try:
        before, names = find_source(options.compare), choose_cases(options.names)
    except (FileNotFoundError, KeyError) as error:
        parser.error(str(error.args[0]))
    if options.list:
        print("\n".join(names))
        return 0
    console.print(machine(), highlight=False)
    rows = []
    for row in compare(before, names, options.repeat):
        rows.append(row)
        console.print(f"{row['name']}: {row['value']:.3f} x  ({row['note']})", highlight=False, markup=False)
    if options.write:
        write_section("before and after", rows)
    return 0 if all(row["met"] for row in rows) else 1


def as_table(name: str, rows: list[ResultRow]) -> Table:
    table = Table(*COLUMNS, title=name)
    for row in rows:
        # Escaped, as Rich would take the brackets of a pattern for its own markup.
        table.add_row(*map(escape, cells(row)), style="red" if row["met"] is False else None)
    return table


if __name__ == "__main__":
    sys.exit(main())
