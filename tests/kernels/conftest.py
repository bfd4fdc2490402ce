"""Both ways in which loops sum whole numbers."""

import math

import pytest

from trendweave.kernels import many_queries
from trendweave.kernels.aggregates import passes
from trendweave.kernels.loops import run


@pytest.fixture(params=["Python's integers", "checked"])
def whole_numbers(request, monkeypatch):
    """Sum by Python's integers, or as compiled loops do: checked words, and limbs where these do not do. All are
    interpreted, as nearly each random case would have a loop of its own compiled."""
    monkeypatch.setattr(run, "MOST_INTERPRETED", math.inf)
    monkeypatch.setattr(run, "PATIENCE", math.inf)
    if request.param == "checked":
        for module in (passes, many_queries):
            monkeypatch.setattr(module, "is_interpreted", lambda *_: False)
