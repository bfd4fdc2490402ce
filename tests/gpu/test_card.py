"""Which card is found, and what is said where there is none."""

from __future__ import annotations

import sys

import pytest

from tests.gpu.simulator import SimulatedCard
from trendweave.errors import ExecutionError
from trendweave.gpu.card import find_card, has_card, memory_told, refuse_work, using_card


def test_without_cupy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)

    with pytest.raises(ExecutionError, match=r"TW416.*CuPy.*\n.*trendweave\[gpu\]"):
        find_card()
    assert not has_card()


def test_a_task_works_on_the_card_that_it_is_given() -> None:
    first, second = SimulatedCard(), SimulatedCard()

    with using_card(first):
        assert find_card() is first
        with using_card(second):
            assert find_card() is second
        assert find_card() is first
        assert has_card()


def test_what_is_not_done_names_the_device_that_does_it() -> None:
    with pytest.raises(ExecutionError, match=r"TW422: texts are not compared(.|\n)*device='threads'"):
        refuse_work("texts are not compared on a GPU", "threads")


def test_too_little_memory_is_told() -> None:
    with (
        pytest.raises(ExecutionError, match=r"TW423: the memory of a simulated card, 16,384 MiB"),
        memory_told(SimulatedCard()),
    ):
        raise MemoryError("out of memory")
