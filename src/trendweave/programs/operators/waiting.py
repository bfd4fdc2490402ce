"""Steps of operators whose rows wait for the watermark alone: what it has passed is read once, and let go."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from trendweave.programs.program import Carry

#: Before and after all times, which have 64 bits.
FIRST, LAST = -(2**63), 2**63


class UpToWatermark:
    """What such steps have in common. Rows come out as soon as the watermark has passed them, so there are no earlier
    ones to look at."""

    __slots__ = ()

    @property
    def pane(self) -> int | None:
        return None

    @property
    def folds(self) -> bool:
        return False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        return None if waiting is None else waiting[0] + 1

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return FIRST, LAST if watermark is None else watermark

    def keeps_from(self, watermark: int) -> int:
        return watermark

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        return ()
