"""A filter as a program: events in which a condition is true, in order of their time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import Problem
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, NotCompiled, compile_condition
from trendweave.expressions.compiled.loading import AROUND_CONDITION, argument_names, read_operands, without_nulls
from trendweave.gpu.card import find_card
from trendweave.gpu.filter import mask_true
from trendweave.kernel_cache.kernel import load_text
from trendweave.language.syntax_tree import Expression
from trendweave.planning.operator_plans import FilterPlan
from trendweave.planning.plan import Path
from trendweave.programs.bound import WholeEvents
from trendweave.programs.operators.bound import BoundOperator
from trendweave.programs.program import (
    EVERYTHING,
    TRENDS,
    Arrange,
    Flag,
    Needs,
    Output,
    Scope,
    Step,
    Steps,
)
from trendweave.programs.steps import PassedSteps
from trendweave.results.types import ResultColumn
from trendweave.rows.dropped import Dropped
from trendweave.rows.times import as_steps, keep_rows_with_time

#: Rows times parts of a condition that Arrow looks at in the time that compiling takes.
_WORTH_COMPILING = 250_000_000
#: Fewer rows are not worth the way to the loop.
_FEW = 10_000
_LOOP = """
@loop
def mask(found, {arguments}):
    for row in range(found.size):
        found[row] = test({values})
"""
_lock = Lock()
#: How much Arrow has looked at, by condition.
_spent: dict[Expression, int] = {}


def settle_test(condition: Expression, rows: pa.Table) -> Callable[[pa.Table], np.ndarray]:
    """Settle how to find the rows in which a condition is true, once for all slices of them.

    Args:
        condition: Of one row.
        rows: All rows, which fit it.

    Returns:
        What finds, for each row of a slice, whether the condition is true; NULL is not.
    """
    if rows.num_rows >= _FEW and _is_worth_compiling(condition, rows.num_rows):
        compiled = _compile(condition, without_nulls(rows))
        if isinstance(compiled, Compiled):
            return lambda some: mask_compiled(compiled, some)
    return lambda some: is_true(condition, some)


def keep_rows(rows: pa.Table, kept: np.ndarray) -> pa.Table:
    """Keep some rows.

    Args:
        rows: The rows.
        kept: Which of them, True or False per row.
    """
    if kept.all():
        return rows
    # Bits are packed several times as fast as Arrow packs them.
    bits = pa.py_buffer(np.packbits(kept, bitorder="little"))
    return rows.filter(pa.Array.from_buffers(pa.bool_(), kept.size, [None, bits]))


def mask_compiled(compiled: Compiled, rows: pa.Table) -> np.ndarray:
    """The same by a compiled loop."""
    with _lock:  # threads that come together would compile the same loop
        loop = _load(compiled)
    found = np.empty(rows.num_rows, np.bool_)
    first = 0
    for batch in rows.select(list(dict.fromkeys(operand.column for operand in compiled.operands))).to_batches():
        loop(found[first : first + batch.num_rows], *read_operands(compiled, "", batch))
        first += batch.num_rows
    return found


def _is_worth_compiling(condition: Expression, rows: int) -> bool:
    spent = _spent.get(condition, 0)
    if spent < _WORTH_COMPILING:
        spent += rows * sum(1 for _ in condition.walk())
        if len(_spent) > 1_000:
            _spent.clear()
        _spent[condition] = spent
    return spent >= _WORTH_COMPILING


@lru_cache(256)
def _compile(condition: Expression, columns: pa.Schema) -> Compiled | NotCompiled:
    compiled = compile_condition(condition, {"": columns})
    # Without a column there is nothing to loop over.
    return NotCompiled("no column is read") if isinstance(compiled, Compiled) and not compiled.operands else compiled


@lru_cache(256)
def _load(compiled: Compiled) -> Any:
    names = [name for name, _ in argument_names(compiled)]
    text = _LOOP.format(arguments=", ".join(names), values=", ".join(f"{name}[row]" for name in names))
    return load_text(AROUND_CONDITION.format(condition=compiled.python, loop=text), "mask")


#: Set in rows that are kept, which are all that come.
_KEPT = "kept"


@dataclass(frozen=True)
class KeptEvents(BoundOperator):
    """Events that a condition keeps, with all of their columns. A prepared row is an event that is kept."""

    plan: FilterPlan
    events: pa.Schema
    time: str
    device: str = "cpu"
    #: Slices are tested apart.
    uses_cores = True

    @property
    def facts(self) -> tuple[str, ...]:
        return (self.plan.text, self.time)

    @cached_property
    def result(self) -> tuple[ResultColumn, ...]:
        return tuple(ResultColumn(field.name, field.type, (field.name,)) for field in self.events)

    @cached_property
    def kept(self) -> WholeEvents:
        """The events that are kept, as rows."""
        return WholeEvents(self.events, self.time)

    @property
    def columns(self) -> dict[Path, str]:
        return {(name,): self.kept.name(name) for name in self.events.names if name != self.time}

    @cached_property
    def needs(self) -> Needs:
        flags = (Flag(None, self.plan.condition),)
        return replace(super().needs, read=tuple(self.events.names), flags=flags, words=(_KEPT,), only_flagged=True)

    def keep(self, events: pa.Table) -> pa.Table:
        """The events in which the condition is true, as they came."""
        if self.device == "gpu":
            return events.filter(mask_true(find_card(), self.plan.condition, events))
        return keep_rows(events, settle_test(self.plan.condition, events)(events))

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        rows = events.num_rows
        events, null_time = keep_rows_with_time(events, self.time)
        return self.kept.keep(self.keep(events)), Dropped(rows, null_time)

    def adopt(self, rows: pa.Table) -> pa.Table:
        return self.kept.adopt(rows)

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        result = self.arrange(self.kept.restore(rows))
        if scope.counted:
            result = result.append_column(TRENDS, pa.array(np.ones(result.num_rows)))
        return Output.of_table(result)

    def arranging(self, by_time: bool = False) -> Arrange:
        return self.arrange

    def arrange(self, rows: pa.Table) -> pa.Table:
        """Rows of a result by time; those of one time stay as they are."""
        times = rows.column(self.time)
        pieces = [as_steps(pa.chunked_array([piece]), self.time_type) for piece in times.chunks if len(piece)]
        if all((steps[1:] >= steps[:-1]).all() for steps in pieces) and all(
            earlier[-1] <= later[0] for earlier, later in pairwise(pieces)
        ):
            return rows
        return rows.take(pa.array(np.argsort(np.concatenate(pieces), kind="stable")))

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps:
        """Rows wait for the watermark, so that they come out in order of their time whatever the pieces were."""
        return PassedSteps(lambda rows, carry, before, watermark: Step(self.compute(rows).batches), carries=False)

    def problems_of_early_rows(self) -> list[Problem]:
        return [Problem("TW409", "a filter returns events at once; there are no early rows", "remove early=")]
