"""Which tests a process takes next: one begins with Spark, the others with what needs neither Spark nor kernels."""

from __future__ import annotations

from tests.scheduling import ON_SPARK, choose, is_on_spark

UNITS = [
    "tests/features/test_runs.py",
    f"tests/features/test_runs.py{ON_SPARK}",
    "tests/language/test_printing.py",
    f"tests/spark/test_rules.py{ON_SPARK}",
    f"tests/streaming/test_restarts.py{ON_SPARK}",
]


def dealt(units: list[str], first: bool) -> list[int]:
    """The places of the units, in the order in which one process would take them all."""
    left, order = units[:], []
    while left:
        taken = choose(left, first)
        left.remove(taken)
        order.append(units.index(taken))
    return order


def test_one_begins_with_spark_and_the_others_end_with_it() -> None:
    assert dealt(UNITS, first=True) == [4, 3, 1, 2, 0]
    assert dealt(UNITS, first=False) == [2, 0, 4, 3, 1]


def test_cases_on_spark_are_told_by_their_file_or_by_their_place() -> None:
    assert is_on_spark("tests/spark/test_rules.py", "tests/spark/test_rules.py::test_any")
    assert is_on_spark("tests/features/test_runs.py", "tests/features/test_runs.py::test_any[1-spark_batch]")
    assert not is_on_spark("tests/features/test_runs.py", "tests/features/test_runs.py::test_any[local-1]")
