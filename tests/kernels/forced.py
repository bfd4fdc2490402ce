"""Ways of summing that are forced upon kernels, instead of those that conditions name: all of them give the same.
And tiers of loops, instead of those that the size of the work names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from trendweave import kernels
from trendweave.kernel_cache import kernel
from trendweave.kernels import Condition, Results, Rows, Template, Way, many_queries
from trendweave.kernels.aggregates import passes
from trendweave.kernels.loops import ranking, run

WAYS = (None, "general", "scan")
TIERS = ("Python's integers", "checked", "packs")


def force_tier(tier: str, patch: pytest.MonkeyPatch) -> None:
    """Interpret all loops, as nearly each random case would have a loop of its own compiled: with Python's integers,
    with checked words and limbs as compiled loops sum, or from the very text that is compiled, in packs."""
    patch.setattr(kernel, "PATIENCE", math.inf)
    patch.setattr(kernel, "MOST_ELEMENTS", math.inf)
    patch.setattr("trendweave.kernel_cache.cache.is_kept", lambda *_: False)
    patch.setattr(run, "MOST_INTERPRETED", math.inf)
    patch.setattr(run, "PATIENCE", math.inf)
    if tier != "Python's integers":
        for module in (passes, many_queries):
            patch.setattr(module, "is_interpreted", lambda *_: False)
    if tier == "packs":
        patch.setattr(run, "MOST_INTERPRETED", -1)
        patch.setattr(run, "compiled_loop", _interpreted_loop)
        patch.setattr(run, "run_kernel", lambda function, reads, writes, _: function.interpret([*reads, *writes]))
        patch.setattr(ranking, "run_kernel", run.run_kernel)


def _interpreted_loop(text: str, name: str) -> Any:
    return lambda *arguments: run.written_loop(text, name).interpret(arguments)


def aggregate(
    rows: Rows, template: Template, transition_conditions: Any = None, *more: Any, force_way: str | None = None,
    **named: Any,
) -> Results:  # fmt: skip
    """Aggregates over all trends. None: as conditions say; "general": each transition by its own method, no totals per
    state; "scan": every predecessor is looked at."""
    if force_way is not None:
        named["folds"] = False
    conditions = by_way(transition_conditions, template, force_way)
    return kernels.aggregate(rows, template, conditions, *more, **named)


def match_starts(
    rows: Rows, template: Template, conditions: Any, selection: kernels.Selection, way: str | None
) -> np.ndarray:
    """Where the latest matches begin, by the same ways."""
    return kernels.match_starts(rows, template, by_way(conditions, template, way), selection)


def by_way(conditions: Any, template: Template, way: str | None) -> Any:
    """Conditions that name a way."""
    assert way in WAYS
    if way != "scan":
        return conditions
    known = [None] * len(template.source) if conditions is None else conditions
    return [(one or Condition())._replace(way=Way.SCAN, inexact_way=Way.SCAN) for one in known]
