"""The units that times since 1970 are counted in."""

from __future__ import annotations

from typing import Literal, TypeAlias

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
TIME_UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns")
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: Microseconds in one of a unit, of those that floats can be of.
MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
#: How many of a unit are a second.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
