"""Aggregates over trends, and what one trend says of itself (semantics, "Groups and results" and "Detection")."""

from __future__ import annotations

import math
from fractions import Fraction

from .brute_force import Row, Trend, evaluate
from .query import LENGTH, Aggregate, Calculated, Output
from .scalars import Scalar, identity, is_nan, largest, smallest


def aggregate(wanted: Aggregate, found: list[Trend], events: list[Row]) -> Scalar:
    """One aggregate over all trends of a group; an event in several trends counts once in each of them."""
    if wanted == Aggregate("COUNT", name=wanted.name):
        return len(found)
    if wanted.attribute == LENGTH:
        values: list[Scalar] = [len(trend) for trend in found]
    else:
        occurrences = [index for trend in found for index, variable in trend if variable == wanted.variable]
        if wanted.attribute is None:
            return len(occurrences)
        values = [events[index][wanted.attribute] for index in occurrences]
    known = [value for value in values if value is not None]
    if wanted.distinct:
        return len({identity(value) for value in known})
    if not known:
        return None
    match wanted.function:
        case "MIN":
            return smallest(known)
        case "MAX":
            return largest(known)
        case "SUM":
            return total(known)
        case "AVG":
            return average(known)
        case "STDDEV":
            return standard_deviation(known)
    raise ValueError(wanted)


def of_one_trend(wanted: Output, trend: Trend, events: list[Row]) -> Scalar:
    """An aggregate of one trend, its length, or what its events of one variable are: one of them, their values, their
    percentile."""
    if isinstance(wanted, Calculated):
        return evaluate(wanted.value, lambda leaf: of_one_trend(leaf, trend, events))
    if wanted.function == LENGTH:
        return len(trend)
    values = [events[index].get(wanted.attribute) for index, variable in trend if variable == wanted.variable]
    known = [value for value in values if value is not None]
    match wanted.function:
        case "FIRST":
            return nth(values, 1)
        case "LAST":
            return nth(values, -1)
        case "NTH":
            return nth(values, wanted.parameter)
        case "COLLECT_LIST":
            return known
        case "COLLECT_SET":
            return firsts(known)
        case "MEDIAN":
            return percentile(known, 0.5)
        case "PERCENTILE":
            return percentile(known, wanted.parameter)
    return aggregate(wanted, [trend], events)


def nth(values: list[Scalar], number: int) -> Scalar:
    """The second event is that of number 2, the last but one that of number -2."""
    place = number - 1 if number > 0 else len(values) + number
    return values[place] if 0 <= place < len(values) else None


def firsts(values: list[Scalar]) -> list[Scalar]:
    """Of equal values the first."""
    seen: dict[object, Scalar] = {}
    for value in values:
        seen.setdefault(identity(value), value)
    return list(seen.values())


def percentile(values: list[int | float], share: float) -> float | None:
    """As Spark SQL's `percentile`: on the straight line between the two values around the place of the share."""
    if not values:
        return None
    ordered = sorted(values, key=lambda value: (is_nan(value), 0 if is_nan(value) else value))
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    if low == high or math.floor(place) == math.ceil(place):
        return float(low)
    return (math.ceil(place) - place) * low + (place - math.floor(place)) * high


def total(values: list[int | float]) -> int | float:
    """The exact sum: of integers an integer of any size, of doubles the double nearest to it."""
    if all(isinstance(value, int) for value in values):
        return sum(values)
    special = [value for value in values if is_nan(value) or value in (math.inf, -math.inf)]
    if special:
        return sum(special)  # by the rules of IEEE 754: infinity, or NaN where the infinities disagree
    return nearest_double(sum(map(Fraction, values)))


def average(values: list[int | float]) -> float:
    whole = total(values)
    if is_nan(whole) or whole in (math.inf, -math.inf):
        return whole
    return nearest_double(sum(map(Fraction, values)) / len(values))


def standard_deviation(values: list[int | float]) -> float | None:
    """Of a sample: NULL below two values."""
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = sum(map(Fraction, values)) / len(values)
    return math.sqrt(sum((Fraction(value) - mean) ** 2 for value in values) / (len(values) - 1))


def nearest_double(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
