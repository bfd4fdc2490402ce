"""What a page asks for, read from JSON and checked before any work begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

KINDS = ("sample", "file", "store")
#: How times of a file may be written, where there is no pattern such as %d.%m.%Y.
TIMES = ("", "s", "ms", "us", "ns", "iso")
#: Events of a generated sample, at most.
MOST_EVENTS = 1_000_000
_COMPARISONS = (">", ">=", "<", "<=", "=")
_Read = TypeVar("_Read")


class Refused(Exception):
    """Something that this server does not do; the message says what, and goes to the page as it is."""


@dataclass(frozen=True, slots=True)
class Source:
    """Events: a sample of so many, a file of the served folder, or a store between two times.

    `time` and `type` name columns; empty ones are chosen by the columns that are there, and `untyped` says that all
    rows are of one type. `times` says how the times of a file are written, where they are no timestamps: the unit of
    numbers since 1970, "iso" for text, or the pattern of other text.
    """

    kind: str = ""
    name: str = ""
    events: int = 20_000
    start: str = ""
    end: str = ""
    time: str = ""
    type: str = ""
    untyped: bool = False
    times: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Refused(f"a source is one of {', '.join(KINDS)}")
        if self.times not in TIMES and "%" not in self.times:
            raise Refused(f"times are one of {', '.join(TIMES[1:])}, a pattern such as %d.%m.%Y, or nothing")
        if bool(self.start) != bool(self.end):
            raise Refused("a stretch of time has a start and an end")
        if not 1 <= self.events <= MOST_EVENTS:
            raise Refused(f"a sample has from 1 to {MOST_EVENTS:,} events")


@dataclass(frozen=True, slots=True)
class Written:
    """A query with its name, as they were written."""

    name: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Alert:
    """Which rows of a stream are told at once: those whose column compares so with a number."""

    column: str = ""
    comparison: str = ">="
    value: float = 0.0

    def __post_init__(self) -> None:
        if self.comparison not in _COMPARISONS:
            raise Refused(f"an alert compares by one of {' '.join(_COMPARISONS)}")


@dataclass(frozen=True, slots=True)
class Stream:
    """How events are replayed.

    Attributes:
        rate: Events a second; 0 for as fast as it goes.
        watermark: How far events may be behind the latest one.
        delay: Events arrive up to so many seconds after their time, each by chance.
        alert: Which rows are told at once; None for those of matches.
    """

    rate: float = 200.0
    watermark: str = "10 seconds"
    delay: float = 0.0
    alert: Alert | None = None

    def __post_init__(self) -> None:
        if not (0 <= self.rate <= 1e7 and 0 <= self.delay <= 1e6):
            raise Refused("a stream has from 0 to 10,000,000 events a second, and delays of up to 1,000,000 seconds")


@dataclass(frozen=True, slots=True)
class Asked:
    """Queries over events; `stream` where they are replayed, `row` where the events of a row are asked for: its cells
    by their columns."""

    rules: tuple[Written, ...] = ()
    source: Source | None = None
    stream: Stream = Stream()
    row: Mapping[str, str | None] = field(default_factory=dict)

    def needed_source(self) -> Source:
        """The source, which a run cannot do without."""
        if self.source is None:
            raise Refused("choose events first")
        return self.source


def read_asked(given: Any, most_rules: int) -> Asked:
    """Read what a page sent.

    Raises:
        Refused: It is not of the right form.
    """
    wanted = _mapping(given, "the request")
    rules = wanted.get("rules", [])
    if not isinstance(rules, list) or len(rules) > most_rules:
        raise Refused(f"rules are a list of at most {most_rules:,} queries")
    written = [_read(Written, rule, "a rule") for rule in rules]
    row = _mapping(wanted.get("row") or {}, "the row")
    return Asked(
        tuple(Written(rule.name.strip() or f"q{number}", rule.text) for number, rule in enumerate(written, 1)),
        None if wanted.get("source") is None else _read(Source, wanted["source"], "the source"),
        _read(Stream, wanted.get("stream") or {}, "the stream"),
        {name: None if value is None else _text(value, name) for name, value in row.items()},
    )


def _read(kind: type[_Read], given: Any, what: str) -> _Read:
    """An object as a structure: its values by the names and types of the fields; what is not given has its default."""
    found = _mapping(given, what)
    types = {one.name: str(one.type) for one in fields(kind) if one.name in found}  # type: ignore[arg-type]
    return kind(**{name: _READERS[type_](found[name], name) for name, type_ in types.items()})


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise Refused(f"{what} is no object")
    return given


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not can_be_sent(value):
        raise Refused(f"{name} is no text")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Refused(f"{name} is no number")
    return value


_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "str": _text,
    "float": _number,
    "int": lambda value, name: int(max(min(_number(value, name), 2**53), 0)),
    "bool": lambda value, name: value is True,
    "Alert | None": lambda value, name: None if value is None else _read(Alert, value, "an alert"),
}


def can_be_sent(text: str) -> bool:
    """Whether it has no half of a pair of surrogates, as JSON may hold, and names of files that are no Unicode have."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
