"""Which process runs which tests, where there are several: one begins with those on Spark, the others with the rest.

Tests on Spark often wait, for tasks to start and for micro-batches, so beside them there is to be one that computes.
One JVM then serves most of them, and what it has learned is not learned again. Kernels are compiled by the tests that
first need them. Whoever has nothing left takes what the others have.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadFileScheduling

#: The name that xdist gives to its first process.
FIRST = "gw0"
ON_SPARK = " on Spark"
_TESTS = Path(__file__).parent
#: Folders of tests that run no kernel.
_WITHOUT_KERNELS = ("architecture", "datasets", "language", "pictures", "planning", "reference", "tools")
#: Files in them that do, and would wait for the first process.
_WITH_KERNELS = ("test_what_runs.py", "test_cards.py")


class SparkBesideTheRest(LoadFileScheduling):
    """Whole files, but for cases of a file that run in several places: those on Spark are a unit of their own."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return file + ON_SPARK if is_on_spark(file, nodeid) else file

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(choose(list(self.workqueue), first=node.gateway.id == FIRST), last=False)
        super()._assign_work_unit(node)


def is_on_spark(file: str, nodeid: str) -> bool:
    """By what is written in the file, as the process that deals tests out has their names alone."""
    return "spark_batch" in nodeid or _names_spark(file)


@cache
def _names_spark(file: str) -> bool:
    path = _TESTS.parent / file
    return path.exists() and "pytest.mark.spark" in path.read_text(encoding="utf-8")


def choose(units: list[str], first: bool) -> str:
    """The next unit for the first process or for another. Among equals the order is kept."""
    return min(units, key=lambda unit: (unit.endswith(ON_SPARK) != first, _turn(unit)))


def _turn(unit: str) -> int:
    """Long ones on Spark before short ones, so that all end at about one time; kernels as late as possible."""
    soon = ("streaming", "cluster", "cli") if unit.endswith(ON_SPARK) else _WITHOUT_KERNELS
    late = ("features",) if unit.endswith(ON_SPARK) else ()
    folder = unit.split("/")[1]
    return 0 if folder in soon and not unit.endswith(_WITH_KERNELS) else 2 if folder in late else 1
