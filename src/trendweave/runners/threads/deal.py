"""Parts of rows that are computed apart. What a part holds is settled when rows are dealt out; they are fetched by the
thread that computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from trendweave.programs.program import Scope


@dataclass(frozen=True, slots=True)
class Deal:
    """Parts of rows: what fetches the rows of each, what is asked of them, the share of the largest, and whether they
    are chunks of time, one after the other."""

    parts: tuple[Callable[[], pa.Table], ...]
    scope: Scope
    largest: float
    by_time: bool = False
