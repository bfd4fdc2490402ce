"""Matches (or situations) as bars on a time line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from trendweave.pictures.axes import Axis
from trendweave.pictures.frames import PAD, WIDTH, Frame, draw_above, draw_across, draw_legend, draw_title
from trendweave.pictures.highlight import highlight_query
from trendweave.pictures.letters import measure, shorten_apart
from trendweave.pictures.picture import Picture, write_page
from trendweave.pictures.shapes import assign_colours, box, quote, shape, write, write_key
from trendweave.pictures.times import refuse_far_times, seconds_of, write_far_times
from trendweave.pictures.trends import make_moment_axis

#: Rows that are drawn: matches, each with bars of its own, and situations, which share their lanes.
_MOST, _MOST_SITUATIONS = 200, 2_000
#: Above this height the times are marked above the bars, too.
_TALL = 700
_ROW, _BETWEEN, _BOTTOM = 18, 10, 56
#: Letters that are written before the time line: of what tells rows apart, and of names of situations.
_MOST_LABEL, _MOST_NAME = 24, 18
_NOTHING = "<p>There is nothing to draw.</p>"


@dataclass(frozen=True, slots=True)
class TimeLine:
    """A description of an interval query, for its picture.

    Attributes:
        text: The query, which is shown above the drawing.
        returns: What a row is: a match, a situation, or the number of matches of a window.
        situations: Names of situations, in the order of the query.
        keys: Columns that, with the times, identify a row.
    """

    text: str
    returns: Literal["matches", "situations", "counts"]
    situations: tuple[str, ...]
    keys: tuple[str, ...]


class _Bar(NamedTuple):
    """A situation from its start to its end, which is None while it runs."""

    situation: str
    start: Any
    end: Any


class _Group(NamedTuple):
    """Lanes of bars, each with the name of its situation, and when a match was detected, where that is known."""

    label: str
    lanes: Sequence[tuple[str, Sequence[_Bar]]]
    detected: Any

    @property
    def bars(self) -> list[_Bar]:
        return [bar for _, lane in self.lanes for bar in lane]


def make_time_line(line: TimeLine, result: pa.Table, title: str, zone: str | None = None) -> Picture:
    """Draw the first rows of an interval query: one group of bars per match, or a lane per situation of each key.

    Args:
        line: What the query asks for; matches or situations.
        result: Its rows.
        title: What stands above the picture.
        zone: The zone of the times that are marked; None for that of the column.
    """
    alone = line.returns == "situations"
    most = _MOST_SITUATIONS if alone else _MOST
    first = result.slice(0, most)
    refuse_far_times(first)
    rows = first.to_pylist()
    groups = _read_situations(line, rows) if alone else [_read_match(line, row) for row in rows]
    moments = [moment for group in groups for bar in group.bars for moment in (bar.start, bar.end)]
    seconds = [seconds_of(one) for one in [*moments, *(group.detected for group in groups)] if one is not None]
    column = "start" if alone else "time"
    labels = shorten_apart([group.label for group in groups], _MOST_LABEL)
    lanes = shorten_apart([name for group in groups for name, _ in group.lanes], _MOST_NAME)
    left = _find_left(labels, lanes)
    kind = result.schema.field(column).type
    across, label = make_moment_axis(seconds or [0.0], kind, zone, left + 12, WIDTH - PAD - 12)
    colours = assign_colours([*line.situations, *(bar.situation for group in groups for bar in group.bars)])
    used = [name for name in colours if any(bar.situation == name for group in groups for bar in group.bars)]
    legend, foot = draw_legend([(name, colours[name]) for name in used], PAD, 48, "bar")
    hints = _explain_marks(groups)
    if hints:
        foot += 19
        legend.append(write(hints, PAD, foot, "faint small"))
    tall = sum(_ROW * len(group.lanes) + _BETWEEN for group in groups) > _TALL
    foot += 20 if tall else 0
    y = round(foot + 14)
    bars: list[str] = []
    for group in groups:
        bars += _draw_names(group, y + _BETWEEN // 2, left, labels, lanes)
        bars += _draw_group(group, y + _BETWEEN // 2, max(seconds), across, colours)
        y += _ROW * len(group.lanes) + _BETWEEN
    frame = Frame(left, WIDTH - PAD, foot + 14, y + 2)
    if result.num_rows > most:
        title = f"{title}: the first {most:,} of {result.num_rows:,} rows"
    parts = [draw_title(title), *legend, *draw_across(across, frame, label), *bars]
    if tall:
        parts += draw_above(across, frame)
    return Picture(title, WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def draw_time_line(line: TimeLine, result: pa.Table) -> str:
    """Draw the first rows of an interval query as a page; numbers of matches are a plain table.

    Args:
        line: The description of the query.
        result: Its rows.

    Returns:
        A self-contained HTML page.
    """
    above = f"<h1>On a time line</h1>\n<pre>{highlight_query(line.text)}</pre>\n<p>{result.num_rows:,} rows</p>\n"
    if line.returns == "counts":
        note = f"<p>The first {_MOST:,} of {result.num_rows:,} rows.</p>" if result.num_rows > _MOST else ""
        return write_page(
            "Matches", [], above=above + note + _write_counts(write_far_times(result.slice(0, _MOST)).to_pylist())
        )
    if not result.num_rows:
        return write_page("Matches on a time line", [], above=above + _NOTHING)
    title = "Situations on a time line" if line.returns == "situations" else "Matches on a time line"
    return write_page(title, [make_time_line(line, result, title)], above=above)


def _find_left(labels: dict[str, str], lanes: dict[str, str]) -> float:
    """Where the time line begins: behind what is written before it."""
    wide = max(map(measure, labels.values()))
    return 24 + wide + 18 + max(measure(name, 11.5) for name in lanes.values()) + 10


def _explain_marks(groups: Sequence[_Group]) -> str:
    """Say what the marks mean that are there."""
    hints = []
    if any(group.detected is not None for group in groups):
        hints.append("an upright line is the moment at which a match was certain")
    if any(bar.end is None for group in groups for bar in group.bars):
        hints.append("a pale bar was still running then" if hints else "a pale bar is still running")
    return "; ".join(hints)


def _draw_names(group: _Group, top: float, edge: float, labels: dict[str, str], lanes: dict[str, str]) -> list[str]:
    """Write whose bars these are, and the names of their situations."""
    parts = [write(labels[group.label], PAD, top + 13, hint=group.label)]
    for place, (name, _) in enumerate(group.lanes):
        parts.append(write(lanes[name], edge - 8, top + _ROW * place + 13, "faint small", name, text_anchor="end"))
    return parts


def _draw_group(group: _Group, top: float, last: float, across: Axis, colours: dict[str, str]) -> list[str]:
    """Draw the bars of one row below each other; one that runs reaches to the detection."""
    parts = []
    for place, (name, lane) in enumerate(group.lanes):
        y = top + _ROW * place
        for _, start, end in lane:
            left = across.place(seconds_of(start))
            until = end if end is not None else group.detected
            right = across.place(seconds_of(until) if until is not None else last)
            shown = f"{name}: {start} to {'still running' if end is None else end}"
            look = {"fill": colours[name]} | ({"style": "running", "stroke": colours[name]} if end is None else {})
            parts.append(box(left, y + 2, max(right - left, 2), _ROW - 4, shown, 3, **look))
    if group.detected is not None:
        x, foot = across.place(seconds_of(group.detected)), top + _ROW * len(group.lanes) + 2
        told = f"certain at {group.detected}"
        parts.append(shape("path", hint=told, style="axis", stroke_width=2, d=f"M{x:.1f} {top - 2}V{foot}"))
    return parts


def _read_match(line: TimeLine, row: dict[str, Any]) -> _Group:
    bars = [_Bar(name, row[f"{name}_start"], row[f"{name}_end"]) for name in line.situations]
    return _Group(_describe_keys(line, row), [(bar.situation, [bar]) for bar in bars], row["time"])


def _read_situations(line: TimeLine, rows: Sequence[dict[str, Any]]) -> list[_Group]:
    """Situations of one key stand below each other, those of one name in one lane."""
    found: dict[str, dict[str, list[_Bar]]] = {}
    for row in rows:
        lanes = found.setdefault(_describe_keys(line, row), {})
        lanes.setdefault(row["name"], []).append(_Bar(row["name"], row["start"], row["end"]))
    return [_Group(label, list(lanes.items()), None) for label, lanes in found.items()]


def _describe_keys(line: TimeLine, row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {write_key(row[name])}" for name in line.keys)


def _write_counts(rows: list[dict[str, Any]]) -> str:
    """Write windows of counted matches as a plain table."""
    if not rows:
        return _NOTHING
    head = "".join(f"<th>{quote(name)}</th>" for name in rows[0])
    cells = ["".join(f"<td>{quote(str(cell))}</td>" for cell in row.values()) for row in rows]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
