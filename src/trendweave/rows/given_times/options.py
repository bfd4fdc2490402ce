"""The options that say how times are read."""

from __future__ import annotations

from trendweave.errors import OptionError, Problem, near_names
from trendweave.rows.given_times.reading import AS_THEY_ARE, TimeReading
from trendweave.rows.given_times.units import TIME_UNITS, UNIT_NAMES
from trendweave.rows.given_times.written import read_format


def read_time_options(unit: object, format: object) -> TimeReading:
    """Check `time_unit` and `time_format`.

    Args:
        unit: One of `TIME_UNITS`; None where it is not given.
        format: "iso", or how times are written; None where it is not given.

    Raises:
        OptionError: One of them is not understood, or both are given.
    """
    if unit is None and format is None:
        return AS_THEY_ARE
    if unit is not None and format is not None:
        raise _refuse("time_unit and time_format are both given", "time_unit is for numbers, time_format for text")
    if format is not None:
        if not isinstance(format, str):
            raise _refuse(f"time_format is a text, not {format!r}", "write 'iso', or such as '%d.%m.%Y %H:%M:%S'")
        return TimeReading(written=read_format(format))
    for known in TIME_UNITS:
        if unit == known or unit == UNIT_NAMES[known]:
            return TimeReading(unit=known)
    names = (*TIME_UNITS, *UNIT_NAMES.values())
    written = str(unit).lower()
    hint = f"write {written!r}" if written in names else near_names(written, UNIT_NAMES.values())
    units = ", ".join(f"{short} ({name})" for short, name in UNIT_NAMES.items())
    raise _refuse(f"time_unit is one of {units}, not {unit}", hint or "write 'ms' for milliseconds since 1970")


def _refuse(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])
