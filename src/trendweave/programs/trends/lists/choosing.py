"""LIMIT, LONGEST and SAMPLE: how many, and which, trends of each window and group are shown.

An entry is a window in a segment; a window and group may have several. Where trends can be counted, what is chosen
per window and group is shared out among its entries beforehand, so that each entry can be walked by itself. Elsewhere
trends are chosen while they are found: a sample is those of the smallest marks; a trend's mark looks random and depends
on the seed, its key, its times and its variables alone, so every host draws the same.

AFTER MATCH SKIP, LONGEST and SHORTEST PER START: which of the trends of a window and partition are taken.

Of trends that begin with one event only the first one can ever be taken, as it takes its own beginning away. So
whatever the clause, trends are first thinned out to one per first event, which can be done while they are found; what
is left are few enough to be looked at one after the other.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import pyarrow as pa

from trendweave.kernels.lists.contiguous import PAST_LAST, TO_FIRST, TO_LAST, TO_NEXT, Rule
from trendweave.kernels.lists.sample import mark_at_random
from trendweave.kernels.lists.take import NOTHING_TAKEN, take_in_order
from trendweave.kernels.lists.walk import Share
from trendweave.kernels.sorting import stable_order
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Choice, MovingWindow, Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.results.shown_trends import ShownTrends, find_partitions, join_trends
from trendweave.rows.codes import order_codes
from trendweave.rows.encoded import APART, ASKED, CHUNK, NUMBER, TIME, EncodedRows

#: More than any number of trends or events.
NO_LIMIT = 1 << 62
#: An entry with so many times as many trends as are wanted, or with so few, is enumerated instead of drawn from.
_FEW_TIMES, _FEW = 4, 1_000


def share_all(entries: int) -> Share:
    """Show everything."""

    def same(value: int) -> np.ndarray:
        return np.full(entries, value, np.int64)

    return Share(same(NO_LIMIT), same(0), same(NO_LIMIT), same(0), np.zeros(entries + 1, np.int64), same(0)[:0])


def share_sample(place: np.ndarray, counts: Sequence[int], wanted: int, seeds: Sequence[str]) -> Share:
    """A random set of trends of each place, all sets of that size equally likely. `seeds` are texts per entry, the
    same for all entries of a place."""
    share = share_all(place.size)
    share.quota[:] = 0
    picks = [np.empty(0, np.int64)] * place.size
    for members in _group(place):
        source = random.Random(seeds[members[0]])
        ends = list(accumulate(int(counts[entry]) for entry in members))
        if ends[-1] <= wanted:
            ranks: list[int] = list(range(ends[-1]))
        else:
            ranks = _draw_distinct(source, ends[-1], wanted)
        below = 0
        at = 0
        for entry, end in zip(members, ends, strict=True):
            first = at
            while at < len(ranks) and ranks[at] < end:
                at += 1
            share.quota[entry] = at - first
            if end - below <= max(_FEW, _FEW_TIMES * (at - first)):
                picks[entry] = np.array([rank - below for rank in ranks[first:at]], np.int64)
            else:
                share.drawn[entry], share.quota[entry] = at - first, 0
            below = end
    np.cumsum([part.size for part in picks], out=share.pick_starts[1:])
    return share._replace(picks=np.concatenate([share.picks, *picks]))


def _group(place: np.ndarray) -> list[np.ndarray]:
    """The entries of each place."""
    order, starts = stable_order(place, int(place.max(initial=-1)) + 1)
    return [members for members in np.split(order, starts[1:-1]) if members.size]


def _draw_distinct(source: random.Random, below: int, wanted: int) -> list[int]:
    """Different random numbers, sorted."""
    if below < 1 << 62:
        return sorted(source.sample(range(below), wanted))
    found: set[int] = set()
    while len(found) < wanted:
        found.add(source.randrange(below))
    return sorted(found)


def share_first(place: np.ndarray, counts: np.ndarray, wanted: int) -> Share:
    """The first trends of each place; `counts` are those of each entry, as far as they matter."""
    share = share_all(place.size)
    order = np.argsort(place, kind="stable")
    counts = np.clip(counts, 0, wanted).astype(np.int64)[order]
    before = np.cumsum(counts) - counts
    first = np.searchsorted(place[order], place[order])
    share.quota[order] = np.clip(wanted - (before - before[first]), 0, counts)
    return share


def share_longest(place: np.ndarray, lengths: list[np.ndarray], wanted: int) -> Share:
    """`lengths` are those of each entry's longest trends, as many as are wanted, longest first."""
    share = share_all(place.size)
    for members in _group(place):
        together = np.sort(np.concatenate([lengths[entry] for entry in members]))[::-1][:wanted]
        least = int(together[-1]) if together.size else 0
        left = int((together == least).sum())
        for entry in members:
            longer, equal = int((lengths[entry] > least).sum()), int((lengths[entry] == least).sum())
            share.min_length[entry] = least
            share.shortest[entry] = min(left, equal)
            share.quota[entry] = longer + share.shortest[entry]
            left -= int(share.shortest[entry])
    return share


