"""Blocks of few rows out of many: which these are, and what the loops for them are given."""

import numpy as np

from trendweave.kernels.aggregates.blocks import Blocks, FewerBlocks
from trendweave.kernels.aggregates.one_state import few_rows
from trendweave.kernels.aggregates.one_state.few_extrema import find_few_extrema
from trendweave.kernels.aggregates.one_state.few_rows import FewRows, FewSteps, sum_few
from trendweave.kernels.aggregates.program import leave_out_columns
from trendweave.kernels.aggregates.vectors import SUM
from trendweave.kernels.aggregates.workspace import Ask
from trendweave.kernels.packs import LANES


def have_few_rows(blocks: Blocks) -> np.ndarray:
    """Whether each block has few rows."""
    return blocks.row_end - blocks.row_start <= few_rows.FEW_ROWS


def run_few(program, columns, blocks: Blocks, chosen: np.ndarray, ask: Ask, bits_at_most: int | None, totals) -> None:
    """Write the totals of the chosen blocks, all of which have few rows."""
    number = totals.results.dtype
    states, rankings = program.states, program.rankings
    steps = FewSteps(
        *(int(column[0]) for column in (states.variable, states.start_guard, states.final_guard)),
        *(int(column[0]) for column in (rankings.order_previous, rankings.order_next)),
        *(bool(column[0]) for column in (rankings.descending, rankings.inclusive)),
    )
    rows = leave_out_columns(columns)
    few = FewRows(
        np.empty((few_rows.FEW_ROWS + 1) * LANES * ask.numbers, number),
        *(np.empty(few_rows.FEW_ROWS, np.int64) for _ in range(2)),
        np.empty(LANES * ask.numbers, number),
    )
    some = FewerBlocks(*(column[chosen] for column in blocks[1:5]), blocks.offset[:-1][chosen])
    fits = np.ones(chosen.size, np.bool_)
    if ask.kind == SUM:
        sum_few(steps, rows, few, some, bits_at_most, totals.results, fits)
    else:
        find_few_extrema(steps, rows, few, some, totals.results)
    totals.fits[chosen] = fits
