"""Both ways in which loops sum whole numbers."""

import pytest

from tests.kernels.forced import TIERS, force_tier


@pytest.fixture(params=TIERS[:2])
def whole_numbers(request, monkeypatch):
    """Sum by Python's integers, or as compiled loops do: checked words, and limbs where these do not do."""
    force_tier(request.param, monkeypatch)


@pytest.fixture(params=TIERS)
def every_tier(request, monkeypatch):
    """The same, and from the very text that is compiled."""
    force_tier(request.param, monkeypatch)
