"""FROM INTERVALS: situations that the user already has, as rows with a start, an end and a name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, is_true
from trendweave.kernels.intervals.situations import RUNNING, Situations
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_preparation import IntervalPreparation
from trendweave.programs.intervals.rows import TIME, IntervalRows
from trendweave.programs.intervals.situations import Lengths, SituationBuffers, find_certain_times
from trendweave.results.types import times_type
from trendweave.rows.codes import key_codes
from trendweave.rows.dropped import Dropped
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
) -> tuple[IntervalRows, SituationBuffers]:
    """The rows, in the order of the buffers, and the situations that they are."""
    time = time_type(table.schema.field(TIME).type)
    start = as_steps(table.column(TIME), time)
    running = ~np.asarray(has_time(table.column(END)))
    zero = pa.scalar(0, pa.int64()).cast(time.arrow)
    ends = as_steps(pc.if_else(pa.array(~running), table.column(END), zero), time)
    end = np.where(running, RUNNING, ends)
    kind = table.column(KIND).to_numpy()
    codes = key_codes([table.column(name) for name in preparation.keys], start.size)
    partitions = int(codes.max()) + 1 if codes.size else 0
    # Rows as the keys of partitions are read from: by partition. Situations: by kind, then partition.
    order = np.lexsort((end, start, kind, codes))
    rows = IntervalRows(
        table, order, time, start[order], np.zeros(order.size, np.int64),
        np.searchsorted(codes[order], np.arange(partitions + 1)),
    )  # fmt: skip
    kind, codes, start, end = kind[order], codes[order], start[order], end[order]
    place = np.arange(order.size)
    found = Situations(kind, codes, start, end, place, place + 1, np.zeros(order.size, np.bool_))
    # Time passes with the starts and ends of a partition's intervals.
    ended = end != RUNNING
    moments, of = np.concatenate([start, end[ended]]), np.concatenate([codes, codes[ended]])
    passing = np.lexsort((moments, of))
    edges = np.searchsorted(of[passing], np.arange(partitions + 1))
    certain = find_certain_times(plan, lengths, found, moments[passing], edges[codes], edges[codes + 1])
    by_kind = np.argsort(kind, kind="stable")
    same = (kind[by_kind][1:] == kind[by_kind][:-1]) & (codes[by_kind][1:] == codes[by_kind][:-1])
    disjoint = not bool((same & (start[by_kind][1:] < end[by_kind][:-1])).any())
    return rows, SituationBuffers.of(found, certain, by_kind, len(plan.situations), partitions, disjoint)
