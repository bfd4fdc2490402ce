"""What a page asks for, read from JSON and checked before any work begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trendweave.serve.folders import Refused
from trendweave.serve.texts import can_be_sent

KINDS = ("sample", "file", "store")
#: How times of a file may be written, where there is no pattern such as %d.%m.%Y.
TIMES = ("", "s", "ms", "us", "ns", "iso")
#: Events of a generated sample, at most.
MOST_EVENTS = 1_000_000
_COMPARISONS = (">", ">=", "<", "<=", "=")


@dataclass(frozen=True, slots=True)
class Source:
    """Events: a sample of so many, a file of the served folder, or a store between two times.

    `time` and `type` name columns; empty ones are chosen by the columns that are there, and `untyped` says that all
    rows are of one type. `times` says how the times of a file are written, where they are no timestamps: the unit of
    numbers since 1970, "iso" for text, or the pattern of other text.
    """

    kind: str
    name: str
    events: int = 20_000
    start: str = ""
    end: str = ""
    time: str = ""
    type: str = ""
    untyped: bool = False
    times: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A query with its name, as they were written."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Alert:
    """Which rows of a stream are told at once: those whose column compares so with a number."""

    column: str
    comparison: str
    value: float


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
    return Asked(
        tuple(_read_rule(rule, number) for number, rule in enumerate(rules, 1)),
        None if wanted.get("source") is None else _read_source(_mapping(wanted["source"], "the source")),
        _read_stream(_mapping(wanted.get("stream") or {}, "the stream")),
        _read_row(_mapping(wanted.get("row") or {}, "the row")),
    )


def _read_rule(given: Any, number: int) -> Written:
    rule = _mapping(given, "a rule")
    return Written(_text(rule, "name", f"q{number}").strip() or f"q{number}", _text(rule, "text"))


def _read_source(given: Mapping[str, Any]) -> Source:
    kind = _text(given, "kind")
    if kind not in KINDS:
        raise Refused(f"a source is one of {', '.join(KINDS)}")
    times = _text(given, "times")
    if times not in TIMES and "%" not in times:
        raise Refused(f"times are one of {', '.join(TIMES[1:])}, a pattern such as %d.%m.%Y, or nothing")
    if bool(_text(given, "start")) != bool(_text(given, "end")):
        raise Refused("a stretch of time has a start and an end")
    events = _number(given, "events", 20_000)
    if not 1 <= events <= MOST_EVENTS:
        raise Refused(f"a sample has from 1 to {MOST_EVENTS:,} events")
    return Source(
        kind,
        _text(given, "name"),
        int(events),
        start=_text(given, "start"),
        end=_text(given, "end"),
        time=_text(given, "time"),
        type=_text(given, "type"),
        untyped=given.get("untyped") is True,
        times=times,
    )


def _read_stream(given: Mapping[str, Any]) -> Stream:
    rate, delay = _number(given, "rate", 200.0), _number(given, "delay", 0.0)
    if not (0 <= rate <= 1e7 and 0 <= delay <= 1e6):
        raise Refused("a stream has from 0 to 10,000,000 events a second, and delays of up to 1,000,000 seconds")
    alert = given.get("alert")
    return Stream(
        rate,
        _text(given, "watermark", "10 seconds"),
        delay,
        None if alert is None else _read_alert(_mapping(alert, "an alert")),
    )


def _read_alert(given: Mapping[str, Any]) -> Alert:
    comparison = _text(given, "comparison", ">=")
    if comparison not in _COMPARISONS:
        raise Refused(f"an alert compares by one of {' '.join(_COMPARISONS)}")
    return Alert(_text(given, "column"), comparison, _number(given, "value", 0.0))


def _read_row(given: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {name: None if value is None else _text(given, name) for name, value in given.items()}


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise Refused(f"{what} is no object")
    return given


def _text(given: Mapping[str, Any], word: str, default: str = "") -> str:
    value = given.get(word, default)
    if not isinstance(value, str) or not can_be_sent(value):
        raise Refused(f"{word} is no text")
    return value


def _number(given: Mapping[str, Any], word: str, default: float) -> float:
    value = given.get(word, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Refused(f"{word} is no number")
    return value
