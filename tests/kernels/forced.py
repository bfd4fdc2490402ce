"""Ways of summing that are forced upon kernels, instead of those that conditions name: all of them give the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from trendweave import kernels
from trendweave.kernels import Condition, Results, Rows, Template, Way

WAYS = (None, "general", "scan")


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
