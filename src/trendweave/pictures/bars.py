"""Numbers beside each other as bars: what is left of lines over time where there is one window, or none; and how stored
events are read: what each way would cost, and what is read of what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.pictures.axes import Axis, make_counting_axis, make_number_axis, write_amount
from trendweave.pictures.frames import PAD, WIDTH, Frame, draw_across, draw_title
from trendweave.pictures.letters import measure, shorten, shorten_apart, write_raised
from trendweave.pictures.picture import Picture
from trendweave.pictures.shapes import COLOURS, box, shape, write

_MOST = 24
_ROW, _BAR, _RIGHT, _BOTTOM = 28, 18, 120, 58
_MOST_LETTERS = 34
#: Of a plan to read: what is left for what stands behind a bar, and units of time.
_TOLD, _MOST_LETTERS_OF_WAYS = 170, 46
_UNITS = (("seconds", 1.0, "s"), ("milliseconds", 1e-3, "ms"), ("microseconds", 1e-6, "µs"))


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, and a number of any size.

    Attributes:
        name: What stands before it.
        number: How long it is.
        told: What stands behind it; the number unless given.
        hint: What is told when a pointer is held over it; name and number unless given.
        colour: Its colour.
        stands_out: Whether its texts do.
    """

    name: str
    number: float
    told: str = ""
    hint: str = ""
    colour: str = COLOURS[0]
    stands_out: bool = False


def make_bar_chart(bars: Sequence[Bar], title: str, label: str, note: str = "") -> Picture:
    """Draw a bar per number, the largest first; of many, those, and how many more there are.

    Args:
        bars: The numbers.
        title: What stands above the chart.
        label: What is written below it.
        note: What stands below the title.
    """
    drawn = sorted(bars, key=lambda bar: bar.number, reverse=True)[:_MOST]
    if len(bars) > len(drawn):
        note = "; ".join(filter(None, [note, f"the largest {_MOST} of {len(bars):,}"]))
    names = shorten_apart([bar.name for bar in drawn], _MOST_LETTERS)
    top = 62.0 if note else 42.0
    frame = Frame(34 + max(map(measure, names.values())), WIDTH - _RIGHT, top, top + _ROW * len(drawn) + 4)
    axis = make_counting_axis([bar.number for bar in drawn], frame.left, frame.right)
    parts = [draw_title(title), *([write(note, PAD, 48, "faint")] if note else [])]
    parts += draw_across(axis, frame, f"{label} (logarithmic)" if axis.log else label)
    for place, bar in enumerate(drawn):
        parts += _draw_bar(bar, names[bar.name], frame.top + 2 + _ROW * place, axis, frame)
    return Picture(title, WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def _draw_bar(bar: Bar, short: str, y: float, axis: Axis, frame: Frame) -> list[str]:
    base = frame.left if axis.log else axis.place(0)
    end = base if axis.log and bar.number <= 0 else axis.place(bar.number)
    low, high = min(base, end), max(base, end)
    told = bar.told or (write_amount(bar.number) if abs(bar.number) >= 10_000 else f"{bar.number:,.4g}")
    weight = {"font_weight": "600"} if bar.stands_out else {}
    hint = bar.hint or f"{bar.name}  {bar.number:,}".strip()
    return [
        write(short, frame.left - 10, y + 18, hint=bar.name, text_anchor="end", **weight),
        box(low, y + 5, max(high - low, 1.5), _BAR, hint, fill=bar.colour),
        shape("text", write_raised(told), style="halo" if bar.stands_out else "faint halo", x=high + 8, y=y + 18),
    ]


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
    written = [*(way.name for way in plan.ways), *(share.name for share in plan.shares)]
    names = {name: shorten(name, _MOST_LETTERS_OF_WAYS) for name in written}
    left = 36 + 1.06 * max(map(measure, names.values()))
    frame = Frame(left, WIDTH - _TOLD, 66, 66 + _ROW * max(len(plan.ways), 1) + 4)
    most = max((way.seconds for way in plan.ways), default=0.0) or 1.0
    unit, size, sign = next((one for one in _UNITS if most >= one[1]), _UNITS[-1])
    axis = make_number_axis(0.0, most / size, frame.left, frame.right)
    parts = [draw_title(plan.title), *draw_across(axis, frame, f"estimated time ({unit})")]
    if plan.reason:
        parts.append(write(shorten(plan.reason, 110), PAD, 48, "faint", plan.reason))
    for place, way in enumerate(plan.ways):
        took = f"{way.seconds / size:.3g} {sign}" + (", chosen" if way.chosen else "")
        hint = f"{way.name}: about {way.seconds:.3g} s, {way.reads}"
        bar = Bar(way.name, way.seconds / size, took, hint, COLOURS[0 if way.chosen else -1], way.chosen)
        parts += _draw_bar(bar, names[way.name], frame.top + 2 + _ROW * place, axis, frame)
    foot = frame.bottom + 76
    parts.append(write("what is read", PAD, foot, font_weight="600"))
    for place, share in enumerate(plan.shares):
        y = foot + 10 + _ROW * place
        part = min(share.part / share.whole, 1.0) if share.whole else 0.0
        whole = frame.right - frame.left
        parts += [
            write(names[share.name], frame.left - 10, y + 18, text_anchor="end"),
            box(frame.left, y + 5, whole, _BAR, style="panel"),
            box(frame.left, y + 5, max(part * whole, 2), _BAR, fill=COLOURS[0]) if share.part else "",
            write(share.told, frame.right + 8, y + 18, "faint"),
        ]
    return Picture(plan.title, WIDTH, foot + 20 + _ROW * len(plan.shares), tuple(parts))
