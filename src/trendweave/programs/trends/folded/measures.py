"""What is measured of trends whose rows are forgotten: the same as of rows that are there, without values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.kernels import Aggregate, Measure, Results
from trendweave.kernels.loops.summaries import Algebra, Measured, Summaries, make_algebra
from trendweave.planning.blocking import Blocking
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.folded.gaps import Gaps, make_opening, number_gaps
from trendweave.programs.trends.folded.values import keep_unknown_apart
from trendweave.programs.trends.kernel_inputs import KernelInputs
from trendweave.programs.trends.measured_values import KernelAggregate, measure_values
from trendweave.programs.trends.measured_values import Measured as MeasuredRows
from trendweave.results.partials import Component
from trendweave.rows.encoded import EncodedRows, encode_rows
from trendweave.rows.segments import Segments, keep_readable


@dataclass(frozen=True)
class Measures:
    """Of a plan that is bound to the columns of some events. What is asked for is found once, when it is needed.
    `values` are columns that all events of a trend have in common, beside keys; `blocking` names variables whose events
    block gaps."""

    bound: BoundTrends
    overlap: bool
    values: tuple[str, ...] = ()
    blocking: Blocking | None = None

    @property
    def plan(self) -> Plan:
        return self.bound.plan

    @property
    def preparation(self) -> Preparation:
        return self.bound.preparation

    @cached_property
    def _no_rows(self) -> pa.Table:
        return self.with_values(self.bound.prepare(self.bound.events.empty_table())[0])

    def with_values(self, rows: pa.Table) -> pa.Table:
        """Prepared rows with what else tells trends apart where values do."""
        return keep_unknown_apart(rows, self.values, self.bound.time_type) if self.values else rows

    @cached_property
    def _of_no_rows(self) -> MeasuredRows:
        return measure_values(self.plan, self.preparation, self._no_rows)

    def find_segments(self, rows: EncodedRows) -> Segments:
        """The rows that trends are made of, and those that block their gaps."""
        names = {state.variable for state in self.plan.template.states}
        names |= self.blocking.variables if self.blocking is not None else frozenset()
        return keep_readable(rows.partitions, KernelInputs(self.plan, self.preparation, rows).bits(names))

    @cached_property
    def _gaps(self) -> Gaps:
        inputs = KernelInputs(self.plan, self.preparation, encode_rows(self.plan, self.preparation, self._no_rows))
        template = inputs.kernel_template(self.plan.template)
        if self.blocking is None:
            return Gaps(template, ())
        return number_gaps(self.plan.template, template, self.blocking, inputs.number)

    @cached_property
    def algebra(self) -> Algebra:
        """How trends are summed up."""
        numbers: dict[str, int] = {}
        measures = []
        for part in self._of_no_rows.aggregates:
            column = None if part.column is None else numbers.setdefault(part.column, len(numbers))
            measures.append(Measured(part.kind, part.variables, self._is_float(part), column))
        return make_algebra(
            self._gaps.template,
            measures,
            "float64" if self.bound.numbers == "float64" else "exact",
            only_beginnings=not self.overlap and not self._opens,
            resets=self._gaps.resets,
        )

    @property
    def _opens(self) -> bool:
        return self.blocking is not None and self.blocking.leads

    @cached_property
    def opening(self) -> Summaries | None:
        """What stands before the summaries of a window; None where trends may begin everywhere in it."""
        if not self._opens:
            return None
        unread = [
            Aggregate(part.kind, part.variables, _one_of(part.values), _one_of(part.valid))
            for part in self._of_no_rows.aggregates
        ]
        return make_opening(self.algebra, len(self.plan.variables), unread)

    def _is_float(self, part: KernelAggregate) -> bool:
        return part.values is not None and part.values.dtype == np.float64

    @cached_property
    def _float_sums(self) -> tuple[int, ...]:
        """The numbers of aggregates that may get too large: sums that are floats in the end."""
        sums = [part.kind in (Measure.SUM, Measure.AVG) for part in self._of_no_rows.aggregates]
        floats = [not self.algebra.exact or self._is_float(part) for part in self._of_no_rows.aggregates]
        return tuple(np.flatnonzero(np.array(sums, np.bool_) & np.array(floats, np.bool_)).tolist())

    def find_infinite(self, measured: MeasuredRows) -> np.ndarray | None:
        """Per row of the table, whether some value of a float sum is not finite; None where that cannot be."""
        found = None
        for number in self._float_sums:
            values, valid = measured.aggregates[number].values, measured.aggregates[number].valid
            assert values is not None, "sums have values"
            odd = ~np.isfinite(values) if valid is None else ~np.isfinite(values) & valid
            found = odd if found is None else found | odd
        return found

    def components(self, results: Results) -> list[Component]:
        """One component per aggregate of the plan."""
        asked = self._of_no_rows
        without_values = [replace(part, values=None) for part in asked.aggregates]
        return replace(asked, aggregates=without_values).components(results)

    def find_too_large(self, results: Results) -> np.ndarray:
        """The numbers of results in which a sum of floats is infinite."""
        found = [np.flatnonzero(np.isinf(results.aggregates[number])) for number in self._float_sums]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def _one_of(array: np.ndarray | None) -> np.ndarray | None:
    """One value of the same type, for a row whose values nothing counts."""
    return None if array is None else np.zeros(1, array.dtype)
