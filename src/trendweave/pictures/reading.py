"""How stored events are read for a query: what each way would cost, and what is read of what is there."""

from __future__ import annotations

from dataclasses import dataclass

from trendweave.pictures.axes import make_number_axis
from trendweave.pictures.colours import COLOURS
from trendweave.pictures.frames import WIDTH, Frame, draw_across, draw_title
from trendweave.pictures.letters import measure, shorten
from trendweave.pictures.picture import Picture
from trendweave.pictures.texts import quote

_RIGHT, _ROW = 170, 30
_MOST_LETTERS = 46
_UNITS = (("seconds", 1.0), ("milliseconds", 1e-3), ("microseconds", 1e-6))
_SHORT = {"seconds": "s", "milliseconds": "ms", "microseconds": "µs"}
_CHOSEN, _OTHER = COLOURS[0], COLOURS[-1]


@dataclass(frozen=True, slots=True)
class WayToRead:
    """A way that was considered: its name, seconds that it was estimated to take, and what it reads, in words."""

    name: str
    seconds: float
    reads: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole: row groups, bytes or blocks that are read of those that there are."""

    name: str
    part: float
    whole: float
    told: str


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """What is drawn of a query on stored events.

    Attributes:
        title: What stands above the picture.
        reason: Why the chosen way was chosen, where that is told.
        ways: All ways that were considered.
        shares: What the chosen one reads.
    """

    title: str
    reason: str
    ways: tuple[WayToRead, ...]
    shares: tuple[Share, ...]


def make_reading_plan(plan: ReadingPlan) -> Picture:
    """Draw the cost of each way to read, the chosen one in colour, and below it what that one reads."""
    parts = [draw_title(plan.title, 24)]
    if plan.reason:
        parts.append(f'<text class="faint" x="24" y="48">{quote(shorten(plan.reason, 110))}</text>')
    top = 66.0
    names = [*(way.name for way in plan.ways), *(share.name for share in plan.shares)]
    left = 36 + 1.06 * max(measure(shorten(name, _MOST_LETTERS)) for name in names)
    frame = Frame(left, WIDTH - _RIGHT, top, top + _ROW * max(len(plan.ways), 1))
    most = max((way.seconds for way in plan.ways), default=0.0) or 1.0
    unit, size = next((one for one in _UNITS if most >= one[1]), _UNITS[-1])
    axis = make_number_axis(0.0, most / size, frame.left, frame.right)
    parts += draw_across(axis, frame, f"estimated time ({unit})")
    for number, way in enumerate(plan.ways):
        y = top + _ROW * number
        hint = quote(f"{way.name}: about {way.seconds:.3g} s, {way.reads}")
        width = max(axis.place(way.seconds / size) - left, 2)
        took = f"{way.seconds / size:.3g} {_SHORT[unit]}" + (", chosen" if way.chosen else "")
        colour = _CHOSEN if way.chosen else _OTHER
        weight = ' font-weight="600"' if way.chosen else ""
        shade = "halo" if way.chosen else "faint halo"
        parts += [
            f'<text{weight} x="{left - 10:.1f}" y="{y + 19:g}" text-anchor="end">'
            f"{quote(shorten(way.name, _MOST_LETTERS))}<title>{quote(way.name)}</title></text>",
            f'<rect x="{left:.1f}" y="{y + 6:g}" width="{width:.1f}" height="{_ROW - 12}" rx="3" fill="{colour}">'
            f"<title>{hint}</title></rect>",
            f'<text class="{shade}" x="{left + width + 8:.1f}" y="{y + 19:g}">{took}</text>',
        ]
    foot = frame.bottom + 78
    parts.append(f'<text font-weight="600" x="24" y="{foot:g}">what is read</text>')
    for number, share in enumerate(plan.shares):
        parts += _draw_share(share, frame, foot + 12 + _ROW * number)
    return Picture(plan.title, WIDTH, foot + 22 + _ROW * len(plan.shares), tuple(parts))


def _draw_share(share: Share, frame: Frame, y: float) -> list[str]:
    whole = frame.right - frame.left
    part = whole * min(share.part / share.whole, 1.0) if share.whole else 0.0
    box = f'x="{frame.left:.1f}" y="{y + 6:g}" height="{_ROW - 12}" rx="3"'
    return [
        f'<text x="{frame.left - 10:.1f}" y="{y + 19:g}" text-anchor="end">{quote(share.name)}</text>',
        f'<rect class="panel" {box} width="{whole:.1f}"/>',
        f'<rect {box} width="{max(part, 2):.1f}" fill="{_CHOSEN}"/>' if share.part else "",
        f'<text class="faint" x="{frame.right + 8:g}" y="{y + 19:g}">{quote(share.told)}</text>',
    ]
