"""The buckets that the state of a stream is cut into: how many there are, and under which numbers Spark keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import SparkSession

from trendweave.runners.spark.exchange.buckets import Buckets

_PARTITIONS = "spark.sql.shuffle.partitions"
#: So many where nobody asks for another number and the session has at least as many partitions.
MOST = 16


@dataclass(frozen=True, slots=True)
class StateBuckets:
    """So many buckets.

    Attributes:
        count: How many.
        spread: Their numbers are chosen so that each partition of the state gets as many as others. Buckets that
            somebody asked for are numbered one after the other, as they always were.
    """

    count: int
    spread: bool = False

    @staticmethod
    def choose(wanted: Literal["auto"] | int, spark: SparkSession) -> StateBuckets:
        """Those that were asked for, else as many as there are partitions: one call of a task each. Where there are
        more partitions than `MOST`, buckets are those of states from before there was a choice, which so go on.

        Args:
            wanted: The option.
            spark: The session.
        """
        if wanted != "auto":
            return StateBuckets(wanted)
        found = spark.conf.get(_PARTITIONS, None) or ""
        partitions = int(found) if found.isdecimal() else MOST + 1
        return StateBuckets(MOST) if partitions > MOST else StateBuckets(max(1, partitions), spread=True)

    @property
    def stored(self) -> int:
        """What a state says about its buckets: their number, less than 0 where they are spread."""
        return -self.count if self.spread else self.count

    def numbers(self) -> tuple[int, ...]:
        """The number of each bucket, in the state."""
        return tuple(Buckets(self.count).numbers().tolist()) if self.spread else tuple(range(self.count))


def describe_misfit(stored: int, wanted: int) -> tuple[str, str]:
    """What is wrong where a state has other buckets than a stream, and the hint.

    Args:
        stored: Of the state, as `StateBuckets.stored`.
        wanted: Of the stream, likewise.
    """
    message = f"the checkpoint was made with {_describe(stored)}, not {_describe(wanted)}"
    if stored > 0:
        return message, f"set buckets={stored}, or use a new checkpoint"
    return message, f"leave buckets out and set {_PARTITIONS} to {-stored}, as it was, or use a new checkpoint"


def _describe(stored: int) -> str:
    return f"{stored} buckets" if stored > 0 else f"{-stored} buckets, one for each partition"
