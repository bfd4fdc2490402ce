"""Aggregates of segments, merged into aggregates of groups. Whole numbers stay exact, however large they get."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True, slots=True)
class Component:
    """One number per entry. `kind` says how entries are merged: "sum", "min", "max", or "avg".

    `weight` is the number of values behind a sum or an average. `known` is False where there was nothing to aggregate
    (SQL's NULL); None where that cannot be.
    """

    kind: str
    values: np.ndarray
    known: np.ndarray | None = None
    weight: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Partials:
    """Entries for (window, group) with at least one trend. The first component is the number of trends."""

    window: np.ndarray
    group: np.ndarray
    components: tuple[Component, ...]

    def __len__(self) -> int:
        return self.window.size


def merge(parts: list[Partials]) -> Partials:
    """One entry per (window, group), ordered by both."""
    window = np.concatenate([part.window for part in parts])
    group = np.concatenate([part.group for part in parts])
    columns = [_joined([part.components[i] for part in parts]) for i in range(len(parts[0].components))]
    order = np.lexsort((group, window))
    window, group = window[order], group[order]
    new = np.ones(window.size, np.bool_)
    new[1:] = (window[1:] != window[:-1]) | (group[1:] != group[:-1])
    columns = [_reordered(column, order) for column in columns]
    if not new.all():
        starts = np.flatnonzero(new)
        columns = [_reduced(column, starts) for column in columns]
        window, group = window[starts], group[starts]
    return Partials(window, group, tuple(columns))


def _joined(components: list[Component]) -> Component:
    def join(arrays: list[np.ndarray | None]) -> np.ndarray | None:
        return None if arrays[0] is None else np.concatenate(arrays)

    return Component(
        components[0].kind,
        np.concatenate([part.values for part in components]),
        join([part.known for part in components]),
        join([part.weight for part in components]),
    )


def _reordered(component: Component, order: np.ndarray) -> Component:
    def take(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[order]

    return Component(component.kind, component.values[order], take(component.known), take(component.weight))


def _reduced(component: Component, starts: np.ndarray) -> Component:
    known = None if component.known is None else np.logical_or.reduceat(component.known, starts)
    if component.kind == "sum":
        values = component.values if component.known is None else np.where(component.known, component.values, 0)
        weight = None if component.weight is None else exact_sums(component.weight, starts)
        return Component("sum", exact_sums(values, starts), known, weight)
    if component.kind == "avg":
        return _average(component, starts, known)
    return Component(component.kind, _extremes(component, starts), known)


def exact_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of runs. 64-bit numbers become Python integers where a sum might not fit."""
    if values.dtype == np.int64:
        sizes = np.add.reduceat(np.abs(values.astype(np.float64)), starts)
        if sizes.max(initial=0.0) < 2.0**62:
            return np.add.reduceat(values, starts)
        values = values.astype(object)
    return np.add.reduceat(values, starts)


def _average(component: Component, starts: np.ndarray, known: np.ndarray | None) -> Component:
    """Averages weighted by the number of values, which may be beyond any float."""
    weight = exact_sums(component.weight, starts)
    values = np.empty(starts.size)
    ends = np.append(starts[1:], component.values.size)
    for i, (low, high) in enumerate(zip(starts, ends, strict=True)):
        values[i] = _weighted(component.values[low:high], component.weight[low:high])
    return Component("avg", values, known, weight)


def _weighted(values: np.ndarray, weights: np.ndarray) -> float:
    used = [(value, int(weight)) for value, weight in zip(values, weights, strict=True) if weight]
    if len(used) == 1:
        return used[0][0]
    total = sum(weight for _, weight in used)
    if not used or not all(np.isfinite(value) for value, _ in used):
        return float(sum(value for value, _ in used))
    return float(sum((Fraction(value) * weight for value, weight in used), Fraction(0)) / total)


def _extremes(component: Component, starts: np.ndarray) -> np.ndarray:
    """Smallest or largest known value of each run. NaN is larger than every other number."""
    values, known = component.values, component.known
    if component.kind == "min":
        # fmin passes over NaN, as the smallest value does unless there is no other.
        filler = np.nan if values.dtype == np.float64 else np.iinfo(values.dtype).max
        return np.fmin.reduceat(values if known is None else np.where(known, values, filler), starts)
    filler = -np.inf if values.dtype == np.float64 else np.iinfo(values.dtype).min
    return np.maximum.reduceat(values if known is None else np.where(known, values, filler), starts)
