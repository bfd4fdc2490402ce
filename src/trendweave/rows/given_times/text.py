"""Times that are text, read with Arrow."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.values import join_chunks
from trendweave.rows.given_times.written import MONTHS, Written

_MOMENT = pa.timestamp("us", "UTC")
_NAMES = pa.array([MONTHS[place : place + 3] for place in range(0, len(MONTHS), 3)])


def read_texts(column: pa.ChunkedArray, written: Written) -> pa.ChunkedArray:
    """Read texts as moments.

    Args:
        column: Texts.
        written: How they are written.

    Returns:
        Microseconds since 1970 as timestamps of UTC; NULL where a text does not fit, or tells no day that there is.
    """
    if written.is_iso:
        # Most files have one way of writing them, which Arrow reads quickly; it refuses a column that has several.
        for kind in (_MOMENT, pa.timestamp("us")):
            with suppress(pa.ArrowInvalid):
                return column.cast(kind).cast(_MOMENT)
    found = join_chunks(pc.extract_regex(column.cast(pa.large_string()), written.named()))
    fits = np.asarray(pc.is_valid(found))
    parts = {name: pc.struct_field(found, name) for name in written.parts}
    moments, there_is = _moments(parts, len(found))
    micros = pa.array(moments, pa.int64(), mask=~(fits & there_is))
    return pa.chunked_array([micros.cast(_MOMENT)])


def _moments(parts: dict[str, pa.Array], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Microseconds, and whether there is such a time."""
    year = _number(parts, "year", rows, 1970)
    if "short_year" in parts:
        short = _number(parts, "short_year", rows)
        year = np.where(short >= 69, 1900, 2000) + short
    month = _number(parts, "month", rows, 1)
    if "month_name" in parts:
        first = pc.utf8_lower(pc.utf8_slice_codeunits(parts["month_name"], 0, 3))
        month = np.asarray(pc.fill_null(pc.index_in(first, _NAMES.cast(first.type)), 0)).astype(np.int64) + 1
    day, hour = _number(parts, "day", rows, 1), _number(parts, "hour", rows)
    good = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24)
    if "half_hour" in parts:
        half = _number(parts, "half_hour", rows, 12)
        good &= (half >= 1) & (half <= 12)
        after_noon = np.asarray(pc.fill_null(pc.equal(pc.utf8_lower(parts["half"]), "pm"), False))
        hour = half % 12 + 12 * after_noon
    minute, second = _number(parts, "minute", rows), _number(parts, "second", rows)
    good &= (minute < 60) & (second < 60)
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    first_day = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    next_first = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    good &= first_day + day <= next_first
    seconds = ((first_day + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    offset, fits = _offset(parts, rows)
    return (seconds - offset) * 1_000_000 + _micros(parts, rows), good & fits


def _number(parts: dict[str, pa.Array], name: str, rows: int, without: int = 0) -> np.ndarray:
    if name not in parts:
        return np.full(rows, without, np.int64)
    return np.asarray(_digits(parts[name], without))


def _digits(text: pa.Array, without: int = 0) -> pa.Array:
    known = pc.if_else(pc.equal(pc.binary_length(text), 0), None, text)
    return pc.fill_null(known.cast(pa.int64()), without)


def _micros(parts: dict[str, pa.Array], rows: int) -> np.ndarray:
    """Of a fraction of a second; what is finer is cut off."""
    if "fraction" not in parts:
        return np.zeros(rows, np.int64)
    six = pc.utf8_slice_codeunits(pc.utf8_rpad(parts["fraction"], 6, "0"), 0, 6)
    return np.asarray(_digits(six))


def _offset(parts: dict[str, pa.Array], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds that a zone is ahead of UTC, and whether there is such a zone."""
    if "zone" not in parts:
        return np.zeros(rows, np.int64), np.ones(rows, np.bool_)
    zone = pc.fill_null(parts["zone"], "")
    digits = pc.replace_substring_regex(zone, "[^0-9]", "")
    padded = pc.utf8_rpad(digits, 4, "0")
    hours = np.asarray(_digits(pc.utf8_slice_codeunits(padded, 0, 2)))
    minutes = np.asarray(_digits(pc.utf8_slice_codeunits(padded, 2, 4)))
    sign = np.where(np.asarray(pc.starts_with(zone, "-")), -1, 1)
    # As Java has it: 18 hours at most.
    return sign * (hours * 3600 + minutes * 60), (minutes < 60) & (hours * 60 + minutes <= 18 * 60)
