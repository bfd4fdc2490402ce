"""Queries of every kind that look for trends, with places for constants; events with ties, NULLs and NaN for them."""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

PATTERNS = {
    "A S+": "S",
    "SEQ(A S+, B E)": "SE",
    "SEQ(A S, B E, C F)": "SEF",
    "SEQ(A S, NOT B E, C F)": "SEF",
    "SEQ(A S?, B E)": "SE",
    "SEQ(A S, NOT C F)": "SF",
    "(SEQ(A S, NOT C F) OR SEQ(A S, B E))": "SFE",
    "(A S OR B E)+": "SE",
    "SEQ(A S*, B E+)": "SE",
    "A S+ AND SEQ(A T, B E)": "STE",
}
COMPARISONS = (
    "{v}.x > {x}",
    "{v}.x <= {x}",
    "{x} < {v}.x",
    "{v}.x != {x}",
    "{v}.i = {i}",
    "{v}.i >= {i}",
    "{v}.s = {s}",
    "{v}.s > {s}",
    "{v}.s IN ({s}, {s2})",
    "{v}.i IN ({i}, {i2})",
    "{v}.i + 1 < {x}",
    "{v}.x BETWEEN {x} AND {x2}",
    "{v}.t >= {t}",
    "{v}.d < {d}",
    "{v}.b = {b}",
    "{v}.m > {x}",
    "{v}.time < {i}",
)
WINDOWS = ("", "WITHIN 6 seconds SLIDE 3 seconds", "WITHIN 5 seconds", "WITHIN SESSION 3 seconds")
STRATEGIES = ("skip-till-any-match", "skip-till-next-match", "contiguous")
RETURNS = (
    "COUNT(*), SUM({v}.i), MAX({v}.x)",
    "COUNT({v}), AVG({v}.x), COUNT(DISTINCT {v}.i)",
    "COUNT(*) AS n, SUM({v}.i) AS total",
    "TRENDS",
    "COMPLETE TRENDS",
    "EACH LENGTH AS n, FIRST({v}.i) AS first",
    "ROWS",
    "COMPLETE COUNT(*)",
)
KEYS = ("", "[k]", "[k] GROUP-BY k", " GROUP-BY k, i", "[{v}.k]", " GROUP-BY {v}.k")
ENDINGS = ("", "", "HAVING n > 1", "ORDER BY total DESC LIMIT 1", "HAVING n >= 1 ORDER BY n")
EDGES = ("", "", "{v}.i >= PREV({v}).i")
#: A condition on an earlier event, where the pattern has both.
ANCHORS = {"SEQ(A S, B E, C F)": "F.i >= S.i", "SEQ(A S+, B E)": "E.i > FIRST(S).i"}
#: Which of the trends that are shown are taken.
TAKEN = ("", "", "AFTER MATCH SKIP PAST LAST EVENT", "SHORTEST PER START", "LONGEST 1", "LIMIT 2")


NUMBERS = ("-2", "-1", "0", "1", "2", "3", "4", "0.5", "1.5", "-0.5", "1e300")
WHOLE = tuple(str(number) for number in range(-1, 6))
TEXTS = ("''", "'a'", "'b'", "'ab'")
CONSTANTS = {
    "x": NUMBERS,
    "x2": NUMBERS,
    "i": WHOLE,
    "i2": WHOLE,
    "s": TEXTS,
    "s2": TEXTS,
    "t": tuple(f"TIMESTAMP '2024-01-01 00:00:0{second}'" for second in range(10)),
    "d": tuple(f"DATE '2024-01-0{day}'" for day in range(1, 6)),
    "b": ("TRUE", "FALSE"),
}


@st.composite
def constants(draw: st.DrawFn) -> list[dict[str, str]]:
    """Constants of two rules that differ in each of them, and of up to three more with any."""
    orders = {name: draw(st.permutations(values)) for name, values in CONSTANTS.items()}
    first = [{name: order[number] for name, order in orders.items()} for number in range(2)]
    one = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CONSTANTS.items()})
    return draw(st.permutations(first + draw(st.lists(one, max_size=3))))


