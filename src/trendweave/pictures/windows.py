"""Numbers per window: a column of a result over time, with a line per group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.pictures.axes import name_days
from trendweave.pictures.charts import Series, make_line_chart
from trendweave.pictures.picture import Picture
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
    """

    value: str
    groups: tuple[str, ...] = ()
    title: str = ""
    unit: str = ""
    zone: str | None = None


def make_window_chart(result: pa.Table, chart: WindowChart) -> Picture:
    """Draw one column of a result: a line per group over the windows, with a gap where a window has no number.

    Args:
        result: Rows of an aggregate query with a window.
        chart: What is drawn.

    Raises:
        OptionError: The result has no windows, or the zone is not known.
    """
    moment = next((name for name in ("window_start", "time") if name in result.schema.names), None)
    if moment is None or result.column(moment).null_count:
        message = "a result without windows has nothing to be drawn along"
        raise OptionError([Problem("TW414", message, "add WITHIN to the query, or draw it in another way")])
    kind = result.schema.field(moment).type
    zone, zone_name = choose_zone(kind, chart.zone)
    moments = seconds_of_column(result.column(moment))
    columns = [map(str, result.column(name).to_pylist()) for name in chart.groups]
    names = [", ".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * len(moments)
    lines: dict[str, list[tuple[float, float]]] = {}
    rows = zip(names, moments, result.column(chart.value).to_pylist(), strict=True)
    for name, when, there in sorted(rows, key=lambda row: row[1]):
        if there is not None and _is_finite(number := _read_number(there)):
            lines.setdefault(name, []).append((when, number))
    series = [Series(name, tuple(points)) for name, points in lines.items()]
    label = "start of the window" if moment == "window_start" else "time"
    y_label = f"{chart.value} ({chart.unit})" if chart.unit else chart.value
    if pa.types.is_timestamp(kind):
        days = name_days(min(moments), max(moments), zone) if moments else ""
        label = ", ".join(filter(None, [label, days, zone_name]))
        return make_line_chart(series, chart.title, label, y_label, in_time=True, zone=zone)
    return make_line_chart(series, chart.title, f"{label} (seconds)", y_label, in_time=False)


def draw_trends_per_window(result: pa.Table, value: str, group: str | None, title: str) -> str:
    """Draw one column of a result as SVG; see `make_window_chart`.

    Args:
        result: Rows of an aggregate query with a window.
        value: The column to draw.
        group: The column that tells lines apart; None for one line.
        title: What stands above the chart.
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
