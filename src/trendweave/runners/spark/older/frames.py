"""Rows as pandas frames: older versions of Spark hand nothing else to a stateful operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Row

if TYPE_CHECKING:
    import pandas as pd


def read_frames(frames: Iterable[pd.DataFrame]) -> Iterator[Row]:
    """The rows of frames, with Python's own numbers."""
    for frame in frames:
        make = Row(*frame.columns)
        for values in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
            yield make(*values)


def write_frames(rows: Iterable[Row]) -> Iterator[pd.DataFrame]:
    """Each row as a frame, as it comes: a row may be all results of a step."""
    import pandas as pd

    for row in rows:
        values = row.asDict()
        yield pd.DataFrame({name: pd.Series([value], dtype=_kind(value)) for name, value in values.items()})


def _kind(value: object) -> str:
    return "int64" if isinstance(value, int) else "object"
