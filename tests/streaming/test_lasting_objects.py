"""Objects of Python workers that Spark need not look at after every task."""

from __future__ import annotations

import gc

import pytest
from pyspark import TaskContext

from trendweave.runners.spark.workers import set_lasting_objects_aside


def test_they_are_set_aside_once_for_each_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskContext, "get", lambda: object())
    try:
        set_lasting_objects_aside("a test")
        aside = gc.get_freeze_count()
        assert aside > 1_000
        further = [[number] for number in range(10_000)]
        set_lasting_objects_aside("a test")
        # Some of all others come and go meanwhile.
        assert gc.get_freeze_count() < aside + len(further) // 2, "what later tasks make is garbage some day"
        set_lasting_objects_aside("another test")
        assert gc.get_freeze_count() > aside + len(further) // 2
    finally:
        gc.unfreeze()


def test_outside_of_workers_nothing_happens() -> None:
    before = gc.get_freeze_count()
    set_lasting_objects_aside("a test outside")
    assert gc.get_freeze_count() == before
