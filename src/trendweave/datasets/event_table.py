"""What all generators share: checked arguments, one source of randomness, and the columns `time` and `type`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

Time = Literal["timestamp", "seconds"]

#: Generated streams begin here; a midnight, so that windows of any usual length begin here too.
START = np.datetime64("2024-01-01T00:00:00", "us")


def random_source(seed: int) -> np.random.Generator:
    """Make a source of random numbers: PCG64 by name, as `default_rng` may become another one in a later numpy.

    Args:
        seed: Where it begins.

    Returns:
        The source.
    """
    return np.random.Generator(np.random.PCG64(seed))


def check_at_least(least: float, **arguments: float) -> None:
    """Refuse arguments below a number.

    Args:
        least: The number.

    Raises:
        ValueError: One of the arguments is smaller.
    """
    for name, value in arguments.items():
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, not {value}")


def check_positive(**arguments: float) -> None:
    """Refuse arguments that are not above 0.

    Raises:
        ValueError: One of the arguments is 0 or less.
    """
    for name, value in arguments.items():
        if not value > 0:
            raise ValueError(f"{name} must be more than 0, not {value}")


def event_table(
    seconds: np.ndarray,
    type_codes: np.ndarray | None,
    types: Sequence[str],
    attributes: Mapping[str, np.ndarray | pa.Array],
    time: Time,
) -> pa.Table:
    """Make a table of events.

    Args:
        seconds: When they happened, since the start, sorted.
        type_codes: The number of each event's type; None where all are of the first one.
        types: The names of the types.
        attributes: The other columns by name.
        time: "timestamp" (UTC, from the start of 2024) or "seconds" since the start.

    Returns:
        Events in order of time, with the columns `time` and `type`.
    """
    if type_codes is None:
        type_codes = np.zeros(len(seconds), np.int8)
    columns = {"time": _time_column(seconds, time), "type": name_codes(type_codes, types), **attributes}
    return pa.table(columns)


def name_codes(codes: np.ndarray, names: Sequence[str]) -> pa.Array:
    """Write codes as plain strings; no dictionary type in the result, as not every engine takes one.

    Args:
        codes: Numbers from 0.
        names: The name of each number.

    Returns:
        The names.
    """
    return pa.DictionaryArray.from_arrays(codes.astype(np.int8), pa.array(names, pa.string())).dictionary_decode()


def _time_column(seconds: np.ndarray, time: Time) -> pa.Array:
    if time == "seconds":
        return pa.array(seconds, pa.int64())
    if time == "timestamp":
        microseconds = seconds.astype(np.int64) * 1_000_000 + START.astype(np.int64)
        return pa.array(microseconds).view(pa.timestamp("us", tz="UTC"))
    raise ValueError(f'time must be "timestamp" or "seconds", not {time!r}')
