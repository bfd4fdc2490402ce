"""What was shared in a run, counted while it is computed."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class SharingMetrics:
    """Sharing metrics of one run, or of several that share the object.

    Attributes:
        queries: Queries that were computed together with others.
        expressions_saved: Row expressions and conditions that another query already used.
        bursts_shared: Bursts of events of a shared part of patterns that were propagated once for several queries.
        bursts_alone: Bursts that were propagated for each query.
        snapshots: Points from which values of several queries continued as one.
        splits: Changes from shared to separate propagation.
        merges: Changes back to shared propagation.
        copies: Rows that were copied to parameterised rules.
    """

    queries: int = 0
    expressions_saved: int = 0
    bursts_shared: int = 0
    bursts_alone: int = 0
    snapshots: int = 0
    splits: int = 0
    merges: int = 0
    copies: int = 0

    def take(self) -> list[int]:
        """The counts that add up, in the order of `COUNTED`; they begin at zero again."""
        counts = [getattr(self, name) for name in COUNTED]
        for name in COUNTED:
            setattr(self, name, 0)
        return counts

    def add(self, other: SharingMetrics) -> None:
        """Add the counts of another run; what is the same in every piece of a run is kept."""
        self.queries = max(self.queries, other.queries)
        self.expressions_saved = max(self.expressions_saved, other.expressions_saved)
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


#: Counts that add up from piece to piece.
COUNTED = tuple(one.name for one in fields(SharingMetrics) if one.name not in ("queries", "expressions_saved"))
