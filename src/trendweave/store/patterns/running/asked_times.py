"""`between=(from, to)`: times as users write them, as steps of the time column."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.rows.times import TimeType, as_steps

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 10**6


def read_between(between: Any, kind: TimeType) -> tuple[int | None, int | None]:
    """The first and the last step that are asked for, both included; None: no bound.

    Args:
        between: Two times: events from the first on and before the second one are asked for. None: all; a time that is
            None: no bound on its side.
        kind: How the time column counts.

    Raises:
        OptionError: They are no two times, or none of the column's kind.
    """
    if between is None:
        return None, None
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise _refused(f"between takes two times, not {between!r}", 'write between=("2024-01-01", "2024-02-01")')
    low, high = (None if bound is None else _read(bound, kind) for bound in between)
    if low is not None and high is not None and low > high:
        raise _refused(f"between ends before it begins: {between!r}", "write the earlier time first")
    return low, None if high is None else high - 1


def _read(bound: Any, kind: TimeType) -> int:
    """The first step that is not before a time."""
    if pa.types.is_timestamp(kind.arrow):
        moment = _as_nanoseconds(bound)
        return -(-moment // kind.step)
    if isinstance(bound, np.generic):
        bound = bound.item()
    if isinstance(bound, str):
        try:
            bound = float(bound) if "." in bound or "e" in bound.lower() else int(bound)
        except ValueError:
            raise _wrong(bound, "a number of seconds, as times are") from None
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
        raise _wrong(bound, "a number of seconds, as times are")
    if kind.is_float:
        return int(as_steps(pa.chunked_array([pa.array([bound], pa.float64())]), kind)[0])
    return math.ceil(bound)


def _as_nanoseconds(bound: Any) -> int:
    if isinstance(bound, np.datetime64):
        return int(bound.astype("datetime64[ns]").astype(np.int64))
    if isinstance(bound, str):
        try:
            bound = datetime.fromisoformat(bound)
        except ValueError:
            raise _wrong(bound, "a time such as 2024-01-31 or 2024-01-31T12:00:00") from None
    if isinstance(bound, date) and not isinstance(bound, datetime):
        bound = datetime(bound.year, bound.month, bound.day)
    if not isinstance(bound, datetime):
        raise _wrong(bound, "a time such as 2024-01-31 or 2024-01-31T12:00:00")
    aware = bound if bound.tzinfo is not None else bound.replace(tzinfo=UTC)
    length = aware - _EPOCH
    return ((length.days * 86_400 + length.seconds) * _MICROSECONDS + length.microseconds) * 1_000


def _wrong(bound: Any, wanted: str) -> OptionError:
    return _refused(f"a bound of between is {wanted}, not {bound!r}", "times without a zone are UTC")


def _refused(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])
