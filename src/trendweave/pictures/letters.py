"""How wide texts are, about: nobody knows the letters of the reader when a picture is drawn."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from trendweave.pictures.shapes import quote, shape

SIZE = 13.0
#: Widths of letters as parts of their size, in the wider ones of the usual fonts.
_WIDTHS = {
    **dict.fromkeys("ijl|'.,:;!I()[]{}/\\-` ", 0.36),
    **dict.fromkeys('frt"*', 0.42),
    **dict.fromkeys("mwMW@%", 0.95),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ&=<>+~#\N{MULTIPLICATION SIGN}", 0.72),
}
_COMMON, _WIDE = 0.61, 1.05
#: How much wider bold letters are.
_BOLD = 1.12
#: The size of raised digits.
_SMALL = 9.5
#: Letters that are left of the longest text, where there is no room at all.
_LEAST = 5
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_POWER = re.compile(f"[{_RAISED}]+")
_LOWERED = str.maketrans(_RAISED, "0123456789-")


def measure(text: str, size: float = SIZE, *, bold: bool = False) -> float:
    """Tell how wide a text is drawn, rather too wide than too narrow.

    Args:
        text: One line.
        size: The size of its letters.
        bold: Whether they are those of titles.
    """
    width = size * sum(_WIDTHS.get(letter) or _width_of(letter) for letter in text)
    return _BOLD * width if bold else width


def measure_raised(text: str) -> float:
    """Tell how wide a text is drawn by `write_raised`."""
    raised = "".join(_POWER.findall(text))
    return measure(_POWER.sub("", text)) + measure(raised, _SMALL)


def _width_of(letter: str) -> float:
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _COMMON


def write_raised(text: str) -> str:
    """Write a text for SVG, with powers at its end as small letters: few fonts have all of Unicode's raised digits."""
    parts = _POWER.split(text)
    raised = [shape("tspan", one.translate(_LOWERED), dy=-4.5, font_size=_SMALL) for one in _POWER.findall(text)]
    return "".join(quote(part) + (raised[place] if place < len(raised) else "") for place, part in enumerate(parts))


def wrap(text: str, letters: int, before: Collection[str] = (), most: int = 4) -> tuple[str, ...]:
    """Break a text into lines at its spaces; of what does not fit into so many lines the end is left out.

    Args:
        text: One line.
        letters: The length of a line, about; a longer word loses its middle.
        before: Words that begin a line of their own.
        most: How many lines there are at most.
    """
    lines: list[str] = []
    for word in text.split():
        if lines and word not in before and len(lines[-1]) + 1 + len(word) <= letters:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return tuple(shorten(line, letters + 2) for line in lines)


def wrap_conditions(conditions: Sequence[str], letters: int = 34, most: int = 3) -> tuple[str, ...]:
    """Write conditions below each other; beyond so many lines, how many more there are."""
    if len(conditions) <= most:
        return tuple(shorten(condition, letters) for condition in conditions)
    shown = [shorten(condition, letters) for condition in conditions[: most - 1]]
    return (*shown, f"and {len(conditions) - len(shown)} more conditions")


def fit(text: str, room: float, size: float = SIZE, *, bold: bool = False) -> str:
    """Leave out the middle of a text for which there is no room.

    Args:
        text: One line.
        room: How wide it may be drawn.
        size: As for `measure`.
        bold: As for `measure`.
    """
    short = text
    while len(short) > _LEAST and (width := measure(short, size, bold=bold)) > room:
        short = shorten(text, max(min(len(short) - 1, int(len(short) * room / width)), _LEAST))
    return short


def shorten(name: str, letters: int) -> str:
    """Leave out the middle of what is too long: what tells names apart is often at their end."""
    if len(name) <= letters:
        return name
    letters = max(letters, _LEAST)
    return f"{name[: (letters - 1) // 2]}…{name[-(letters // 2) :]}"


def shorten_apart(names: Iterable[str], letters: int) -> dict[str, str]:
    """Shorten names so that those that differ still do: where their middle tells them apart, it is kept.

    Args:
        names: The names.
        letters: How long they are at most; a few more where only a number tells them apart.

    Returns:
        Per name how it is written.
    """
    short = {name: shorten(name, letters) for name in names}
    for alike in _find_alike(short):
        short |= _keep_difference(alike, letters)
    left = [name for alike in _find_alike(short) for name in alike]
    return short | {name: f"{shorten(name, letters - 4)} #{number}" for number, name in enumerate(left, 1)}


def _find_alike(short: Mapping[str, str]) -> list[list[str]]:
    """Names that are written as others are."""
    names: dict[str, list[str]] = {}
    for name, written in short.items():
        names.setdefault(written, []).append(name)
    return [same for same in names.values() if len(same) > 1]


def _keep_difference(names: Sequence[str], letters: int) -> dict[str, str]:
    """Their common beginning is cut, up to a few letters before they part."""
    # The shortest one may be how the others begin.
    columns = enumerate(zip(*names, strict=False))
    parting = next((place for place, column in columns if len(set(column)) > 1), min(map(len, names)))
    head = letters // 4
    begin = max(parting - 3, head)
    room = letters - head - 1
    return {
        name: f"{name[:head]}…" + (name[begin:] if len(name) - begin <= room else f"{name[begin : begin + room - 1]}…")
        for name in names
    }
