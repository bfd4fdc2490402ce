"""The definition, in plain Python: enumerate every trend of every window. Imports nothing from the kernels."""

import operator
from fractions import Fraction

OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


def accepts(case, t, p, e):
    """Letter and comparisons (and pair test) of transition t from row p to row e; guards play no part."""
    if not case["letters"][e] >> case["state_variable"][case["target"][t]] & 1:
        return False
    for previous, op, following in case["comparisons"][t]:
        x, y = previous[p], following[e]
        if x < 0 or y < 0 or not OPERATORS[op](x, y):
            return False
    test = case["pair_tests"][t]
    return test is None or test(p, e)


def edges_from(case, state, p, rows):
    """(target state, row) pairs that may follow (p, state), among the rows of its segment."""
    tick = case["tick"]
    later = [e for e in rows if tick[e] > tick[p]]
    out = [t for t in range(len(case["source"])) if case["source"][t] == state]
    if case["selection"] == "contiguous":
        later = [e for e in later if tick[e] == tick[p] + 1]
    if case["selection"] == "next":
        successors = [tick[e] for e in later if any(accepts(case, t, p, e) for t in out)]
        later = [e for e in later if successors and tick[e] == min(successors)]
    for e in later:
        for t in out:
            if accepts(case, t, p, e) and (case["guards"][t] is None or tick[p] >= case["guards"][t][e]):
                yield case["target"][t], e


def trends(case, segment, window):
    """Every trend of one window as a list of (row, state)."""
    begin, end = case["segment_starts"][segment : segment + 2]
    rows = range(begin, end)
    inside = lambda r: case["window_first"][r] <= window <= case["window_last"][r]  # noqa: E731
    stack = []
    for state in range(len(case["state_variable"])):
        for r in rows:
            if not (case["is_start"][state] and inside(r) and case["letters"][r] >> case["state_variable"][state] & 1):
                continue
            guard = case["start_guards"].get(state)
            if guard is None or window >= guard[r]:
                stack.append([(r, state)])
    while stack:
        trend = stack.pop()
        row, state = trend[-1]
        if case["is_final"][state]:
            guard = case["final_guards"].get(state)
            if guard is None or window <= guard[row]:
                yield trend
        for target, e in edges_from(case, state, row, rows):
            if inside(e):
                stack.append([*trend, (e, target)])


def results(case):
    """{(segment, window): (count, [aggregate or None])} for windows with a trend."""
    out = {}
    for segment in range(len(case["segment_starts"]) - 1):
        begin, end = case["segment_starts"][segment : segment + 2]
        windows = {w for r in range(begin, end) for w in range(case["window_first"][r], case["window_last"][r] + 1)}
        for window in sorted(windows):
            found = list(trends(case, segment, window))
            if found:
                out[segment, window] = (len(found), [fold(case, found, a) for a in case["aggregates"]])
    return out


def fold(case, found, aggregate):
    """One aggregate over all occurrences in the trends found."""
    kind, mask, values, valid = aggregate
    rows = [
        r
        for trend in found
        for r, state in trend
        if mask >> case["state_variable"][state] & 1 and (valid is None or valid[r])
    ]
    if kind == "count":
        return len(rows)
    if kind == "sum":
        return sum(Fraction(values[r]) for r in rows)
    if not rows:
        return None
    if kind == "avg":
        return sum(Fraction(values[r]) for r in rows) / len(rows)
    return (min if kind == "min" else max)(values[r] for r in rows)


def latest_starts(case, queries):
    """For each (segment, tick): the largest start tick of a trend (one window) that ended strictly before; None if
    none."""
    answers = []
    for segment, tick in queries:
        ended = [case["tick"][trend[0][0]] for trend in trends(case, segment, 0) if case["tick"][trend[-1][0]] < tick]
        answers.append(max(ended, default=None))
    return answers


def propagated(case):
    """{(segment, window): [number of trends, sum of values of all events]} with Python integers, vertex by vertex; for
    counts too large to enumerate. One value column: case["values"]."""
    out = {}
    for segment in range(len(case["segment_starts"]) - 1):
        begin, end = case["segment_starts"][segment : segment + 2]
        rows = range(begin, end)
        follow = {(s, p): list(edges_from(case, s, p, rows)) for p in rows for s in range(len(case["state_variable"]))}
        for window in {w for r in rows for w in range(case["window_first"][r], case["window_last"][r] + 1)}:
            count, total = {}, {}
            answer = [0, 0]
            inside = [r for r in rows if case["window_first"][r] <= window <= case["window_last"][r]]
            for r in inside:
                for state, variable in enumerate(case["state_variable"]):
                    if not case["letters"][r] >> variable & 1:
                        continue
                    begins = case["is_start"][state] and window >= case["start_guards"].get(state, {r: window})[r]
                    c = count.get((r, state), 0) + int(begins)
                    t = total.get((r, state), 0) + c * case["values"][r]
                    if case["is_final"][state] and window <= case["final_guards"].get(state, {r: window})[r]:
                        answer[0] += c
                        answer[1] += t
                    for target, e in follow[state, r] if c else ():
                        if case["window_first"][e] <= window <= case["window_last"][e]:
                            count[e, target] = count.get((e, target), 0) + c
                            total[e, target] = total.get((e, target), 0) + t
            if answer[0]:
                out[segment, window] = answer
    return out
