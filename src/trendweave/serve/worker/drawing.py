"""Pictures of a result: lines over windows, trends on their events, situations on a time line."""

from __future__ import annotations

import re

import pyarrow as pa

from trendweave import Query, plot
from trendweave.errors import OptionError
from trendweave.pictures.picture import Picture
from trendweave.serve.worker.cells import kind_of

_MOST_PICTURES = 6
#: Rows of which a picture is drawn, at most.
MOST_DRAWN = 5_000
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
#: Quotes in texts are escaped, so that this is never a part of one.
_STYLE_ATTRIBUTE = re.compile(r' style="[^"]*"')


def draw_rows(query: Query, rows: pa.Table) -> list[dict[str, str]]:
    """Pictures with their names, one per number where rows are windows; none where there is nothing to draw."""
    few = rows.slice(0, MOST_DRAWN)
    if query.kind == "intervals" or query.lists_trends:
        return _draw(few, query, None)
    names = [name for name in rows.column_names[-query.value_count :] if kind_of(rows.field(name).type) == "number"]
    return [picture for name in names[:_MOST_PICTURES] for picture in _draw(few, query, name)]


def _draw(rows: pa.Table, query: Query, value: str | None) -> list[dict[str, str]]:
    try:
        picture = plot(rows, query, value=value)
    except OptionError:  # rows without windows, or none at all, have nothing to be drawn along
        return []
    return [{"name": value or picture.title, "drawing": write_drawing(picture)}]


def write_drawing(picture: Picture) -> str:
    """A picture without its style, which the page has once, and lets nothing else bring along."""
    return _STYLE_ATTRIBUTE.sub("", _STYLE.sub("", picture.inline()))
