"""Results of benchmarks as bars, read from their tables whenever the site is made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.site.places import ROOT
from trendweave.pictures.bars import Bar, make_bar_chart
from trendweave.pictures.picture import Picture, scroll

_RESULTS = ROOT / "benchmarks" / "RESULTS.md"
_SECTION = re.compile(r"^<!-- begin ([\w-]+) -->$(.*?)^<!-- end \1 -->$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of a table: its section, what was run, what was measured, and how much it was."""

    section: str
    name: str
    metric: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Which figures make a picture, and its words; of all sections, or of those that are alike."""

    metric: str
    unit: str
    title: str
    label: str
    sections: tuple[str, ...] = ()


_QUERIES = (
    "falling-price",
    "greta-q1",
    "greta-q2",
    "greta-q3",
    "sequence-of-three",
    "two-edge-predicates",
    "contiguous",
)
#: By the names that pages use.
PICTURES = {
    "rates": Bars("rate", "M events/s", "One query on one core", "million events per second", _QUERIES),
    "twin": Bars(
        "two-step twin / ours",
        "x",
        "Trends built and then aggregated, against aggregates without building",
        "times as long",
    ),
}


def read_figures(text: str) -> Iterator[Figure]:
    """Read the rows of all tables of results.

    Args:
        text: The page of results.
    """
    for section, body in _SECTION.findall(text):
        for line in body.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) >= 4 and re.fullmatch(r"[\d.,]+(?:e[+-]?\d+)?", cells[2]):
                yield Figure(section, cells[0], cells[1], float(cells[2].replace(",", "")), cells[3])


def make_bars(name: str, text: str) -> Picture:
    """Draw the first figure of each section.

    Args:
        name: The name of the picture.
        text: The page of results.
    """
    asked = PICTURES[name]
    first: dict[str, float] = {}
    for figure in read_figures(text):
        if (figure.metric, figure.unit) == (asked.metric, asked.unit):
            first.setdefault(figure.section, figure.value)
    bars = [Bar(section, value) for section, value in first.items() if section in (asked.sections or first)]
    return make_bar_chart(bars, asked.title, asked.label)


def write_bars(name: str) -> str:
    """A picture of the results as they are now, as a part of a page."""
    drawn = scroll(make_bars(name, _RESULTS.read_text(encoding="utf-8")))
    return re.sub(r"\n\s*\n", "\n", drawn)
