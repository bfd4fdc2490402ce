"""The definition, in plain Python: enumerate every trend of every window. Imports nothing from the kernels.

A case is a dictionary of plain lists, named like the kernels' inputs: see `random_cases`. A comparison is (previous
column, operator, next column); a pair test is (previous column, function of the two values, next column) or None.
"""

import operator
from fractions import Fraction

OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


def accepts(case, t, p, e):
    """Letter, comparisons and pair test of transition t from row p to row e; guards play no part."""
    if not case["letters"][e] >> case["state_variable"][case["target"][t]] & 1:
        return False
    for previous, op, following in case["comparisons"][t]:
        x, y = previous[p], following[e]
        if x < 0 or y < 0 or not OPERATORS[op](x, y):
            return False
    if case["pair_tests"][t] is None:
        return True
    previous, holds, following = case["pair_tests"][t]
    return holds(previous[p], following[e])


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

    def inside(row):
        return case["window_first"][row] <= window <= case["window_last"][row]

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
    return (min if kind == "min" else max)(values[r] for r in rows)


def match_starts(case):
    """Per row the largest start tick of a match that ends at the row; None if none does. Windows play no part."""
    rows = len(case["tick"])
    unbounded = {**case, "window_first": [0] * rows, "window_last": [0] * rows}
    starts = [None] * rows
    for segment in range(len(case["segment_starts"]) - 1):
        for match in trends(unbounded, segment, 0):
            (first, _), (last, _) = match[0], match[-1]
            began = case["tick"][first]
            starts[last] = began if starts[last] is None else max(starts[last], began)
    return starts


def propagated(case):
    """{(segment, window): (number of trends, sum and maximum of the values of all their events)}, vertex by vertex with
    Python integers: for counts too large to enumerate. One value column: case["values"]."""
    out = {}
    for segment in range(len(case["segment_starts"]) - 1):
        begin, end = case["segment_starts"][segment : segment + 2]
        rows = range(begin, end)
        follow = {(s, p): list(edges_from(case, s, p, rows)) for p in rows for s in range(len(case["state_variable"]))}
        for window in {w for r in rows for w in range(case["window_first"][r], case["window_last"][r] + 1)}:
            if answer := propagated_in_window(case, rows, window, follow):
                out[segment, window] = answer
    return out


def propagated_in_window(case, rows, window, follow):
    """(number of trends, sum, maximum) of one window; None without a trend. Rows come in time order."""
    before = {}  # (row, state): the same three numbers over all trends that may go on with the vertex
    ended = []
    for row in rows:
        if not case["window_first"][row] <= window <= case["window_last"][row]:
            continue
        value = case["values"][row]
        for state, variable in enumerate(case["state_variable"]):
            if not case["letters"][row] >> variable & 1:
                continue
            arriving = before.get((row, state), [])
            if case["is_start"][state] and window >= case["start_guards"].get(state, {row: window})[row]:
                arriving = [*arriving, (1, 0, value)]
            if not arriving:
                continue
            count = sum(c for c, _, _ in arriving)
            vertex = (count, sum(s for _, s, _ in arriving) + count * value, max(value, *(m for _, _, m in arriving)))
            if case["is_final"][state] and window <= case["final_guards"].get(state, {row: window})[row]:
                ended.append(vertex)
            for target, later in follow[state, row]:
                before.setdefault((later, target), []).append(vertex)
    if not ended:
        return None
    return sum(c for c, _, _ in ended), sum(s for _, s, _ in ended), max(m for _, _, m in ended)
