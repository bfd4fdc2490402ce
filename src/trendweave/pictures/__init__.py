"""A result as SVG or HTML."""

from trendweave.pictures.charts import Series, line_chart, trends_per_window, write_picture

__all__ = ["Series", "line_chart", "trends_per_window", "write_picture"]
