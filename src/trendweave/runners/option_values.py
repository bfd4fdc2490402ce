"""Values of options, read and checked one by one."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

from trendweave.errors import OptionError, Problem, near_names
from trendweave.language.durations import read_duration
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan
from trendweave.programs.trends.detection import LEAST_MEMORY

#: Keyword argument -> the setting's name after `spark.trendweave.`.
SETTINGS = {
    "numbers": "numbers",
    "device": "device",
    "chunks": "chunks",
    "exchange": "exchange",
    "rows_at_once": "rowsAtOnce",
    "max_rows_of_a_key": "maxRowsOfAKey",
    "bytes_in_memory": "bytesInMemory",
    "buckets": "buckets",
    "max_rows": "maxRows",
    "max_work": "maxWork",
}
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


def read_chunks(value: object) -> Literal["auto", "off"] | int:
    """ "auto", "off", or a length of time in nanoseconds."""
    if value == "auto" or value == "off":
        return value
    return read_duration(str(value), "chunks")


def read_positive(name: str, value: object) -> int:
    """A whole number of 1 or more; settings of a session are text."""
    text = str(value)
    if not text.isdecimal() or int(text) == 0:
        message = f"{name} is {text!r} (or spark.trendweave.{SETTINGS[name]})"
        raise refuse(message, "give a whole number, at least 1")
    return int(text)


def read_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise refuse(f"{name} is True or False, not {value!r}", f"give {name}=True, or leave it out")
    return value


def read_between(value: object) -> Any:
    """Two moments, which a store reads; None for all."""
    if value is None or (isinstance(value, tuple | list) and len(value) == 2):
        return value
    raise refuse(f"between takes two times, not {value!r}", 'write between=("2024-01-01", "2024-02-01")')


def read_bytes(name: str, value: object) -> bytes | None:
    """Bytes, or None where there are none."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    message = f"{name} is bytes, not {type(value).__name__}"
    raise refuse(message, "give what session.state() has returned")


def read_max_trends(value: Any) -> int:
    """A whole number of 1 or more."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise refuse(f"max_trends is 1 or more, not {value!r}", "give a whole number")
    return number


def read_memory(memory: str | int) -> int:
    """`"512 MB"`, or a number of bytes, as a number of bytes."""
    size = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(memory))
    if size is None or size[2].upper() not in _UNITS:
        message = f'memory is a size such as "512 MB" or "2 GB", not {memory!r}'
        raise refuse(message, f"the units are {_in_order(_UNITS)}")
    bytes_ = int(float(size[1]) * _UNITS[size[2].upper()])
    if bytes_ < LEAST_MEMORY:
        raise refuse(f"memory is at least {LEAST_MEMORY >> 20} MB, not {memory!r}", "leave it out, or give more")
    return bytes_


def _in_order(units: Iterable[str]) -> str:
    return ", ".join(unit for unit in units if unit)


def read_order(plans: Iterable[QueryPlan], value: object) -> tuple[str, ...]:
    """The columns that order events with the same timestamp (`order_by`).

    Args:
        plans: The plans of the queries; they are for those that look for trends.
        value: A name, or several; None for none.

    Raises:
        OptionError: These are no names, or there is no query that takes them.
    """
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise refuse(f"order_by names a column, or several, not {value!r}", 'write order_by="number"')
    if all(isinstance(plan, IntervalPlan) for plan in plans):
        message = "order_by is for trends: situations begin and end at times, whatever their events' order"
        raise refuse(message, "leave it out, or make times finer")
    return names
