"""What stands for values of neighbours, and for NOT, where rows are forgotten: keys, and copies of states.

Neighbours with equal values: all events of a trend have the same ones, so values are keys like others. Only NULL is
not: it equals nothing, so an event without a value follows none and is followed by none. Each time at which there are
such events gets a key of its own; events of one time do not follow each other anyway.

NOT of single events: gaps between events and behind the last one begin with an event, and so with a state. The gap
before the first event begins with the window: there a trend comes from one state more, which is reached by an opening
that stands before all summaries of a window, and is left as other states are where an event blocks the gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Measure
from trendweave.kernels import Template as KernelTemplate
from trendweave.kernels.loops.summaries import Summaries, concat_summaries
from trendweave.kernels.sorting import list_ranges
from trendweave.planning.folding import plan_folding
from trendweave.planning.plan import KeyColumn, Template
from trendweave.planning.template import Blocking
from trendweave.programs.trends.bound import BoundTrends
from trendweave.programs.trends.measured_values import Measured
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps

#: The time of an event without a value; NULL for others.
_UNKNOWN_AT = "unknown at"


def name_values(bound: BoundTrends) -> tuple[str, ...]:
    """The prepared columns that all events of a trend have in common, because every two neighbours do."""
    names = {expression: name for name, expression in bound.preparation.columns}
    return tuple(names[value] for value in plan_folding(bound.plan).values)


def key_by_values(bound: BoundTrends, values: Sequence[str]) -> BoundTrends:
    """The same query with values as keys: nothing else is asked of neighbours."""
    if not values:
        return bound
    plan, preparation = bound.plan, bound.preparation
    names = (*(name for name in values if name not in preparation.partition_key), _UNKNOWN_AT)
    keys = (KeyColumn((name,), None, nullable=True) for name in names)
    return replace(
        bound,
        plan=replace(plan, partition_key=(*plan.partition_key, *keys)),
        prepared=replace(preparation, partition_key=(*preparation.partition_key, *names)),
    )


def keep_unknown_apart(rows: pa.Table, values: Sequence[str], kind: TimeType) -> pa.Table:
    """Prepared rows with a column that tells events without a value apart by their times; without values as they
    are."""
    if not values:
        return rows
    unknown = np.zeros(rows.num_rows, np.bool_)
    for name in values:
        unknown |= np.asarray(pc.is_null(rows.column(name)))
    steps = as_steps(rows.column(TIME), kind)
    return rows.append_column(_UNKNOWN_AT, pa.array(steps, pa.int64(), mask=~unknown))


#: A template in numbers whose states have copies that forget, and pairs (state, variable): events of the variable make
#: trends in the state nothing.
Gaps: TypeAlias = tuple[KernelTemplate, tuple[tuple[int, int], ...]]


def number_gaps(template: Template, blocking: Blocking, variables: Mapping[str, int]) -> Gaps:
    """A copy of each state for each set of variables whose events block what follows.

    A trend that goes on over a gap in which an event must not lie goes on from a copy of its state. The copy is reached
    as the state is, and is emptied by each such event, after events of the same time have read it and before they are
    added: an event blocks only gaps that begin before it and end after it.

    Args:
        template: The template of a plan.
        blocking: The names of variables that block its gaps.
        variables: The numbers of all variables. The number behind them is that of the opening.

    Returns:
        The template, with a state more where trends may not begin everywhere in a window.
    """

    def numbered(names: frozenset[str]) -> frozenset[int]:
        return frozenset(variables[name] for name in names)

    variable = [variables[state.variable] for state in template.states]
    begins = {start.state for start in template.starts}
    ends = {end.state: numbered(names) for end, names in zip(template.ends, blocking.behind, strict=True)}
    between = zip(template.transitions, blocking.between, strict=True)
    gaps = [(step.source, step.target, numbered(names)) for step, names in between]
    if blocking.leads:
        opening = len(variable)
        variable.append(len(variables))
        before = zip(template.starts, blocking.before, strict=True)
        gaps += [(opening, start.state, numbered(names)) for start, names in before if names]
        begins = {opening, *begins} - {target for source, target, _ in gaps if source == opening}
    copies = {(source, names) for source, _, names in gaps} | set(ends.items())
    states = [(state, frozenset[int]()) for state in range(len(variable))]
    states += sorted((one for one in copies if one[1]), key=lambda copy: (copy[0], sorted(copy[1])))
    steps = [
        (states.index((source, names)), place)
        for source, target, names in gaps
        for place, (state, _) in enumerate(states)
        if state == target
    ]
    is_final = [ends.get(state) == names for state, names in states]
    useful = {place for place, final in enumerate(is_final) if final}
    while more := {source for source, target in steps if target in useful} - useful:
        useful |= more
    kept = sorted(useful) or list(range(len(states)))
    number = {place: index for index, place in enumerate(kept)}
    pairs = [(number[source], number[target]) for source, target in steps if source in number and target in number]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    changed = KernelTemplate(
        np.array([variable[states[place][0]] for place in kept], np.int64),
        np.array([states[place][0] in begins for place in kept], bool),
        np.array([is_final[place] for place in kept], bool),
        source,
        target,
    )
    return changed, tuple((number[place], v) for place in kept for v in sorted(states[place][1]))


def open_windows(
    opening: Summaries, summaries: Summaries, low: np.ndarray, high: np.ndarray
) -> tuple[Summaries, np.ndarray, np.ndarray]:
    """Put an opening before each run low:high of summaries.

    Args:
        opening: The opening.
        summaries: The summaries.
        low: Where each run begins.
        high: Where each run ends.

    Returns:
        Summaries, and where each run begins and ends among them.
    """
    ends = np.cumsum(high - low + 1)
    begins = ends - (high - low + 1)
    index = list_ranges(low - 1, high - low + 1)
    index[begins] = summaries.size
    return concat_summaries([summaries, opening]).take(index), begins, ends


def find_infinite(measured: Measured, count: int) -> np.ndarray:
    """Per row of a table, whether some value that is summed is not finite."""
    found = np.zeros(count, np.bool_)
    for one in measured.aggregates:
        if one.kind == Measure.SUM and one.values is not None and one.values.dtype == np.float64:
            found |= ~np.isfinite(one.values) if one.valid is None else ~np.isfinite(one.values) & one.valid
    return found
