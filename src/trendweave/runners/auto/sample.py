"""A look at some of the events: how many are kept, how many keys there are, how much time they cover."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import column_of
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.operators.joins.program import WindowJoin, find_candidate_share
from trendweave.programs.program import Program
from trendweave.rows.encoded import TIME
from trendweave.rows.hashing import hash_rows
from trendweave.rows.times import as_steps, time_type

#: Events that are looked at. Fewer are all looked at.
LOOKED_AT = 2_048


@dataclass(frozen=True, slots=True)
class Sample:
    """What is known, or assumed, of events.

    Attributes:
        rows: How many there are.
        kept: The share of them that is computed.
        keys: How many different keys there are.
        largest: The share of the largest key.
        span: How much time they cover, in nanoseconds.
        row_bytes: Bytes of a prepared row.
        matching: The share of candidates among pairs of events that a join brings together; None where it is not known.
        looks: How often an event of a join looks for partners: twice where it is on both sides.
    """

    rows: int
    kept: float = 1.0
    keys: float = 1.0
    largest: float = 1.0
    span: float = 0.0
    row_bytes: float = 32.0
    matching: float | None = None
    looks: float = 1.0

    @property
    def per_key(self) -> float:
        """Events of a key."""
        return max(1.0, self.rows * self.kept / self.keys)

    def in_window(self, length: float | None) -> float:
        """Events of a key in a window of so many nanoseconds; None: of all time."""
        if length is None or self.span <= 0:
            return self.per_key
        return max(1.0, self.per_key * min(1.0, length / self.span))


def look_at(program: Program, events: pa.Table) -> Sample:
    """Look at some events, chosen at random but always the same."""
    rows = events.num_rows
    if rows > LOOKED_AT:
        chosen = np.sort(np.random.default_rng(0).integers(0, rows, LOOKED_AT))
        events = events.select([name for name in events.column_names if name in program.needs.read])
        events = events.take(pa.array(chosen))
    prepared, _ = program.prepare(events)
    if not prepared.num_rows:
        return Sample(rows, kept=1 / max(1, events.num_rows))
    keys, largest = _count_keys(program, prepared, rows)
    span = 0.0
    if TIME in prepared.column_names:
        kind = time_type(program.moment)
        steps = as_steps(prepared.column(TIME), kind)
        span = (int(steps.max()) - int(steps.min()) + 1) * float(kind.step)
    first = program.stages[0].program if isinstance(program, ChainedRows) else program
    return Sample(
        rows,
        prepared.num_rows / events.num_rows,
        keys,
        largest,
        span,
        prepared.nbytes / prepared.num_rows,
        *_look_at_join(first, prepared),
    )


def _look_at_join(program: Program, prepared: pa.Table) -> tuple[float | None, float]:
    """The share of candidates among pairs, and how often an event looks for them."""
    if not isinstance(program, WindowJoin):
        return None, 1.0
    return find_candidate_share(program, prepared), 2.0 if program.sides.marked_by is None else 1.0


def _count_keys(program: Program, prepared: pa.Table, rows: int) -> tuple[float, float]:
    """How many keys there are in all, and the share of the largest."""
    paths = program.needs.own_keys
    if not paths or any(path[0] not in prepared.column_names for path in paths):
        return 1.0, 1.0
    columns = [prepared.column(path[0]) if len(path) == 1 else column_of(prepared, path) for path in paths]
    _, counts = np.unique(hash_rows(columns, prepared.num_rows), return_counts=True)
    seen, looked_at = counts.size, prepared.num_rows
    if seen == looked_at:
        return float(max(seen, rows / 2)), 1 / seen
    return min(_all_keys(seen, looked_at), float(rows)), int(counts.max()) / looked_at


def _all_keys(seen: int, looked_at: int) -> float:
    """How many keys of about the same size let so many be seen."""
    low, high = float(seen), float(seen) * looked_at
    for _ in range(60):
        keys = (low + high) / 2
        if keys * -expm1(-looked_at / keys) < seen:
            low = keys
        else:
            high = keys
    return low
