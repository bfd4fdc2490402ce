"""Aggregates of segments, merged into aggregates of groups. Whole numbers stay exact, however large they get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.sorting import from_ordered_bits, ordered_bits
from trendweave.rows.codes import first_of_each, key_codes, present_codes

#: How entries of one window and group become one.
Merging: TypeAlias = Literal["sum", "min", "max", "avg", "variance", "distinct"]


@dataclass(frozen=True, slots=True)
class Component:
    """One number per entry. `kind` says how entries are merged.

    `weight` is the number of values behind a sum, an average or a variance, and `mean` the average beside a variance.
    `known` is False where there was nothing to aggregate (SQL's NULL); None where that cannot be. Distinct values are
    arrays of codes, which count through `dictionary`.
    """

    kind: Merging
    values: np.ndarray
    known: np.ndarray | None = None
    weight: np.ndarray | None = None
    mean: np.ndarray | None = None
    dictionary: pa.Array | None = None

    def take(self, index: np.ndarray) -> Component:
        """Take some entries.

        Args:
            index: Their numbers, or a mask.

        Returns:
            The entries.
        """

        def take(array: np.ndarray | None) -> np.ndarray | None:
            return None if array is None else array[index]

        parts = (take(self.known), take(self.weight), take(self.mean))
        return Component(self.kind, self.values[index], *parts, self.dictionary)


@dataclass(frozen=True, slots=True)
class Partials:
    """Entries for (window, group) with at least one trend. The first component is the number of trends."""

    window: np.ndarray
    group: np.ndarray
    components: tuple[Component, ...]

    def take(self, index: np.ndarray) -> Partials:
        """Take some entries.

        Args:
            index: Their numbers, or a mask.

        Returns:
            The entries.
        """
        return Partials(self.window[index], self.group[index], tuple(part.take(index) for part in self.components))


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Aggregates, whose windows are told by their keys, and the grouping attributes of each entry."""

    partials: Partials
    groups: list[pa.Array]


def merge(parts: list[Partials]) -> Partials:
    """Merge entries of one window and group.

    Args:
        parts: Aggregates of several segments or tasks.

    Returns:
        One entry per (window, group), ordered by both.
    """
    if len(parts) == 1:
        return _merge_one(parts[0])
    # Small before they are put together, where many entries are of few windows and groups.
    parts = [_merge_one(part) if part.window.size > _count_cells(part) else part for part in parts]
    columns = [_join([part.components[i] for part in parts]) for i in range(len(parts[0].components))]
    window, group = (np.concatenate([getattr(part, name) for part in parts]) for name in ("window", "group"))
    return _merge_one(Partials(window, group, tuple(columns)))


def merge_results(results: Sequence[TaskResult]) -> TaskResult:
    """Merge entries of one window whose grouping attributes are equal.

    Args:
        results: Aggregates of several tasks, at least of one.

    Returns:
        One entry per window and group.
    """
    sizes = [result.partials.window.size for result in results]
    columns = [pa.chunked_array(list(parts)) for parts in zip(*(result.groups for result in results), strict=True)]
    codes = key_codes(columns, sum(sizes))
    parts = zip(results, np.split(codes, np.cumsum(sizes)[:-1]), strict=True)
    merged = merge([replace(result.partials, group=group) for result, group in parts])
    first = pa.array(first_of_each(codes)[merged.group])
    return TaskResult(merged, [pc.take(column, first) for column in columns])


def _count_cells(part: Partials) -> int:
    """How many entries there are at most, if there is one per window and group."""
    if not part.window.size:
        return 0
    return (int(part.window.max()) - int(part.window.min()) + 1) * (int(part.group.max()) + 1)


def _merge_one(part: Partials) -> Partials:
    if not part.window.size:
        return part
    lowest, groups = int(part.window.min()), int(part.group.max()) + 1
    place, keys = present_codes((part.window - lowest) * groups + part.group)
    # COUNT(*) is the number of trends again: what is the same is merged once.
    which = [(column.kind, *map(id, (column.values, column.known, column.weight))) for column in part.components]
    different = dict(zip(which, part.components, strict=True))
    merged = {one: _merge_entries(column, place, keys.size) for one, column in different.items()}
    return Partials(keys // groups + lowest, keys % groups, tuple(merged[one] for one in which))


def _join(components: list[Component]) -> Component:
    """The entries of all, one after the other; a part that one component lacks is lacking in all of them."""

    def join(arrays: list[np.ndarray | None]) -> np.ndarray | None:
        known = [array for array in arrays if array is not None]
        return np.concatenate(known) if known else None

    return Component(
        components[0].kind,
        np.concatenate([part.values for part in components]),
        join([part.known for part in components]),
        join([part.weight for part in components]),
        join([part.mean for part in components]),
        components[0].dictionary,
    )


def _merge_entries(component: Component, place: np.ndarray, count: int) -> Component:
    if count == place.size:
        order = np.empty(count, np.int64)
        order[place] = np.arange(count)
        return component.take(order)
    if component.kind == "distinct":
        return replace(component, values=_merge_sets(component.values, place, count))
    known, values = None, component.values
    if component.known is not None:
        all_known = component.known.all()
        known = np.zeros(count, np.bool_)
        known[place if all_known else place[component.known]] = True
        values = values if all_known else np.where(component.known, values, 0)
    if component.kind == "sum":
        weight = None if component.weight is None else exact_sums(place, component.weight, count)
        return Component("sum", exact_sums(place, values, count), known, weight)
    if component.kind == "avg":
        return _merge_averages(component, place, count, known)
    if component.kind == "variance":
        return _merge_variances(component, place, count, known)
    return Component(component.kind, _find_extremes(component, place, count), known)


def exact_sums(place: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Sum by place, exactly.

    Args:
        place: Where each value belongs.
        values: 64-bit numbers, floats or Python integers.
        count: How many places there are.

    Returns:
        Sums; Python integers where one does not fit 64 bits.
    """
    if values.dtype != object:
        sums = _add_at(place, values, count)
        if sums is not None:
            return sums
    large = np.zeros(count, object)
    np.add.at(large, place, values.astype(object))
    return large


def _merge_averages(component: Component, place: np.ndarray, count: int, known: np.ndarray | None) -> Component:
    """Averages weighted by the number of values, which may be beyond any float."""
    assert component.weight is not None
    weight = exact_sums(place, component.weight, count)
    values = np.where(np.asarray(component.weight != 0, np.bool_), component.values, 0.0)
    if component.weight.dtype != object and weight.dtype != object:
        with np.errstate(over="ignore", invalid="ignore"):
            totals = np.bincount(place, values * component.weight, count)
        if np.isfinite(totals).all():
            return Component("avg", totals / np.maximum(weight, 1), known, weight)
    with np.errstate(invalid="ignore"):
        parts = np.where(np.isfinite(values), values * _find_shares(component.weight, weight, place), values)
    return Component("avg", np.bincount(place, parts, count), known, weight)


def _find_shares(parts: np.ndarray, wholes: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Which part of the whole of its place each number is."""
    if parts.dtype != object and wholes.dtype != object:
        return parts / np.maximum(wholes, 1)[place]
    pairs = zip(parts.tolist(), wholes[place].tolist(), strict=True)
    return np.array([int(part) / int(whole) if part else 0.0 for part, whole in pairs], np.float64)


def _merge_variances(component: Component, place: np.ndarray, count: int, known: np.ndarray | None) -> Component:
    """What each entry varies by itself, and what the averages of the entries vary, both by the share of the entry."""
    assert component.weight is not None, "a variance has a number of values"
    assert component.mean is not None, "a variance has an average beside it"
    weight = exact_sums(place, component.weight, count)
    share = _find_shares(component.weight, weight, place)
    used = share > 0
    own = np.where(used, component.mean, 0.0)
    mean = np.bincount(place, share * own, minlength=count)
    inner = np.bincount(place, share * np.where(used, component.values, 0.0), minlength=count)
    between = np.bincount(place, share * (own - mean[place]) ** 2, minlength=count)
    # Averages that are equal but for rounding do not vary.
    between = np.where(between < (2.0**-50 * mean) ** 2, 0.0, between)
    return Component("variance", inner + between, known, weight, mean)


def _merge_sets(values: np.ndarray, place: np.ndarray, count: int) -> np.ndarray:
    merged = np.empty(count, object)
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(1, count))
    for number, entries in enumerate(np.split(order, cuts)):
        sets = [values[entry] for entry in entries]
        merged[number] = sets[0] if len(sets) == 1 else np.unique(np.concatenate(sets))
    return merged


def _find_extremes(component: Component, place: np.ndarray, count: int) -> np.ndarray:
    """Smallest or largest known value by place. NaN is larger than every other number."""
    values = component.values
    known = np.ones(values.size, np.bool_) if component.known is None else component.known
    is_float = values.dtype == np.float64
    codes = ordered_bits(values) if is_float else values
    if component.kind == "min":
        codes = ~codes
    best = _largest_at(place, codes, known, count)
    if component.kind == "min":
        best = ~best
    return from_ordered_bits(best) if is_float else best.astype(values.dtype)


# Numbers by place: added up, or the largest kept

_LOW_BITS = 32


def _add_at(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray | None:
    """Sums of int64 or float64 values by place; None where a sum of whole numbers does not fit 64 bits."""
    sums = np.zeros(count, values.dtype)
    if values.dtype == np.float64 or max(int(values.max(initial=0)), -int(values.min(initial=0))) * values.size < 2**63:
        np.add.at(sums, places, values)
        return sums
    # Halves apart, as neither sum can pass 64 bits: there are fewer than 2**31 values.
    low, high = np.zeros((2, count), np.int64)
    np.add.at(low, places, values & ((1 << _LOW_BITS) - 1))
    np.add.at(high, places, values >> _LOW_BITS)
    high += low >> _LOW_BITS
    if count and (high.max() >= 1 << (_LOW_BITS - 1) or high.min() < -(1 << (_LOW_BITS - 1))):
        return None
    return (high << _LOW_BITS) | (low & ((1 << _LOW_BITS) - 1))


def _largest_at(places: np.ndarray, values: np.ndarray, known: np.ndarray, count: int) -> np.ndarray:
    """The largest known int64 value by place, 0 where there is none."""
    places, values = places[known], values[known]
    best, found = np.full(count, np.iinfo(np.int64).min), np.zeros(count, np.bool_)
    np.maximum.at(best, places, values)
    found[places] = True
    best[~found] = 0
    return best
