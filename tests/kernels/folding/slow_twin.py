"""The slow twin of folding: Python integers, one row after another, as the definition reads."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.folding.algebra import Algebra
from trendweave.kernels.folding.summaries import (
    KNOWN,
    NEGATIVE_INFINITY,
    NOT_A_NUMBER,
    POSITIVE_INFINITY,
    Summaries,
    concat_summaries,
    empty_summaries,
)
from trendweave.kernels.inputs import Aggregate, Measure, Results, Rows

UNIT = 1074  # floats are whole numbers of 2**-1074


class Ways:
    """All ways from one state before to one state after: how many, what is summed over them, extrema, marks."""

    def __init__(self, algebra: Algebra, count=0):
        self.algebra = algebra
        self.count = count
        self.sums = [0] * len(algebra.linear)
        self.odd = [0] * len(algebra.linear)  # NaN and infinities among what is summed
        self.best = [None] * len(algebra.extrema)

    def copy(self):
        other = Ways(self.algebra, self.count)
        other.sums, other.odd, other.best = list(self.sums), list(self.odd), list(self.best)
        return other

    def add(self, other):
        """Either these ways or the others."""
        self.count += other.count
        for k, (summed, odd) in enumerate(zip(other.sums, other.odd, strict=True)):
            self.sums[k] += summed
            self.odd[k] |= odd
        self.best = [larger(a, b) for a, b in zip(self.best, other.best, strict=True)]
        return self

    def then(self, other):
        """These ways, each followed by each of the others."""
        out = Ways(self.algebra, self.count * other.count)
        if out.count:
            for k in range(len(self.sums)):
                out.sums[k] = self.count * other.sums[k] + self.sums[k] * other.count
                out.odd[k] = self.odd[k] | other.odd[k]
            out.best = [larger(a, b) for a, b in zip(self.best, other.best, strict=True)]
        return out

    def read(self, state, row, aggregates):
        """These ways, each followed by the row, which is read as the state."""
        out, algebra = self.copy(), self.algebra
        variable = algebra.state_variable[state]
        for k, part in enumerate(algebra.linear):
            if not out.count or not part.variables >> variable & 1 or not is_valid(aggregates, part.aggregate, row):
                continue
            value = aggregates[part.aggregate].values[row] if part.values else 1
            if not algebra.exact:
                if value != 0:
                    out.sums[k] += float(value) * out.count
            elif not part.floats:
                out.sums[k] += int(value) * out.count
            elif math.isfinite(value):
                out.sums[k] += in_units(float(value)) * out.count
            else:
                out.odd[k] |= (
                    NOT_A_NUMBER if math.isnan(value) else POSITIVE_INFINITY if value > 0 else NEGATIVE_INFINITY
                )
        for k, extremum in enumerate(algebra.extrema):
            if out.count and extremum.variables >> variable & 1 and is_valid(aggregates, extremum.aggregate, row):
                code = int(exact.order_codes(np.asarray(aggregates[extremum.aggregate].values)[row : row + 1])[0])
                out.best[k] = larger(out.best[k], code if extremum.largest else ~code)
        return out


def in_units(value):
    numerator, denominator = value.as_integer_ratio()
    return (numerator << UNIT) // denominator


def larger(one, other):
    return other if one is None else one if other is None else max(one, other)


def is_valid(aggregates, number, row):
    return number is None or aggregates[number].valid is None or bool(aggregates[number].valid[row])


def lines_of(algebra: Algebra) -> list:
    """The states that lines stand for; the last one is the empty past."""
    return [algebra.states] if algebra.only_beginnings else list(range(algebra.states + 1))


def no_rows(algebra: Algebra) -> list:
    """The map of no rows: [line][state]."""
    one = 1 if algebra.exact else 1.0
    return [
        [Ways(algebra, one if line == state else one - one) for state in range(algebra.states)]
        for line in lines_of(algebra)
    ]


def fold_rows(algebra, ways, rows: Rows, aggregates, low, high):
    """The map `ways` followed by rows low:high; rows of one tick do not follow each other."""
    letters = np.asarray(rows.letters)
    letters = letters[:, None] if letters.ndim == 1 else letters
    one = 1 if algebra.exact else 1.0
    for line, of_line in zip(lines_of(algebra), ways, strict=True):
        row = low
        while row < high:
            before = [way.copy() for way in of_line]
            before.append(Ways(algebra, one if line == algebra.states else one - one))
            now = rows.tick[row]
            tick = [r for r in range(low, high) if rows.tick[r] == now and rows.window_first[r] <= rows.window_last[r]]
            for state, variable in algebra.resets:
                if any(int(letters[r, variable >> 6]) >> (variable & 63) & 1 for r in tick):
                    of_line[state] = Ways(algebra, one - one)
            while row < high and rows.tick[row] == now:
                for state, variable in enumerate(algebra.state_variable):
                    inside = rows.window_first[row] <= rows.window_last[row]
                    if not inside or not int(letters[row, variable >> 6]) >> (variable & 63) & 1:
                        continue
                    sources = [source for source, target in algebra.transitions if target == state]
                    sources += [algebra.states] if algebra.is_start[state] else []
                    for source in sources:
                        of_line[state].add(before[source].read(state, row, aggregates))
                row += 1
    return ways


def extend(
    algebra: Algebra, earlier: Summaries, which: np.ndarray, rows: Rows, aggregates: Sequence[Aggregate]
) -> Summaries:
    out = []
    for segment, number in enumerate(np.asarray(which)):
        ways = no_rows(algebra) if number < 0 else unpack(algebra, earlier, int(number))
        low, high = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        out.append(pack(algebra, fold_rows(algebra, ways, rows, aggregates, int(low), int(high))))
    return concat_summaries(algebra, [empty_summaries(algebra, np.zeros(0, np.int64)), *out])


def finish(algebra: Algebra, summaries: Summaries, low: np.ndarray, high: np.ndarray) -> Results:
    entries: list = []
    ended: list = []
    for entry, (first, end) in enumerate(zip(low, high, strict=True)):
        now: list = []
        for number in range(int(first), int(end)):
            ways = unpack(algebra, summaries, number)
            beginnings = ways[-1]
            if not now:
                now = beginnings
                continue
            for state in range(algebra.states):
                for before in range(algebra.states):
                    beginnings[state].add(now[before].then(ways[before][state]))
            now = beginnings
        total = Ways(algebra, 0 if algebra.exact else 0.0)
        for state in np.flatnonzero(algebra.is_final) if now else ():
            total.add(now[state])
        if total.count:
            entries.append(entry)
            ended.append(total)
    columns, valid = [], []
    for measure, place in zip(algebra.measures, algebra.places, strict=True):
        column, known = read_measure(algebra, measure, place, ended)
        columns.append(column)
        valid.append(known)
    counts = tidy(algebra, [way.count for way in ended])
    return Results(np.array(entries, np.int64), np.zeros(len(ended), np.int64), counts, tuple(columns), tuple(valid))


def read_measure(algebra, measure, place, ended):
    """(values, valid) as `kernels.aggregate` gives them."""
    if place.extremum is not None:
        known = np.array([way.best[place.extremum] is not None for way in ended], bool)
        codes = [way.best[place.extremum] or 0 for way in ended]
        codes = np.array(codes if measure.kind == Measure.MAX else [~code for code in codes], np.int64)
        codes = np.where(known, codes, 0)
        return exact.values_of_codes(codes, measure.floats), known
    if place.summed is None:
        return tidy(algebra, [way.sums[place.counted] for way in ended]), None
    known = None
    divisors = [1] * len(ended)
    if place.counted is not None:
        divisors = [way.sums[place.counted] for way in ended]
        known = np.array([count != 0 for count in divisors], bool)
    if not algebra.exact:
        sums = np.array([way.sums[place.summed] for way in ended], np.float64)
        return (sums if known is None else sums / np.where(known, divisors, 1)), known
    if known is None and not measure.floats:
        return tidy(algebra, [way.sums[place.summed] for way in ended]), None
    quotients = [
        quotient(way.sums[place.summed], way.odd[place.summed], count or 1, not measure.floats)
        for way, count in zip(ended, divisors, strict=True)
    ]
    return np.array(quotients, np.float64), known


def quotient(total, odd, count, whole):
    """total / count, rounded once; what NaN and infinities make of it."""
    if odd & NOT_A_NUMBER or (odd & POSITIVE_INFINITY and odd & NEGATIVE_INFINITY):
        return math.nan
    if odd:
        return math.inf if odd & POSITIVE_INFINITY else -math.inf
    return exact.scale(total, 0 if whole else -UNIT, count)


def tidy(algebra, numbers):
    if not algebra.exact:
        return np.array(numbers, np.float64)
    out = np.empty(len(numbers), object)
    out[:] = numbers
    return exact.narrow_integers(out)


def pack(algebra: Algebra, ways: list) -> Summaries:
    """One summary."""
    numbers, exponents = [], {}
    for k in algebra.float_sums:
        sums = [way.sums[k] for of_line in ways for way in of_line]
        zeros = [(number & -number).bit_length() - 1 for number in sums if number]
        exponents[k] = min(zeros, default=UNIT) - UNIT
    for state in range(algebra.states):
        for part in range(algebra.parts):
            for of_line in ways:
                number = of_line[state].count if part == 0 else of_line[state].sums[part - 1]
                numbers.append(number >> UNIT + exponents[part - 1] if part - 1 in exponents else number)
    width = 1
    if algebra.exact:
        width = max((number.bit_length() if number >= 0 else (~number).bit_length()) // 64 + 1 for number in numbers)
    out = empty_summaries(algebra, np.array([width], np.int64))
    if algebra.exact:
        written = b"".join(number.to_bytes(8 * width, "little", signed=True) for number in numbers)
        out.numbers[:] = np.frombuffer(written, np.int64)
    else:
        out.numbers[:] = numbers
    out.exponents[0] = [exponents[k] for k in algebra.float_sums]
    codes, marks = [], []
    for state in range(algebra.states):
        column = [of_line[state] for of_line in ways]
        for k in algebra.float_sums:
            marks += [way.odd[k] for way in column]
        for k in range(len(algebra.extrema)):
            codes += [way.best[k] or 0 for way in column]
            marks += [0 if way.best[k] is None else KNOWN for way in column]
    out.codes[0], out.marks[0] = codes, marks
    return out


def unpack(algebra: Algebra, summaries: Summaries, number: int) -> list:
    """[line][state] of one summary."""
    begin, width = int(summaries.starts()[number]), int(summaries.width[number])
    ways = [[Ways(algebra) for _ in range(algebra.states)] for _ in lines_of(algebra)]
    marks, codes = iter(summaries.marks[number].tolist()), iter(summaries.codes[number].tolist())
    for state in range(algebra.states):
        for part in range(algebra.parts):
            for of_line in ways:
                words = summaries.numbers[begin : begin + width]
                begin += width
                value: Any = (
                    int.from_bytes(words.tobytes(), "little", signed=True) if algebra.exact else float(words[0])
                )
                if part == 0:
                    of_line[state].count = value
                elif part - 1 in algebra.float_sums:
                    exponent = int(summaries.exponents[number, algebra.float_sums.index(part - 1)])
                    of_line[state].sums[part - 1] = value << UNIT + exponent
                else:
                    of_line[state].sums[part - 1] = value
        for k in algebra.float_sums:
            for of_line in ways:
                of_line[state].odd[k] = next(marks)
        for k in range(len(algebra.extrema)):
            for of_line in ways:
                mark, code = next(marks), next(codes)
                of_line[state].best[k] = code if mark & KNOWN else None
    return ways
