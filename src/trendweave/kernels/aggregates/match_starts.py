"""Negative matches: the latest start among the matches of a negated pattern that have already ended.

For a transition guarded by NOT N, predecessors before that start are out, for good (GRETA, Section 5.2, Definition 5,
where each of them is marked instead). The same propagation as for aggregates, with maxima of start ticks in place of
sums."""

from collections.abc import Mapping, Sequence

import numpy as np

from trendweave.kernels.aggregates.passes import Engine
from trendweave.kernels.inputs import Rows, Selection, Template

#: Before all ticks.
NO_MATCH = np.iinfo(np.int64).min


def match_starts(
    rows: Rows,
    template: Template,
    transition_conditions: Sequence | None,
    selection: Selection = Selection.ANY,
    start_guards: Mapping[int, np.ndarray] | None = None,
) -> np.ndarray:
    """Per row the largest start tick of a match that ends at the row; NO_MATCH if none does. Windows play no part, so a
    start guard above 0 keeps a row from beginning matches."""
    nowhere = np.zeros(len(rows.tick), np.int64)
    rows = rows._replace(window_first=nowhere, window_last=nowhere)
    return Engine(rows, template, transition_conditions, selection, start_guards).latest_starts()
