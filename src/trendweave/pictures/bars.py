"""Numbers beside each other as bars: what is left of lines over time where there is one window, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.pictures.axes import Axis, make_counting_axis, write_amount
from trendweave.pictures.colours import COLOURS
from trendweave.pictures.frames import WIDTH, Frame, draw_across, draw_title
from trendweave.pictures.letters import measure, shorten_apart, write_raised
from trendweave.pictures.picture import Picture
from trendweave.pictures.texts import quote

_MOST = 24
_ROW, _RIGHT, _BOTTOM = 28, 120, 58
_MOST_LETTERS = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, and a number of any size."""

    name: str
    number: float


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
    left = 34 + max(map(measure, names.values()))
    top = 62.0 if note else 42.0
    frame = Frame(left, WIDTH - _RIGHT, top, top + _ROW * len(drawn) + 4)
    axis = make_counting_axis([bar.number for bar in drawn], frame.left, frame.right)
    parts = [draw_title(title, 24)]
    if note:
        parts.append(f'<text class="faint" x="24" y="48">{quote(note)}</text>')
    parts += draw_across(axis, frame, f"{label} (logarithmic)" if axis.log else label)
    for place, bar in enumerate(drawn):
        parts += _draw_bar(bar, names[bar.name], frame.top + 2 + _ROW * place, axis, frame)
    return Picture(title, WIDTH, frame.bottom + _BOTTOM, tuple(parts))


def _draw_bar(bar: Bar, short: str, y: float, axis: Axis, frame: Frame) -> list[str]:
    base = frame.left if axis.log else axis.place(0)
    end = base if axis.log and bar.number <= 0 else axis.place(bar.number)
    low, high = min(base, end), max(base, end)
    shown = write_amount(bar.number) if abs(bar.number) >= 10_000 else f"{bar.number:,.4g}"
    name = f'<text x="{frame.left - 10:.1f}" y="{y + 18:g}" text-anchor="end">{quote(short)}'
    return [
        f"{name}<title>{quote(bar.name)}</title></text>",
        f'<rect x="{low:.1f}" y="{y + 5:g}" width="{max(high - low, 1.5):.1f}" height="{_ROW - 10}" rx="3" '
        f'fill="{COLOURS[0]}"><title>{quote(f"{bar.name}  {bar.number:,}".strip())}</title></rect>',
        f'<text class="faint halo" x="{high + 8:.1f}" y="{y + 18:g}">{write_raised(shown)}</text>',
    ]
