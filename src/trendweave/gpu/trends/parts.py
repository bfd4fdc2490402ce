"""Calls whose rows do not fit the memory of a card: segments are independent, so some of them go at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from trendweave.gpu.card import Card
from trendweave.kernels import Aggregate, Comparison, Condition, PairTest, Results, Rows

#: Of the free memory, what is planned with.
_SHARE = 0.7
#: Bytes that a row needs: for ticks, letters, packed states, vertices, numbers and room to work in; per state; per
#: column, with a copy.
_ROW_BYTES, _STATE_BYTES, _COLUMN_BYTES = 120, 24, 16


def cut_parts(
    card: Card, rows: Rows, states: int, conditions: Sequence[Condition], aggregates: Sequence[Aggregate]
) -> list[tuple[int, int]]:
    """Ranges of segments whose rows fit the card together. A segment that does not fit by itself is a range, too."""
    columns = sum(len(condition.comparisons) + 2 for condition in conditions) + 2 * len(aggregates)
    of_row = _ROW_BYTES + _STATE_BYTES * states + _COLUMN_BYTES * columns
    most = int(card.memory().free * _SHARE) // of_row
    starts = rows.segment_starts
    if starts[-1] - starts[0] <= most:
        return [(0, starts.size - 1)]
    cuts = [0]
    while cuts[-1] < starts.size - 1:
        end = int(np.searchsorted(starts, starts[cuts[-1]] + most, side="right")) - 1
        cuts.append(max(cuts[-1] + 1, end))
    return list(pairwise(cuts))


def take_part(
    rows: Rows,
    conditions: Sequence[Condition],
    aggregates: Sequence[Aggregate],
    start_guards: Mapping[int, np.ndarray],
    final_guards: Mapping[int, np.ndarray],
    first: int,
    end: int,
) -> tuple[Rows, list[Condition], list[Aggregate], dict[int, np.ndarray], dict[int, np.ndarray]]:
    """All columns of the rows of some segments."""
    begin, stop = int(rows.segment_starts[first]), int(rows.segment_starts[end])

    def take(column: np.ndarray) -> np.ndarray:
        return column[begin:stop]

    def take_any(column: np.ndarray | None) -> np.ndarray | None:
        return None if column is None else take(column)

    def take_condition(condition: Condition) -> Condition:
        comparisons = tuple(
            Comparison(take(comparison.previous), comparison.operator, take(comparison.next))
            for comparison in condition.comparisons
        )
        test = condition.pair_test
        pair_test = None if test is None else PairTest(take(test.previous), take(test.next), test.answers)
        return condition._replace(comparisons=comparisons, guard=take_any(condition.guard), pair_test=pair_test)

    part = Rows(rows.segment_starts[first : end + 1] - begin, *(column[begin:stop] for column in rows[1:]))
    measured = [one._replace(values=take_any(one.values), valid=take_any(one.valid)) for one in aggregates]
    starts, finals = ({state: take(guard) for state, guard in of.items()} for of in (start_guards, final_guards))
    return part, [take_condition(condition) for condition in conditions], measured, starts, finals


def join_results(parts: Sequence[Results]) -> Results:
    """The results of consecutive parts."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(np.concatenate(column) for column in zip(*(part.aggregates for part in parts), strict=True))
    valid = tuple(
        None if known[0] is None else np.concatenate(known)
        for known in zip(*(part.valid for part in parts), strict=True)
    )
    segment, window, count = (np.concatenate([part[place] for part in parts]) for place in range(3))
    return Results(segment, window, count, columns, valid)
