"""Values of options, read and checked one by one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from trendweave.errors import OptionError, Problem, near_names
from trendweave.language.durations import read_duration
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan
from trendweave.programs.trends.detection import LEAST_MEMORY

_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_Word = TypeVar("_Word", bound=str)


def refuse(message: str, hint: str, code: str = "TW408") -> OptionError:
    """The error for a wrong option, to be raised."""
    return OptionError([Problem(code, message, hint)])


def read_word(name: str, value: object, known: tuple[_Word, ...]) -> _Word:
    """One of some known words."""
    for word in known:
        if value == word:
            return word
    hint = near_names(str(value), known) or f"choose one of them, or leave {name} out"
    raise refuse(f"{name} is one of {', '.join(known)}, not {value}", hint)


def setting_of(name: str) -> str:
    """The setting of a Spark session that stands for an option."""
    first, *words = name.split("_")
    return f"spark.trendweave.{first}{''.join(word.title() for word in words)}"


def one_of(known: tuple[_Word, ...]) -> Callable[[str, object], _Word]:
    """What reads one of some known words."""
    return lambda name, value: read_word(name, value, known)


def read_watermark(name: str, value: str) -> str:
    """A length of time, as it was given."""
    read_duration(value, name, or_none_at_all=True)
    return value


def read_buckets(name: str, value: object) -> Literal["auto"] | int:
    """ "auto", or a whole number of 1 or more."""
    return "auto" if value == "auto" else read_positive(name, value)


def read_chunks(name: str, value: object) -> Literal["auto", "off"] | int:
    """ "auto", "off", or a length of time in nanoseconds."""
    if value == "auto" or value == "off":
        return value
    return read_duration(str(value), name)


def read_positive(name: str, value: object) -> int:
    """A whole number of 1 or more; settings of a session are text."""
    text = str(value)
    if not text.isdecimal() or int(text) == 0:
        message = f"{name} is {text!r} (or {setting_of(name)})"
        raise refuse(message, "give a whole number, at least 1")
    return int(text)


def read_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise refuse(f"{name} is True or False, not {value!r}", f"give {name}=True, or leave it out")
    return value


def read_between(name: str, value: object) -> Any:
    """Two moments, which a store reads."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value
    raise refuse(f"{name} takes two times, not {value!r}", 'write between=("2024-01-01", "2024-02-01")')


def read_bytes(name: str, value: object) -> bytes:
    """Bytes."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    message = f"{name} is bytes, not {type(value).__name__}"
    raise refuse(message, "give what session.state() has returned")


def read_max_trends(name: str, value: Any) -> int:
    """A whole number of 1 or more."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise refuse(f"{name} is 1 or more, not {value!r}", "give a whole number")
    return number


def read_memory(name: str, memory: str | int) -> int:
    """`"512 MB"`, or a number of bytes, as a number of bytes."""
    size = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(memory))
    if size is None or size[2].upper() not in _UNITS:
        message = f'{name} is a size such as "512 MB" or "2 GB", not {memory!r}'
        raise refuse(message, f"the units are {_in_order(_UNITS)}")
    bytes_ = int(float(size[1]) * _UNITS[size[2].upper()])
    if bytes_ < LEAST_MEMORY:
        raise refuse(f"{name} is at least {LEAST_MEMORY >> 20} MB, not {memory!r}", "leave it out, or give more")
    return bytes_


def _in_order(units: Iterable[str]) -> str:
    return ", ".join(unit for unit in units if unit)


def read_order(name: str, value: object) -> tuple[str, ...]:
    """The columns that order events with the same timestamp: a name, or several."""
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not names or not all(isinstance(one, str) and one for one in names):
        raise refuse(f"{name} names a column, or several, not {value!r}", 'write order_by="number"')
    return names


def check_order(plans: Iterable[QueryPlan]) -> None:
    """Refuse an order where there is no query that takes it: none looks for trends."""
    if all(isinstance(plan, IntervalPlan) for plan in plans):
        message = "order_by is for trends: situations begin and end at times, whatever their events' order"
        raise refuse(message, "leave it out, or make times finer")
