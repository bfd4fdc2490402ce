"""Random streams of a few keys, and the two ways to aggregate their windows: all rows at once, or folded in pieces."""

import numpy as np
from hypothesis import strategies as st

from trendweave.kernels import Aggregate, Condition, Rows, Template, aggregate
from trendweave.kernels.folding import Measured, concat_summaries, make_algebra, no_summaries

SMALL = st.integers(-5, 5)
WHOLE = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, -(2**63) + 1, 0]))
TAME = st.sampled_from([-1.5, 0.0, -0.0, 0.25, 7.0, 1e9, 3.0])
ODD = st.sampled_from([-1.5, 0.0, 0.25, 7.0, np.nan, np.inf, -np.inf])
WILD = st.one_of(st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, 1.7e308]))


@st.composite
def templates(draw):
    states = draw(st.integers(1, 3))
    variables = draw(st.integers(1, states))
    pairs = [(s, t) for s in range(states) for t in range(states)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=6))
    flags = st.lists(st.booleans(), min_size=states, max_size=states)
    variable = [draw(st.integers(0, variables - 1)) for _ in range(states)]
    source, target = np.array(chosen, np.int64).reshape(-1, 2).T
    return Template(np.array(variable), np.array(draw(flags)), np.array(draw(flags)), source, target)


@st.composite
def streams(draw, most_rows=14, floats=TAME, whole=WHOLE):
    """A dict: template, segments of rows with ticks, letters, aggregates, and how windows lie."""
    template = draw(templates())
    lengths = draw(st.lists(st.integers(0, most_rows), min_size=1, max_size=3))
    ticks, count = [], sum(lengths)
    for length in lengths:
        now = draw(st.integers(-2, 3))
        for _ in range(length):
            now += draw(st.sampled_from([0, 1, 1, 1, 2, 5]))
            ticks.append(now)
    variables = int(template.state_variable.max()) + 1
    letters = [draw(st.integers(0, 2**variables - 1)) for _ in range(count)]
    columns = []
    for numbers in draw(st.lists(st.sampled_from([SMALL, whole, floats]), min_size=1, max_size=2)):
        kind = np.float64 if numbers is floats else np.int64
        values = np.array([draw(numbers) for _ in range(count)], kind)
        valid = np.array([draw(st.booleans()) for _ in range(count)], bool) if draw(st.booleans()) else None
        columns.append((values, valid))
    aggregates, measures = [], []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["count", "sum", "avg", "min", "max"]))
        mask = draw(st.integers(1, 2**variables - 1))
        number = draw(st.integers(0, len(columns) - 1))
        values, valid = columns[number]
        shared = draw(st.booleans()) or (kind == "count" and valid is not None)
        aggregates.append(Aggregate(kind, mask, None if kind == "count" else values, valid))
        if kind == "count" and not shared:
            aggregates[-1] = Aggregate(kind, mask)
        measures.append(Measured(kind, mask, values.dtype == np.float64, number if shared else None))
    slide = draw(st.integers(1, 4))
    return {
        "template": template,
        "starts": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "tick": np.array(ticks, np.int64),
        "letters": np.array(letters, np.uint64),
        "aggregates": aggregates,
        "measures": measures,
        "slide": slide,
        "panes": draw(st.sampled_from([1, 1, 2, 3, 5])),  # slides per window
        "cuts": sorted(draw(st.lists(st.integers(-2, 30), max_size=4))),
        "blockers": {},
        "final_blockers": {},
    }


@st.composite
def blocked_streams(draw, most_rows=14, floats=TAME, whole=WHOLE):
    """The same, with variables that block transitions and ends; mostly no state reads them."""
    stream = draw(streams(most_rows, floats, whole))
    template = stream["template"]
    variables = int(template.state_variable.max()) + 1
    sets = st.lists(st.sampled_from([variables, variables, variables + 1, 0]), max_size=2)
    for number in range(template.source.size):
        stream["blockers"][number] = draw(sets)
    for state in np.flatnonzero(template.is_final).tolist():
        stream["final_blockers"][state] = draw(sets)
    also = [draw(st.sampled_from([0, 0, 0, 1, 2, 3])) << variables for _ in stream["letters"]]
    stream["letters"] = stream["letters"] | np.array(also, np.uint64)
    return stream