@dataclass(frozen=True, slots=True)
class Limits:
    """How many trends each window and group may still show, where nobody could share them out beforehand.

    Windows and groups, the `places` of entries, are told by two numbers each; `known` are those that there are.
    """

    known: np.ndarray
    left: np.ndarray
    of_entry: np.ndarray

    @staticmethod
    def of(places: np.ndarray, limit: int) -> Limits:
        """`places` has a line per entry."""
        known, of_entry = np.unique(_as_pairs(places), return_inverse=True)
        return Limits(known, np.full(known.size, limit, np.int64), of_entry.reshape(-1))

    def apply(self, trends: ShownTrends, places: np.ndarray) -> ShownTrends:
        """Take only as many trends of each place as are left, and count them."""
        place = np.searchsorted(self.known, _as_pairs(places))
        order = np.argsort(place, kind="stable")
        of = place[order]
        rank = np.empty(of.size, np.int64)
        rank[order] = np.arange(of.size) - np.searchsorted(of, of)
        chosen = np.flatnonzero(rank < self.left[place])
        np.subtract.at(self.left, place[chosen], 1)
        return trends if chosen.size == trends.count else trends.take(chosen)

    def close(self, share: Share) -> None:
        """Let nobody look further into windows and groups that have shown all they may."""
        share.quota[self.left[self.of_entry] == 0] = 0


def _as_pairs(places: np.ndarray) -> np.ndarray:
    """Lines of two numbers as values that have an order."""
    return np.ascontiguousarray(places, np.int64).view([("window", np.int64), ("group", np.int64)]).reshape(-1)


#: Trends that wait to be compared, at least.
_AT_ONCE = 65_536


@dataclass(slots=True)
class WaitingTrends:
    """Trends of which only some are wanted: `thin_out` leaves out others as soon as many wait."""

    thin_out: Callable[[ShownTrends], ShownTrends]
    parts: list[ShownTrends] = field(default_factory=list)
    thinned: int = 0

    def add(self, trends: ShownTrends) -> None:
        """Add trends, in any order."""
        self.parts.append(trends)
        # Twice as many as were left the last time, so that none is looked at more than twice on average.
        if sum(part.count for part in self.parts) > 2 * self.thinned + _AT_ONCE:
            self.parts = [self.thin_out(join_trends(self.parts))]
            self.thinned = self.parts[0].count

    def take(self) -> ShownTrends | None:
        """Take what is wanted of all trends that were added."""
        parts, self.parts, self.thinned = self.parts, [], 0
        return self.thin_out(join_trends(parts)) if parts else None


@dataclass(frozen=True, slots=True)
class Chooser:
    """Keeps so many trends per window and group: the longest, or those of the smallest marks."""

    choice: Choice
    rows: EncodedRows
    seeds: np.ndarray

    @staticmethod
    def of(task: PartitionTask) -> Chooser:
        choice = task.plan.choice
        assert choice is not None, "only a plan that chooses has a chooser"
        return Chooser(choice, task.rows, _seed_partitions(choice.seed, task.preparation, task.rows))

    def choose(self, trends: ShownTrends) -> ShownTrends:
        """Choose among trends."""
        place = trends.group
        if trends.count:
            _, place = np.unique(places_of(trends), axis=0, return_inverse=True)
            place = place.reshape(-1)
        # The last key counts most; what is equal in all of them stays in the order in which it was found.
        order = np.lexsort((*self._ranks(trends), place))
        rank = np.arange(order.size) - np.searchsorted(place[order], place[order])
        return trends.take(np.sort(order[rank < self.choice.count]))

    def _ranks(self, trends: ShownTrends) -> tuple[np.ndarray, ...]:
        marks = self._marks(trends)
        return (marks,) if self.choice.kind == "sample" else (marks, -trends.lengths)

    def _marks(self, trends: ShownTrends) -> np.ndarray:
        moments = self.rows.tick_steps[self.rows.tick[trends.rows]].view(np.uint64)
        # In nanoseconds modulo 2^64: the same time is the same number in whatever unit a table has it.
        moments = moments * np.uint64(self.rows.time_type.step)
        marks = np.empty(trends.count, np.uint64)
        seeds = self.seeds[find_partitions(self.rows, trends)]
        mark_at_random(trends.starts, moments, trends.variables, seeds, marks)
        return marks


def places_of(trends: ShownTrends) -> np.ndarray:
    """What tells the window and group of each trend."""
    return np.column_stack([trends.window, trends.group])


def _seed_partitions(seed: int, preparation: Preparation, rows: EncodedRows) -> np.ndarray:
    """A number per partition that depends on the seed and the values of its key alone."""
    first = rows.partitions.starts[:-1]
    keys = [rows.table.column(name).take(first).to_pylist() for name in preparation.partition_key]
    values = zip(*keys, strict=True) if keys else [()] * first.size
    digests = [hashlib.blake2b(repr((seed, value)).encode(), digest_size=8).digest() for value in values]
    return np.frombuffer(b"".join(digests), np.uint64).copy()


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
