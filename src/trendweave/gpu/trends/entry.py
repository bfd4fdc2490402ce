"""Aggregates over all trends on a card: the same questions and answers as `trendweave.kernels.aggregate`.

Counts and sums of whole numbers are exact. Floats are added in another order than on a processor, so that their last
bits may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trendweave.gpu.card import Card, memory_told, refuse_work
from trendweave.gpu.trends.parts import cut_parts, join_results, take_part
from trendweave.gpu.trends.passes import CardPasses
from trendweave.kernels import Aggregate, Condition, Results, Rows, Selection, Template
from trendweave.kernels.aggregates.entry import NUMBERS, check_choice, measure
from trendweave.kernels.aggregates.passes import normalise_conditions, normalise_rows

#: States of a template that a card serves.
MOST_STATES = 16


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

    Returns:
        The same as `trendweave.kernels.aggregate`.

    Raises:
        ExecutionError: Something is asked for that no card does, or its memory is not enough.
    """
    check_choice("numbers", numbers, NUMBERS)
    check_served(template, selection)
    rows = normalise_rows(rows)
    every = normalise_conditions(conditions, len(template.source))
    columns = (every, list(aggregates), start_guards or {}, final_guards or {})
    found = []
    with memory_told(card):
        for first, end in cut_parts(card, rows, len(template.state_variable), every, aggregates):
            whole = first == 0 and end == rows.segment_starts.size - 1
            part = (rows, *columns) if whole else take_part(rows, *columns, first, end)
            found.append(_aggregate_part(card, template, selection, numbers, *part))
            found[-1] = found[-1]._replace(segment=found[-1].segment + first)
    return join_results(found)


def check_served(template: Template, selection: Selection) -> None:
    """Refuse what no card does."""
    if selection is Selection.NEXT:
        refuse_work("trends by skip-till-next-match are not aggregated on a GPU")
    states = len(template.state_variable)
    if states > MOST_STATES:
        refuse_work(f"patterns of {states} states are not aggregated on a GPU, only of up to {MOST_STATES}")


def _aggregate_part(
    card: Card,
    template: Template,
    selection: Selection,
    numbers: str,
    rows: Rows,
    conditions: Sequence[Condition],
    aggregates: Sequence[Aggregate],
    start_guards: Mapping[int, np.ndarray],
    final_guards: Mapping[int, np.ndarray],
) -> Results:
    passes = CardPasses(card, rows, template, conditions, selection, start_guards, final_guards)
    return measure(passes, template, aggregates, numbers)
