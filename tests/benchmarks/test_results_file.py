"""Recording a workload rewrites its own section of RESULTS.md and leaves the rest alone."""

from __future__ import annotations

import platform
from pathlib import Path

from benchmarks.registry import ResultRow, all_workloads
from benchmarks.results_file import machine, write_section
from benchmarks.timing import interleaved


def row(value: float, note: str = "") -> ResultRow:
    return ResultRow(name="stock", metric="rate", value=value, unit="events/s", bar=">= 5", met=value >= 5, note=note)


def test_section_is_replaced_and_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    write_section("first", [row(1)], file)
    write_section("second", [row(2)], file)
    file.write_text(file.read_text() + "\nWritten by hand.\n")

    write_section("first", [row(1_234_567, note=r"a|b \1")], file)

    text = file.read_text()
    assert text.count("<!-- begin first -->") == text.count("<!-- end first -->") == 1
    assert r"| stock | rate | 1,234,567 | events/s | >= 5 | yes | a\|b \1 |" in text
    assert "| stock | rate | 2 | events/s | >= 5 | no |  |" in text
    assert "| stock | rate | 1 |" not in text
    assert text.endswith("\nWritten by hand.\n")


def test_a_run_without_a_card_leaves_what_one_did_alone(tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    write_section("operators-filter", [row(7)], file, card="A Card")
    write_section("operators-filter", [row(8)], file)
    write_section("operators-filter", [row(9)], file)

    text = file.read_text()
    assert "## operators-filter with A Card\n" in text
    assert " GiB memory, A Card, Python" in text
    assert "| 7 | events/s" in text
    assert "| 9 | events/s" in text
    assert "| 8 | events/s" not in text


def test_machine_line_names_no_host_and_no_path() -> None:
    assert f"Python {platform.python_version()}" in machine()
    assert str(Path.home()) not in machine()
    assert platform.node() not in machine().split()


def test_interleaved_calls_in_turn_after_one_warm_up() -> None:
    calls: list[str] = []

    medians = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeat=2)

    assert calls == ["a", "b"] * 3
    assert set(medians) == {"a", "b"}


def test_every_workload_can_be_imported() -> None:
    """Workloads look at internals as well, whose names may change."""
    assert {"greta-q1", "check-deposits", "interval_adaptive", "spark_batch", "spark_stream"} <= set(all_workloads())
