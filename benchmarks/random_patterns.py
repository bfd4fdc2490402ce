"""Random contiguous patterns over synthetic events, as the thesis makes them (3.5.3, Synthetic Data)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

#: How far values of a1 to a4 lie from the line that rises with time; those of a5 lie anywhere.
DEVIATIONS = (0.0, 0.001, 0.01, 0.1)
ATTRIBUTES = ("a1", "a2", "a3", "a4", "a5")


def synthetic_events(number: int, seed: int = 5) -> pa.Table:
    """One event a second, with five values between 0 and 1."""
    random = np.random.default_rng(seed)
    line = np.arange(number) / number
    columns = {"time": pa.array(np.arange(number))}
    for name, deviation in zip(ATTRIBUTES, DEVIATIONS, strict=False):
        columns[name] = pa.array(np.clip(random.normal(line, deviation) if deviation else line, 0, 1 - 1e-9))
    columns["a5"] = pa.array(random.random(number))
    return pa.table(columns)


def random_pattern(symbols: int, random: np.random.Generator, first: str = "a5") -> str:
    """A sequence of symbols with ranges of up to a tenth of all values, and always-true parts of any length between
    some of them. The first symbol is about the attribute `first`, the others are about a5."""
    breaks: set[int] = set()
    low = 1
    while low < symbols:
        at = int(random.integers(low, symbols))
        breaks.add(at)
        low = at + 1
    parts, conditions = [], []
    for number in range(1, symbols + 1):
        parts += [f"E s{number}", *([f"E t{number}*"] if number in breaks else [])]
        width = random.uniform(0, 0.1)
        begin = random.uniform(0, 1 - width)
        attribute = first if number == 1 else "a5"
        conditions.append(f"s{number}.{attribute} >= {begin:.6f} AND s{number}.{attribute} < {begin + width:.6f}")
    where = " AND ".join(conditions)
    window = "WITHIN 300 seconds SLIDE 300 seconds"
    return f"RETURN COUNT(*) PATTERN SEQ({', '.join(parts)}) SEMANTICS contiguous WHERE {where} {window}"
