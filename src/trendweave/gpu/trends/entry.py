"""Aggregates over all trends on a GPU: the same questions and answers as `trendweave.kernels.aggregate`.

Counts and sums of whole numbers are exact. Floats are added in another order than on a processor, so that their last
bits may differ. Where rows do not fit the memory of the card, some segments go at a time: they are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from trendweave.gpu.card import Card, memory_told, refuse_work
from trendweave.gpu.trends.passes import CardPasses
from trendweave.kernels import Aggregate, Condition, Results, Rows, Selection, Template
from trendweave.kernels.aggregates.entry import NUMBERS, check_choice, measure
from trendweave.kernels.aggregates.passes import normalise_conditions, normalise_rows

#: States of a template that a card serves.
MOST_STATES = 16
#: Of the free memory, what is planned with.
_SHARE = 0.7
#: Bytes that a row needs: for ticks, letters, packed states, vertices, numbers and room to work in; per state; per
#: column, with a copy.
_ROW_BYTES, _STATE_BYTES, _COLUMN_BYTES = 120, 24, 16


def aggregate(
    card: Card,
    rows: Rows,
    template: Template,
    conditions: Sequence[Condition | None] | None = None,
    aggregates: Sequence[Aggregate] = (),
    selection: Selection = Selection.ANY,
    numbers: str = "exact",
    start_guards: Mapping[int, np.ndarray] | None = None,
    final_guards: Mapping[int, np.ndarray] | None = None,
    counted: bool = True,
) -> Results:
    """Aggregates over all trends, per segment and window with at least one trend.

    Args:
        card: Where they are found.
        rows: The events.
        template: The automaton of the trends.
        conditions: One per transition of the template.
        aggregates: What is measured.
        selection: Which later rows a row may be followed by.
        numbers: "exact", or "float64".
        start_guards: Per state, the first window in which a trend may begin with each row.
        final_guards: Per state, the last window in which a trend may end with each row.
        counted: Whether the number of trends is wanted.

    Returns:
        The same as `trendweave.kernels.aggregate`.

    Raises:
        ExecutionError: Something is asked for that no card does, or its memory is not enough.
    """
    check_choice("numbers", numbers, NUMBERS)
    check_served(template, selection)
    rows, conditions = normalise_rows(rows), normalise_conditions(conditions, len(template.source))
    asked = (template, conditions, selection, start_guards or {}, final_guards or {})
    found = []
    with memory_told(card):
        for first, end in cut_parts(card, rows, len(template.state_variable), conditions, aggregates):
            part = slice(*rows.segment_starts[[first, end]].tolist())
            some = Rows(rows.segment_starts[first : end + 1] - part.start, *(column[part] for column in rows[1:]))
            measured = [_take_part(one, part) for one in aggregates]
            results = measure(CardPasses(card, some, *asked, part), template, measured, numbers, counted=counted)
            found.append(results._replace(segment=results.segment + first))
    return _join_results(found)


def check_served(template: Template, selection: Selection) -> None:
    """Refuse what no card does."""
    if selection is Selection.NEXT:
        refuse_work("trends by skip-till-next-match are not aggregated on a GPU")
    states = len(template.state_variable)
    if states > MOST_STATES:
        refuse_work(f"patterns of {states} states are not aggregated on a GPU, only of up to {MOST_STATES}")


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


def _take_part(one: Aggregate, part: slice) -> Aggregate:
    """What is measured of some rows."""
    values, valid = (None if column is None else np.asarray(column)[part] for column in (one.values, one.valid))
    return one._replace(values=values, valid=valid)


def _join_results(parts: Sequence[Results]) -> Results:
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
