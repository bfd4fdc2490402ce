"""AFTER MATCH SKIP, LONGEST and SHORTEST PER START: which of the trends of a window and partition are taken.

Of trends that begin with one event only the first one can ever be taken, as it takes its own beginning away. So
whatever the clause, trends are first thinned out to one per first event, which can be done while they are found; what
is left are few enough to be looked at one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.kernels.lists.contiguous import PAST_LAST, TO_FIRST, TO_LAST, TO_NEXT, Rule
from trendweave.kernels.lists.take import NOTHING_TAKEN, take_in_order
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import MovingWindow, Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.programs.trends.lists.choosing import WaitingTrends
from trendweave.results.shown_trends import ShownTrends, find_partitions
from trendweave.rows.codes import order_codes
from trendweave.rows.encoded import APART, ASKED, CHUNK, NUMBER, TIME, EncodedRows

#: Columns that say nothing of events beside their order.
_OF_NO_EVENT = (TIME, CHUNK, APART, ASKED, NUMBER)
SKIPS = {"next": TO_NEXT, "past last": PAST_LAST, "first": TO_FIRST, "last": TO_LAST}


def read_rule(plan: Plan) -> Rule:
    """Settle what a plan that selects trends asks for."""
    selection = plan.selection
    assert selection is not None, "only a plan that selects has a rule"
    names = [variable.name for variable in plan.variables]
    variable = -1 if selection.variable is None else names.index(selection.variable)
    by_window = not isinstance(plan.window, MovingWindow)
    return Rule(SKIPS[selection.skip], variable, selection.shortest, by_window)


def place_rows(preparation: Preparation, rows: EncodedRows) -> np.ndarray:
    """Number the rows in the order in which events are compared. Those of one tick come by the values of the columns
    that are returned, by their names, then of the type, and then of all others: so every host takes the same trends.

    Args:
        preparation: The names of prepared columns.
        rows: The rows.

    Returns:
        A number per row.
    """
    place = np.arange(rows.tick.size)
    if rows.tick_steps.size == rows.tick.size:
        return place
    tied = np.flatnonzero(np.bincount(rows.tick)[rows.tick] > 1)
    paths = {name: found.names for name, found in preparation.columns if isinstance(found, st.Attribute)}
    returned = {name for name in (*preparation.shown, *preparation.values) if name is not None}
    names = sorted(returned, key=lambda name: paths.get(name, ()))
    names += [name for name in preparation.shown_types if name not in returned]
    names += [name for name in rows.table.column_names if name not in names and name not in _OF_NO_EVENT]
    columns = [rows.table.column(name) for name in names if not pa.types.is_nested(rows.table.schema.field(name).type)]
    codes = [order_codes(column, column)[0] for column in (column.take(pa.array(tied)) for column in columns)]
    place[tied[np.lexsort((*codes[::-1], rows.tick[tied]))]] = tied
    return place


def first_of_beginnings(rule: Rule, trends: ShownTrends, ticks: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Find the trends that come first among those of their window and first event: of those that end last (`shortest`:
    first), events are compared one by one: times, variables, and the places of rows.

    Args:
        rule: What the query asks for.
        trends: Trends of any windows and partitions.
        ticks: The tick of each of their events.
        places: The place of each of their events among the rows.

    Returns:
        Their numbers, by window and partition, in the order in which they are taken.
    """
    window, first, last = _windows(rule, trends), trends.starts[:-1], trends.starts[1:] - 1
    ends = ticks[last] if rule.shortest else -ticks[last]
    order = np.lexsort((ends, places[first], window))
    fresh = np.ones(order.size, np.bool_)
    fresh[1:] = (np.diff(window[order]) != 0) | (np.diff(places[first[order]]) != 0)
    chosen = order[fresh]
    beginning = np.cumsum(fresh) - 1
    # Those that end with the first of their beginning, as long as several are left.
    tied = ends[order] == ends[chosen][beginning]
    left, of, position = order[tied], beginning[tied], 0
    while left.size:
        several = np.bincount(of, minlength=chosen.size)[of] > 1
        left, of = left[several], of[several]
        # Trends with one end are over together, if they do not differ before.
        goes_on = first[left] + position <= last[left]
        left, of = left[goes_on], of[goes_on]
        for key in (ticks, trends.variables, places):
            values = key[first[left] + position]
            bounds = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if of.size else of
            least = np.repeat(np.minimum.reduceat(values, bounds), np.diff(bounds, append=of.size)) if of.size else of
            left, of = left[values == least], of[values == least]
        chosen[of[::-1]] = left[::-1]  # the first of each that is left
        position += 1
    begin = first[chosen]
    return chosen[np.lexsort((places[begin], ends[chosen], trends.variables[begin], ticks[begin], window[chosen]))]


def taken_until(rule: Rule, trends: ShownTrends, ticks: np.ndarray) -> np.ndarray:
    """Per trend the last tick at which no other event may begin one once it is taken; NOTHING_TAKEN where each may."""
    if rule.kind == PAST_LAST:
        return ticks[trends.starts[1:] - 1]
    until = np.full(trends.count, NOTHING_TAKEN, np.int64)
    if rule.kind in (TO_FIRST, TO_LAST):
        at = np.flatnonzero(trends.variables == rule.variable)
        if rule.kind == TO_FIRST:
            at = at[::-1]
        of = np.searchsorted(trends.starts, at, side="right") - 1
        until[of] = ticks[at] - 1  # the last one counts
        until[until < ticks[trends.starts[:-1]]] = NOTHING_TAKEN
    return until


def _windows(rule: Rule, trends: ShownTrends) -> np.ndarray:
    return trends.window if rule.by_window else np.zeros(trends.count, np.int64)


@dataclass(slots=True)
class Selector:
    """Selects among trends while they are found. `limit` is per partition of `rows` the last tick at which none may
    begin; it grows with what is taken."""

    rule: Rule
    rows: EncodedRows
    places: np.ndarray
    limit: np.ndarray

    @staticmethod
    def of(task: PartitionTask) -> Selector | None:
        """None where a plan takes all trends."""
        if task.plan.selection is None:
            return None
        nothing = np.full(task.rows.partitions.count, NOTHING_TAKEN, np.int64)
        return Selector(read_rule(task.plan), task.rows, place_rows(task.preparation, task.rows), nothing)

    def thin_out(self, trends: ShownTrends) -> ShownTrends:
        """Only the trends that come first among those of their window and first event."""
        ticks, places = self.rows.tick[trends.rows], self.places[trends.rows]
        return trends.take(first_of_beginnings(self.rule, trends, ticks, places))

    def select(self, found: Iterable[ShownTrends | None]) -> Iterator[ShownTrends]:
        """Select among trends; None stands behind all trends of some windows and partitions."""
        waiting = WaitingTrends(self.thin_out)
        for some in found:
            if some is not None:
                waiting.add(some)
            elif (trends := waiting.take()) is not None:
                ticks, taken = self.rows.tick[trends.rows], np.zeros(trends.count, np.bool_)
                place, limit = find_partitions(self.rows, trends), self.limit
                if self.rule.by_window:
                    place = np.unique(np.stack([trends.window, place]), axis=1, return_inverse=True)[1].reshape(-1)
                    limit = np.full(trends.count, NOTHING_TAKEN, np.int64)
                until = taken_until(self.rule, trends, ticks)
                take_in_order(place, ticks[trends.starts[:-1]], until, limit, taken)
                yield trends.take(np.flatnonzero(taken))