@st.composite
def rule_sets(
    draw: st.DrawFn,
    returns: tuple[str, ...] = RETURNS,
    windows: tuple[str, ...] = WINDOWS,
    keys: tuple[str, ...] = KEYS,
    strategies: tuple[str, ...] = STRATEGIES,
) -> tuple[str, ...]:
    """Rules of one shape. Some of them mean nothing; whoever uses them leaves those out."""
    pattern = draw(st.sampled_from(list(PATTERNS)))
    variables = PATTERNS[pattern]
    conditions = [
        draw(st.sampled_from(COMPARISONS)).replace("{v}", draw(st.sampled_from(variables)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    if "S+" in pattern or "S*" in pattern:
        conditions += [draw(st.sampled_from(EDGES)).replace("{v}", variables[0])]
    if pattern in ANCHORS and draw(st.booleans()):
        conditions += [ANCHORS[pattern]]
    key = draw(st.sampled_from(keys)).replace("{v}", variables[-1])
    equivalence, _, grouping = key.partition(" GROUP-BY")
    where = " AND ".join(part for part in (equivalence, *conditions) if part)
    in_trends = [variable for variable in variables if not re.search(rf"NOT \w {variable}", pattern)]
    returned = draw(st.sampled_from(returns)).replace("{v}", draw(st.sampled_from(in_trends)))
    if " AND " in pattern:  # A conjunction has a number of matches and nothing else.
        returned = "COUNT(*) AS n, COUNT(*) AS total"
    frame = " ".join(
        part
        for part in (
            f"RETURN {returned} PATTERN {pattern}",
            f"SEMANTICS {draw(st.sampled_from(strategies))}",
            f"WHERE {where}",
            f"GROUP-BY{grouping}" if grouping else "",
            draw(st.sampled_from(windows)),
            draw(st.sampled_from(ENDINGS)) if "AS total" in returned else "",
            draw(st.sampled_from(TAKEN)) if returned.startswith(("TRENDS", "EACH", "ROWS")) else "",
        )
        if part
    )
    return tuple(frame.format(**values) for values in draw(constants()))


@st.composite
def event_tables(draw: st.DrawFn) -> pa.Table:
    """Few events, in any order, with all that is odd in columns."""
    size = draw(st.integers(0, 12))

    def column(values: st.SearchStrategy, kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=size, max_size=size)), kind)

    floats = st.sampled_from([None, math.nan, -0.0, 0.0, 0.5, 1.0, 1.5, 3.0, math.inf, -2.0])
    whole = st.one_of(st.none(), st.integers(-1, 5))
    moments = np.datetime64("2024-01-01", "us") + np.arange(10) * np.timedelta64(1, "s")
    texts = pa.string() if draw(st.booleans()) else pa.dictionary(pa.int32(), pa.string())
    unit = draw(st.sampled_from(["s", "us", "ns"]))
    return pa.table(
        {
            "time": column(st.integers(0, 14), pa.int64()),
            "type": column(st.sampled_from("AABBC"), pa.string()),
            "k": column(st.sampled_from(["u", "v", None]), pa.string()),
            "x": column(floats, draw(st.sampled_from([pa.float64(), pa.float32()]))),
            "i": column(whole, draw(st.sampled_from([pa.int64(), pa.int8()]))),
            "s": column(st.sampled_from([None, "", "a", "ab", "b"]), pa.string()).cast(texts),
            "t": column(st.sampled_from([None, *moments.tolist()]), pa.timestamp("us")).cast(pa.timestamp(unit)),
            "d": column(st.one_of(st.none(), st.integers(19723, 19727)), pa.int32()).cast(pa.date32()),
            "b": column(st.sampled_from([None, True, False]), pa.bool_()),
            "m": column(whole, pa.int64()).cast(pa.decimal128(21, 2)),
        }
    )
