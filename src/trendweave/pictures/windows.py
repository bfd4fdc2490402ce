"""Numbers per window: a column of a result over time, with a line per group, or bars of one window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from trendweave.pictures.axes import name_days, write_day_and_time
from trendweave.pictures.bars import Bar, make_bar_chart
from trendweave.pictures.charts import Series, make_line_chart
from trendweave.pictures.frames import make_empty
from trendweave.pictures.picture import Picture
from trendweave.pictures.shapes import write_key
from trendweave.pictures.times import choose_zone, seconds_of_column


@dataclass(frozen=True, slots=True)
class WindowChart:
    """Which columns are drawn, and how they are called.

    Attributes:
        value: The column that is drawn.
        groups: The columns that tell lines apart; none for one line.
        title: What stands above the chart.
        unit: What values are counted in; empty where that is not known.
        zone: The zone of the times that are marked; None for that of the column.
        label: What the column holds; its name unless given.
    """

    value: str
    groups: tuple[str, ...] = ()
    title: str = ""
    unit: str = ""
    zone: str | None = None
    label: str = ""

    @property
    def about(self) -> str:
        """What is written beside an axis."""
        return (self.label or self.value) + (f" ({self.unit})" if self.unit else "")


def make_window_chart(result: pa.Table, chart: WindowChart) -> Picture:
    """Draw one column of a result: a line per group over the windows, with a gap where a window has no number, or a bar
    per group where there is one window, or none.

    Args:
        result: Rows of an aggregate query.
        chart: What is drawn.

    Raises:
        OptionError: The zone is not known.
    """
    moment = "window_start" if "window_start" in result.schema.names else "time"
    kind = result.schema.field(moment).type
    zone, zone_name = choose_zone(kind, chart.zone)
    columns = [map(write_key, result.column(name).to_pylist()) for name in chart.groups]
    names = [", ".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * result.num_rows
    if not has_moments(result):
        return _make_bars(result, chart, names)
    moments = seconds_of_column(result.column(moment))
    lines: dict[str, list[tuple[float, float]]] = {}
    rows = zip(names, moments, result.column(chart.value).to_pylist(), strict=True)
    for name, when, there in sorted(rows, key=lambda row: row[1]):
        if there is not None and _is_finite(number := _read_number(there)):
            lines.setdefault(name, []).append((when, number))
    windows = dict(zip(names, _name_windows(result, moments), strict=True))
    series = [Series(name, tuple(points), windows[name]) for name, points in lines.items()]
    label = "start of the window" if moment == "window_start" else "time"
    if pa.types.is_timestamp(kind):
        days = name_days(min(moments), max(moments), zone) if moments else ""
        label = ", ".join(filter(None, [label, days, zone_name]))
        return make_line_chart(series, chart.title, label, chart.about, in_time=True, zone=zone)
    return make_line_chart(series, chart.title, f"{label} (seconds)", chart.about, in_time=False)


def _name_windows(result: pa.Table, starts: list[float]) -> list[str]:
    """Tell the windows of rows apart: by the query that they are of, or else by their length."""
    if "query" in result.column_names:
        return [str(name) for name in result.column("query").to_pylist()]
    if "window_end" not in result.column_names or result.column("window_end").null_count:
        return [""] * result.num_rows
    ends = seconds_of_column(result.column("window_end"))
    return [f"{float(end - start):.6g}" for start, end in zip(starts, ends, strict=True)]


def has_moments(result: pa.Table) -> bool:
    """Whether rows have several times: those of one window over all events have none, and one is no line."""
    moments = result.column("window_start" if "window_start" in result.column_names else "time")
    return moments.null_count == 0 and len(moments.unique()) > 1


def _make_bars(result: pa.Table, chart: WindowChart, names: list[str]) -> Picture:
    """Draw the rows of one window, or of none."""
    values = zip(names, result.column(chart.value).to_pylist(), strict=True)
    numbers = [(name, _read_number(value)) for name, value in values if value is not None]
    bars = [Bar(name, number) for name, number in numbers if _is_finite(number)]
    if not bars:
        return make_empty(chart.title, "no rows" if not result.num_rows else f"{chart.value} is NULL in all rows")
    return make_bar_chart(bars, chart.title, chart.about, _name_window(result, chart.zone))


def _name_window(result: pa.Table, wanted: str | None) -> str:
    """When the one window of a result is, where it has edges."""
    edges = [name for name in ("window_start", "window_end", "time") if name in result.column_names]
    if any(result.column(name).null_count for name in edges):
        return ""
    zone, zone_name = choose_zone(result.schema.field(edges[0]).type, wanted)
    seconds = [seconds_of_column(result.column(name).slice(0, 1))[0] for name in edges]
    if pa.types.is_timestamp(result.schema.field(edges[0]).type):
        return " ".join(filter(None, [" to ".join(write_day_and_time(one, zone) for one in seconds), zone_name]))
    return "second " + " to ".join(f"{one:,.10g}" for one in seconds)


def draw_trends_per_window(result: pa.Table, value: str, group: str | None, title: str) -> str:
    """Draw one column of a result as SVG; see `make_window_chart`.

    Args:
        result: Rows of an aggregate query with a window.
        value: The column to draw.
        group: The column that separates the lines; None for one line.
        title: The title above the chart.
    """
    return make_window_chart(result, WindowChart(value, () if group is None else (group,), title)).svg()


def _read_number(value: Any) -> float:
    """Counts stay whole numbers, as they may be beyond every float; texts are counts, too."""
    number = Decimal(value) if isinstance(value, str) else value
    if isinstance(number, int | float):
        return number
    return int(number) if number == int(number) else float(number)


def _is_finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)
