"""A result as SVG or HTML."""

from __future__ import annotations

import warnings
from typing import Any

from trendweave.pictures.charts import Series, draw_lines, write_picture
from trendweave.pictures.shapes import describe_trend
from trendweave.pictures.time_line import TimeLine, draw_time_line
from trendweave.pictures.trends import draw_trends
from trendweave.pictures.windows import draw_trends_per_window

__all__ = [
    "Series",
    "TimeLine",
    "describe_trend",
    "draw_lines",
    "draw_time_line",
    "draw_trends",
    "draw_trends_per_window",
    "write_picture",
]

_RENAMED = {"line_chart": "draw_lines", "trends_per_window": "draw_trends_per_window"}


def __getattr__(name: str) -> Any:
    """Names that were given up, for those who still use them."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is called {_RENAMED[name]} now", DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]