def guards_of(stream):
    """The blockers as arguments of `aggregate`: guards of transitions, and last windows of rows that end a trend."""
    segment = np.repeat(np.arange(stream["starts"].size - 1), np.diff(stream["starts"]))
    tick, letters = stream["tick"], stream["letters"].astype(np.int64)
    conditions, ends = [], {}
    for number in range(stream["template"].source.size):
        blocks = sum(1 << variable for variable in set(stream["blockers"].get(number, ())))
        guard = [
            max(tick[(segment == s) & (tick < t) & (letters & blocks != 0)], default=-99)
            for s, t in zip(segment, tick, strict=True)
        ]
        conditions.append(Condition(guard=np.array(guard, np.int64)) if blocks else Condition())
    for state, variables in stream["final_blockers"].items():
        blocks = sum(1 << variable for variable in set(variables))
        behind = [
            min(tick[(segment == s) & (tick > t) & (letters & blocks != 0)], default=10**6)
            for s, t in zip(segment, tick, strict=True)
        ]
        ends[state] = np.array(behind, np.int64) // stream["slide"] - stream["panes"]
    return {"transition_conditions": conditions, "final_guards": ends}


def at_once(stream, numbers="exact"):
    """{(segment, window): Results of one entry} by the kernels that see all rows."""
    last = stream["tick"] // stream["slide"]
    rows = Rows(stream["starts"], stream["tick"], last - stream["panes"] + 1, last, stream["letters"])
    blocked = guards_of(stream) if stream["blockers"] or stream["final_blockers"] else {}
    results = aggregate(rows, stream["template"], aggregates=stream["aggregates"], numbers=numbers, **blocked)
    return by_window(results, list(zip(results.segment.tolist(), results.window.tolist(), strict=True)))


def by_window(results, names):
    """{name: (count, aggregates)} as plain Python numbers, None where there is nothing to aggregate."""
    out = {}
    counts, columns = results.count.tolist(), [column.tolist() for column in results.aggregates]
    for i, name in enumerate(names):
        measured = [
            None if valid is not None and not valid[i] else column[i]
            for column, valid in zip(columns, results.valid, strict=True)
        ]
        out[name] = (counts[i], measured)
    return out


def folded(stream, extend, finish, numbers="exact", through=lambda algebra, summaries: summaries):
    """The same by summaries, rows folded in as the cuts say, read when all is there."""
    tumbling = stream["panes"] == 1
    blocked = stream["blockers"], stream["final_blockers"]
    algebra = make_algebra(stream["template"], stream["measures"], numbers, tumbling, *blocked)
    segment = np.repeat(np.arange(stream["starts"].size - 1), np.diff(stream["starts"]))
    pane = stream["tick"] // stream["slide"]
    part = np.searchsorted(np.array(stream["cuts"]), stream["tick"], side="right")
    known, summaries = {}, no_summaries(algebra)
    for number in range(len(stream["cuts"]) + 1):
        chosen = np.flatnonzero(part == number)
        names = sorted(set(zip(segment[chosen].tolist(), pane[chosen].tolist(), strict=True)))
        ends = [int(((segment[chosen] == s) & (pane[chosen] == p)).sum()) for s, p in names]
        zeros = np.zeros(chosen.size, np.int64)
        starts = np.concatenate([[0], np.cumsum(ends)]).astype(np.int64)
        rows = Rows(starts, stream["tick"][chosen], zeros, zeros, stream["letters"][chosen])
        aggregates = [
            part._replace(
                values=None if part.values is None else part.values[chosen],
                valid=None if part.valid is None else part.valid[chosen],
            )
            for part in stream["aggregates"]
        ]
        which = np.array([known.get(name, -1) for name in names], np.int64)
        grown = through(algebra, extend(algebra, summaries, which, rows, aggregates))
        assert grown.size == len(names)
        kept = [name for name in known if name not in names]
        summaries = concat_summaries(algebra, [summaries.take(np.array([known[k] for k in kept], np.int64)), grown])
        known = {name: place for place, name in enumerate([*kept, *names])}
    order = sorted(known)
    summaries = through(algebra, summaries.take(np.array([known[name] for name in order], np.int64)))
    windows, low, high = [], [], []
    for owner in sorted({s for s, _ in order}):
        panes = [(p, place) for place, (s, p) in enumerate(order) if s == owner]
        for window in range(panes[0][0] - stream["panes"] + 1, panes[-1][0] + 1):
            inside = [place for p, place in panes if window <= p < window + stream["panes"]]
            windows.append((owner, window))
            low.append(min(inside, default=0))
            high.append(max(inside, default=-1) + 1)
    results = finish(algebra, summaries, np.array(low, np.int64), np.array(high, np.int64))
    assert (np.diff(results.segment) > 0).all()
    return by_window(results, [windows[entry] for entry in results.segment])
