"""Moments as users write them, in steps of the time column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.rows.times import TimeType

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def read_between(between: Sequence[Any] | None, kind: TimeType) -> tuple[int | None, int | None]:
    """A stretch of time in steps: from the first moment on and before the second one; None for no bound.

    Args:
        between: Two moments, each of them None or a datetime, a date, a text such as 2024-01-31 or 2024-01-31T12:00:00,
            or a number of seconds where the time column is one.
        kind: How the time column counts.

    Raises:
        OptionError: They are no two moments, or the second one comes first.
    """
    if between is None:
        return None, None
    if isinstance(between, str) or len(tuple(between)) != 2:
        raise _not_understood("between takes two moments", 'write for example between=("2024-01-01", "2024-02-01")')
    first, end = (None if moment is None else _steps(moment, kind) for moment in between)
    if first is not None and end is not None and end < first:
        raise _not_understood("the second moment of between comes before the first", "change their order")
    return first, end


def _steps(moment: Any, kind: TimeType) -> int:
    """The first step that is not before a moment."""
    if pa.types.is_timestamp(kind.arrow):
        nanoseconds = _nanoseconds(moment)
    elif isinstance(moment, (int, float)) and not isinstance(moment, bool) and math.isfinite(moment):
        nanoseconds = Fraction(moment) * 10**9
        if kind.is_float:  # float seconds are read to the nearest microsecond
            return round(Fraction(moment) * 10**6)
    else:
        raise _not_understood(f"{moment!r} is no number of seconds", f"the time column is {kind.arrow}")
    return math.ceil(nanoseconds / kind.step)


def _nanoseconds(moment: Any) -> Fraction:
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise _not_understood(f"{moment!r} is no moment", "write for example 2024-01-31T12:00:00") from None
    if isinstance(moment, datetime) and type(moment) is datetime:
        whole = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        return Fraction((whole.days * 86_400 + whole.seconds) * 10**9 + whole.microseconds * 1000)
    if isinstance(moment, date) and not isinstance(moment, datetime):
        return Fraction((moment - date(1970, 1, 1)).days * 86_400 * 10**9)
    try:
        scalar = pa.scalar(moment)
    except (pa.ArrowException, TypeError):
        scalar = None
    if scalar is None or not pa.types.is_timestamp(scalar.type) or not scalar.is_valid:
        raise _not_understood(f"{moment!r} is no moment", "write a datetime, or a text such as 2024-01-31T12:00:00")
    return Fraction(scalar.value * _NANOSECONDS[scalar.type.unit])


def _not_understood(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])
