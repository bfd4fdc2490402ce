"""FROM INTERVALS: situations that the user already has, as rows with a start, an end and a name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, is_true
from trendweave.kernels.intervals import RUNNING
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_preparation import IntervalPreparation
from trendweave.programs.intervals.rows import IntervalRows
from trendweave.programs.intervals.situations import Lengths, Situations, find_certain_times
from trendweave.results.types import times_type
from trendweave.rows.codes import key_codes
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import as_steps, has_time, keep_rows_with_time, time_type

END = "end"
KIND = "kind"


def prepare_given(plan: IntervalPlan, preparation: IntervalPreparation, given: pa.Table) -> tuple[pa.Table, Dropped]:
    """Intervals that the pattern can use. Rows without a start or a name, and those that end before they begin, are
    dropped and counted; without an end, they run."""
    assert plan.intervals is not None
    rows = given.num_rows
    moment = times_type(plan, given.schema, "")
    columns = plan.intervals
    given, null_time = keep_rows_with_time(given, columns.start)
    null_name = given.column(columns.name).null_count
    names = pc.index_in(pc.cast(given.column(columns.name), pa.string()), value_set=pa.array(plan.names, pa.string()))
    kind = pc.fill_null(names, -1).to_numpy().astype(np.int64)
    for number, condition in enumerate(preparation.now):
        if condition is not None:
            kind[(kind == number) & ~is_true(condition, given)] = -1
    kept = kind >= 0
    other = rows - null_time - null_name - int(np.count_nonzero(kept))
    given, kind = given.filter(pa.array(kept)), kind[kept]
    prepared = {
        TIME: given.column(columns.start).cast(moment),
        END: given.column(columns.end).cast(moment),
        KIND: pa.array(kind),
    }
    prepared |= {name: column_of(given, path) for name, path in preparation.columns}
    table = pa.table(prepared)
    ends = table.column(END)
    backwards = pc.fill_null(pc.less_equal(ends, table.column(TIME)), False)
    wrong = pc.sum(backwards).as_py() or 0
    if wrong:
        table = table.filter(pc.invert(backwards))
    return table, Dropped(rows, null_time + wrong, null_name, other)


def find_given_situations(
    plan: IntervalPlan, preparation: IntervalPreparation, table: pa.Table, lengths: Lengths
) -> tuple[IntervalRows, Situations]:
    """The rows, by partition, and the situations that they are."""
    time = time_type(table.schema.field(TIME).type)
    start = as_steps(table.column(TIME), time)
    running = ~np.asarray(has_time(table.column(END)))
    zero = pa.scalar(0, pa.int64()).cast(time.arrow)
    ends = as_steps(pc.if_else(pa.array(~running), table.column(END), zero), time)
    end = np.where(running, RUNNING, ends)
    kind = table.column(KIND).to_numpy()
    codes = key_codes([table.column(name) for name in preparation.keys], start.size)
    partitions = int(codes.max()) + 1 if codes.size else 0
    order = np.lexsort((end, start, kind, codes))
    kind, codes, start, end = kind[order], codes[order], start[order], end[order]
    starts = np.searchsorted(codes, np.arange(partitions + 1))
    rows = IntervalRows(table, order, start, np.zeros(order.size, np.int64), starts)
    # Time passes with the starts and ends of a partition's intervals.
    ended = end != RUNNING
    moments, of = np.concatenate([start, end[ended]]), np.concatenate([codes, codes[ended]])
    passing = np.lexsort((moments, of))
    edges = np.searchsorted(of[passing], np.arange(partitions + 1))
    place = np.arange(order.size)
    found = Situations(kind, codes, start, end, place, place + 1, place, start, partitions)
    found = find_certain_times(plan, lengths, found, moments[passing], edges[codes], edges[codes + 1])
    found = found.take(np.argsort(kind, kind="stable"))
    same = (found.kind[1:] == found.kind[:-1]) & (found.partition[1:] == found.partition[:-1])
    return rows, replace(found, disjoint=not (same & (found.start[1:] < found.end[:-1])).any())
