"""The first and the last event of trends, for every loop over blocks that handles vertices one by one."""

from trendweave.kernels.aggregates.program import NOT_THERE
from trendweave.kernels.aggregates.vectors import Span
from trendweave.kernels.aggregates.vertices import begin_trends
from trendweave.kernels.compiling import inlined
from trendweave.kernels.query_masks import add_ended


@inlined
def begin_here(program, columns, work, block, state, row, at, first, end, span):
    """pending[at] += the trends that begin with the row, in those of its windows [first, end) that allow it."""
    guard = program.states.start_guard[state]
    if guard == NOT_THERE:
        return
    if guard >= 0:
        first = max(first, columns.start_guards[guard, row] - block.window)
    begun = Span(first, end, span.lanes, span.components, span.kind)
    begin_trends(work.pending, at, begun, columns.measures.values, row, state, columns.queries)


@inlined
def end_here(program, columns, work, block, state, row, at, end, span, row_results):
    """result += pending[at], the trends that end with the row, in those windows that allow it."""
    guard = program.states.final_guard[state]
    if guard == NOT_THERE:
        return
    high = span.high
    if guard >= 0:
        high = min(end, columns.final_guards[guard, row] - block.window + 1)
    if span.low < high:
        ended = Span(span.low, high, span.lanes, span.components, span.kind)
        add_ended(work.result, work.pending, at, ended, state, columns.queries)
        if row_results.size > 0:
            row_results[row] = max(row_results[row], work.pending[at])
