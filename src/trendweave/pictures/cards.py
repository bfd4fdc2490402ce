"""What a notebook shows of an object: a heading, its text in colours, facts, pictures, and more to unfold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.pictures.highlight import highlight_query
from trendweave.pictures.picture import FONT, MONO, Picture, scroll
from trendweave.pictures.shapes import quote

_FRAME = (
    "border: 1px solid rgba(128, 128, 128, .35); border-radius: 8px; padding: 10px 14px; margin: 4px 0; "
    "max-width: 980px"
)
_PRE = f"font-family: {MONO}; font-size: 12.5px; margin: 8px 0; white-space: pre-wrap; background: none; border: none"
#: Lines of a text that are shown; a session of a workload may have thousands.
_MOST_LINES = 40
_CELL = "padding: 2px 14px 2px 0; text-align: left; vertical-align: top; border: none"


@dataclass(frozen=True, slots=True)
class Card:
    """Attributes:
    heading: What kind of object it is.
    query: The text of a query or of operators, to be coloured.
    facts: Labels and texts.
    pictures: Drawn one below the other.
    more: Titles and texts that are unfolded on demand.
    """

    heading: str
    query: str = ""
    facts: Sequence[tuple[str, str]] = ()
    pictures: Sequence[Picture] = ()
    more: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
        """The card as a part of a page, without scripts."""
        parts = [f'<div style="font-family: {FONT}; {_FRAME}">']
        parts.append(f'<div style="font-size: 12px; opacity: .75">{quote(self.heading)}</div>')
        if self.query:
            parts.append(f'<pre style="{_PRE}">{highlight_query(_first_lines(self.query))}</pre>')
        if self.facts:
            parts.append(_write_facts(self.facts))
        parts += [scroll(one) for one in self.pictures]
        for title, text in self.more:
            shown = f'<pre style="{_PRE}; white-space: pre; overflow-x: auto">{quote(text)}</pre>'
            parts.append(f'<details><summary style="cursor: pointer">{quote(title)}</summary>{shown}</details>')
        return "\n".join([*parts, "</div>"])


def _first_lines(text: str) -> str:
    lines = text.split("\n")
    more = len(lines) - _MOST_LINES
    return text if more <= 0 else "\n".join([*lines[:_MOST_LINES], f"-- and {more:,} more lines"])


def _write_facts(facts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr><td style="{_CELL}; opacity: .75">{quote(label)}</td><td style="{_CELL}">{quote(text)}</td></tr>'
        for label, text in facts
    )
    return f'<table style="border: none; margin: 6px 0; font-size: 13px">{rows}</table>'
