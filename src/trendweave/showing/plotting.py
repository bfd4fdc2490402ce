"""Pictures of results, queries and workloads: `plot` draws them, `show` displays rows next to a picture.

Results are plain tables, so that every other tool takes them; that is why they are drawn by functions, and have no
methods of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from trendweave import places
from trendweave.errors import OptionError, Problem
from trendweave.events import AUTO
from trendweave.operators.drawing import make_chain
from trendweave.operators.operator import Piped
from trendweave.pictures.frames import make_empty
from trendweave.pictures.kinds import find_kind, find_others, find_situations
from trendweave.pictures.picture import Picture, scroll, stack
from trendweave.pictures.shapes import quote
from trendweave.pictures.tables import find_zones, write_lines, write_rows
from trendweave.pictures.time_line import TimeLine, make_time_line
from trendweave.pictures.trends import (
    OnEvents,
    describe_shown,
    find_values,
    make_trend_lanes,
    make_trends_on_events,
    spread_places,
)
from trendweave.pictures.windows import WindowChart, has_moments, make_window_chart
from trendweave.planning import IntervalPlan, Plan, SituatedPlan
from trendweave.planning.show.template_picture import make_template
from trendweave.queries import Query
from trendweave.showing.results import MOST_ROWS, choose_columns, fetch, find_text_counts, holds_logarithms
from trendweave.workload import Workload

if TYPE_CHECKING:
    from trendweave.runners.options import Options

#: Trends of which some are drawn, and rows of which a picture is drawn that nobody has asked for.
_MOST_TRENDS, _MOST_UNASKED = 20_000, 100_000


def plot(
    what: Any,
    query: Query | None = None,
    *,
    events: Any = None,
    store: Any = None,
    value: str | None = None,
    group: str | tuple[str, ...] | None = None,
    time: str = "time",
    title: str | None = None,
    unit: str = "",
    zone: str | None = None,
    **options: Unpack[Options],
) -> Picture:
    """Draw a result, a query, a workload, operators, or how stored events are read.

    Args:
        what: A result of `run`, as a table of any kind: windows become lines over time (bars if there is only one),
            listed trends lines with their events, matches and situations bars on a time line. From a Spark DataFrame
            the 10,000 earliest rows are fetched. Or a `Query` or a plan (its template), a `Workload` (what is computed
            together), an operator or a chain.
        query: The query of the result, which identifies values, groups and situations; without it they are guessed from
            the columns.
        events: With listed trends, the events in which they were found: trends are then drawn on top of them.
        store: With a query or a workload, the `trendweave.EventStore` to read: draws the cost of each access path, and
            what is read.
        value: The column to draw; for trends on events, the attribute.
        group: The column or columns that separate the lines.
        time: With events, the time column.
        title: The title of the picture.
        unit: The unit of the values, written after their name.
        zone: The zone of the time axis, such as "Europe/Berlin"; by default that of the times.
        **options: With a store, those of `run`, such as `between` and `using`. With a result, `numbers` as it was
            passed to `run`: "log2" labels logarithms of counts, which cannot always be distinguished from counts.

    Returns:
        A picture, which notebooks display; `picture.save("x.svg")`, `.html` and `.png` write it.

    Raises:
        OptionError: It cannot be drawn, or a column is missing or not numeric.
        DataError: It is not a table.
    """
    if store is not None:
        if not isinstance(what, Query | Workload):
            message = "what is read of a store is drawn for a query or a workload"
            raise OptionError([Problem("TW414", message, "plot(query, store=store)")])
        return places.draw_on_store(what._asked(store, "time", AUTO), store, options)
    planned = isinstance(what, Query | Plan | IntervalPlan | SituatedPlan | Workload | Piped)
    unknown = [name for name in options if planned or name != "numbers"]
    if unknown:
        message = f"plot has no options {', '.join(unknown)} without a store"
        raise OptionError([Problem("TW408", message, "see help(trendweave.plot)")])
    match what:
        case Query():
            return make_template(what.plan)
        case Plan() | IntervalPlan() | SituatedPlan():
            return make_template(what)
        case Workload():
            return what._draw()
        case Piped():
            return make_chain(what)
    numbers: str | None = None
    if options.get("numbers") is not None:
        from trendweave.runners.options import read_numbers

        numbers = read_numbers(options)
    return _draw_rows(what, _Wanted(query, events, value, group, time, title, unit, zone, numbers))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is wanted of a picture of rows; see `plot`."""

    query: Query | None
    events: Any
    value: str | None
    group: str | tuple[str, ...] | None
    time: str
    title: str | None
    unit: str
    zone: str | None
    numbers: str | None

    @property
    def note(self) -> str:
        """What stands below the picture."""
        return "" if self.query is None else str(self.query)


def _draw_rows(result: Any, wanted: _Wanted) -> Picture:
    fetched = fetch(result)
    rows = fetched.rows
    counts = find_text_counts(rows, wanted.query)
    kind = find_kind(rows.schema) or ("windows" if counts else None)
    of = "" if fetched.whole else f" of the first {MOST_ROWS:,} rows"
    if kind in ("trends", "matches", "situations") and not rows.num_rows:
        return stack([make_empty(wanted.title or kind.capitalize())], wanted.title or kind, wanted.note)
    if kind == "trends":
        return _draw_trends(rows, of, wanted)
    if kind in ("matches", "situations"):
        line = _see_situations(rows.schema, wanted.query)
        heading = (wanted.title or ("Matches" if kind == "matches" else "Situations")) + of
        picture = make_time_line(line, rows, heading, wanted.zone)
        return stack([picture], picture.title, wanted.note)
    if kind != "windows":
        message = "this result cannot be drawn: it has no windows, trends or situations"
        raise OptionError([Problem("TW414", message, "show(result) shows its rows")])
    column, groups = choose_columns(rows, wanted.query, wanted.value, wanted.group, counts)
    along = (" over time" if has_moments(rows) else "") + (f" by {', '.join(groups)}" if groups else "")
    told = wanted.numbers == "log2" if wanted.numbers is not None else fetched.logarithms or None
    label = f"log2 of {column}" if holds_logarithms(rows, wanted.query, column, told) else column
    title = (f"{label}{along}" if wanted.title is None else wanted.title) + of
    chart = WindowChart(column, groups, title, wanted.unit, wanted.zone, label)
    return stack([make_window_chart(rows, chart)], chart.title, wanted.note)


