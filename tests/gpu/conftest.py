"""The card of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gpu.simulator import SimulatedCard, why_not
from trendweave.gpu.card import using_card


@pytest.fixture(scope="session")
def card() -> SimulatedCard:
    """A simulated card; the test is skipped where there is nothing to simulate one with."""
    if reason := why_not():
        pytest.skip(reason)
    return SimulatedCard()


@pytest.fixture
def gpu(card: SimulatedCard) -> Iterator[SimulatedCard]:
    """The same as the card that `device="gpu"` finds."""
    with using_card(card):
        yield card
