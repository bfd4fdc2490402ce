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
    """PCG64 by name: `default_rng` may become another generator in a later numpy."""
    return np.random.Generator(np.random.PCG64(seed))


def check_at_least(least: float, **arguments: float) -> None:
    for name, value in arguments.items():
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, not {value}")


def check_positive(**arguments: float) -> None:
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
    """A table of events; `seconds` since the start are sorted, and no type codes mean that all are of `types[0]`."""
    if type_codes is None:
        type_codes = np.zeros(len(seconds), np.int8)
    columns = {"time": _time_column(seconds, time), "type": named(type_codes, types), **attributes}
    return pa.table(columns)


def named(codes: np.ndarray, names: Sequence[str]) -> pa.Array:
    """Plain strings from codes; no dictionary type in the result, as not every engine takes one."""
    return pa.DictionaryArray.from_arrays(codes.astype(np.int8), pa.array(names, pa.string())).dictionary_decode()


def _time_column(seconds: np.ndarray, time: Time) -> pa.Array:
    if time == "seconds":
        return pa.array(seconds, pa.int64())
    if time == "timestamp":
        microseconds = seconds.astype(np.int64) * 1_000_000 + START.astype(np.int64)
        return pa.array(microseconds).view(pa.timestamp("us", tz="UTC"))
    raise ValueError(f'time must be "timestamp" or "seconds", not {time!r}')