def _draw_trends(rows: pa.Table, of: str, wanted: _Wanted) -> Picture:
    some = _spread(rows, _MOST_TRENDS)
    if wanted.events is None:
        drawn = make_trend_lanes(some, wanted.zone)
    else:
        about = OnEvents(wanted.value or _only_value(rows.schema), wanted.time, wanted.unit, wanted.zone)
        events = fetch(wanted.events, [wanted.time])
        drawn = make_trends_on_events(some, events.rows, about)
        of += "" if events.whole else f", on the first {MOST_ROWS:,} events"
    shown = describe_shown(some, rows.num_rows)
    title = wanted.title or ""
    return stack(drawn, title or shown, wanted.note, title, shown + of if of or " of " in shown else "")


def show(result: Any, query: Query | None = None, rows: int = 10, **options: Any) -> ShownResult:
    """Show the first rows of a result next to a picture, for notebooks; `print` shows the rows as text.

    Args:
        result: A table of any kind; from a Spark DataFrame the 10,000 earliest rows are fetched.
        query: As for `plot`.
        rows: The number of rows to show.
        **options: As for `plot`.

    Returns:
        An object that notebooks display. If the result cannot be drawn, or has more than 100,000 rows, it shows only
        rows; with options of `plot` it is always drawn, and wrong options are errors.
    """
    if not isinstance(rows, int) or rows < 0:
        raise OptionError([Problem("TW408", f"rows is a number of rows, not {rows!r}", "10 unless given")])
    fetched = fetch(result)
    table, picture = fetched.rows, None
    kind = find_kind(table.schema) or ("windows" if find_text_counts(table, query) else None)
    few = kind is not None and 0 < table.num_rows <= _MOST_UNASKED
    if options or (few and (kind != "windows" or table.num_rows > 1)):
        picture = plot(fetched, query, **options)
    return ShownResult(_in_zone(table, options.get("zone")), rows, picture, fetched.whole)


@dataclass(frozen=True, slots=True, repr=False)
class ShownResult:
    """Rows and a picture. Attributes:
    table: The rows.
    most: How many are shown.
    picture: The picture, where there is one.
    whole: Whether these are all rows of the result.
    """

    table: pa.Table
    most: int
    picture: Picture | None
    whole: bool = True

    def __repr__(self) -> str:
        return f"{write_lines(self.table, self.most)}\n{self._count()}"

    def _repr_html_(self) -> str:
        drawn = "" if self.picture is None else f'<div style="max-width: 720px">{scroll(self.picture)}</div>'
        zones = find_zones(self.table.schema)
        told = "; ".join([self._count(), *([f"times in {', '.join(zones)}"] if zones else [])])
        count = f'<div style="opacity: .75; font-size: 12px; margin: 4px 0 10px">{quote(told)}</div>'
        return f'<div style="overflow-x: auto">{write_rows(self.table, self.most)}{count}{drawn}</div>'

    def _count(self) -> str:
        number = self.table.num_rows
        of = f"{number:,} rows" if self.whole else f"more than {number:,} rows"
        return f"{self.most:,} of {of}" if number > self.most else of


def _in_zone(table: pa.Table, zone: str | None) -> pa.Table:
    """The same moments, as clocks of a zone show them."""
    for place, field in enumerate(table.schema):
        if zone is not None and pa.types.is_timestamp(field.type) and field.type.tz is not None:
            column = table.column(place).cast(pa.timestamp(field.type.unit, zone))
            table = table.set_column(place, field.name, column)
    return table


def _spread(rows: pa.Table, most: int) -> pa.Table:
    """So many rows, from all over a table."""
    if rows.num_rows <= most:
        return rows
    return rows.take(spread_places(rows.num_rows, most))


def _only_value(schema: pa.Schema) -> str:
    known = find_values(schema)
    if len(known) == 1:
        return known[0]
    message = "the events of these trends tell no number" if not known else f"they tell {', '.join(known)}"
    hint = "let the query RETURN TRENDS(S.price)" if not known else f"choose one: value={known[0]!r}"
    raise OptionError([Problem("TW414", f"the value to draw is not clear: {message}", hint)])


def _see_situations(schema: pa.Schema, query: Query | None) -> TimeLine:
    if query is not None and isinstance(query.plan, IntervalPlan):
        return time_line_of(query.plan)
    situations = find_situations(schema)
    if "name" in schema.names and not situations:
        keys = tuple(name for name in find_others(schema) if name != "name")
        return TimeLine("", "situations", (), keys)
    return TimeLine("", "matches", situations, tuple(find_others(schema)))


def time_line_of(plan: IntervalPlan) -> TimeLine:
    """What a picture has to know about an interval query.

    Args:
        plan: Its plan.
    """
    keys = plan.key_names
    if plan.returns != "situations":
        keys = tuple(output.name for output in plan.outputs if output.function is None)
    return TimeLine(plan.text, plan.returns, plan.names, keys)
