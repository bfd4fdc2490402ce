"""Ways in which loops sum whole numbers."""

import pytest

from tests.kernels.forced import TIERS, force_tier


@pytest.fixture(params=TIERS)
def whole_numbers(request, monkeypatch):
    """Sum by Python's integers, as compiled loops do (checked words, and limbs where these do not do), or from the very
    text that is compiled."""
    force_tier(request.param, monkeypatch)


@pytest.fixture(params=TIERS[:2])
def large_whole_numbers(request, monkeypatch):
    """The same without the text that is compiled, which takes minutes where numbers have hundreds of limbs."""
    force_tier(request.param, monkeypatch)
