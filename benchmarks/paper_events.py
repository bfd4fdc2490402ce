"""Synthetic events for each query of the papers: its types and columns, as many events as it can go over in seconds.

Called as a program with the name of a query, it runs it in this new process and prints what that took.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numba.core import event

import trendweave
from benchmarks.compiling import Compiling
from trendweave.planning.plan import SlidingWindow

QUERIES = sorted((Path(__file__).parents[1] / "examples" / "queries").glob("*.tw"))
EVENTS = 1_000_000
#: Fewer, where results are lists of trends: no more than a million trends are shown.
EVENTS_OF_LISTS = 300_000
#: Without windows and keys, a count of trends that repeat has a bit per event, and is kept once per rank with a
#: condition; a list of trends that repeat doubles with each event, any other grows with a power of their number.
EVENTS_OF_LONG_COUNTS, EVENTS_OF_LONG_RANKS, EVENTS_OF_LONG_LISTS, EVENTS_OF_LISTED_SEQUENCES = 20_000, 4_000, 16, 60
#: Of these lists, whose trends are as many as pairs of events, or more.
_OF_QUERIES = {
    "thesis_dynamic_index_selection": 20_000, "thesis_insider_trading": 500, "thesis_kleene_plus": 5_000,
    "thesis_rising_temperature": 20_000,
}  # fmt: skip
_PER_SECOND = 1
_KEYS, _KEYS_OF_LISTS = 1_000, 300_000
_FEW_VALUES = {"sector", "mapper", "district", "segment"}
_KEY = re.compile(r"(?i)id$|^(company|job|vehicle|driver|rider|ip|source|destination)$")
_RANGES = {"BEAT": (2_200, 2_300), "LAT": (41.5, 42.0), "LON": (-88.0, -87.5), "volume": (0, 20_000)}


class Case(NamedTuple):
    """A query and its events."""

    name: str
    text: str
    events: pa.Table


def make_case(path: Path) -> Case:
    """The query of a file and events for it."""
    # The column of types would have the name of another.
    text = re.sub(r"\.type\b", ".kind", path.read_text(encoding="utf-8"))
    query = trendweave.query(text)
    plan = query.plan
    types = sorted({column.type for column in plan.needed_columns if column.type is not None})
    names = sorted({name for column in plan.needed_columns for (name, *_) in column.paths})
    count = _OF_QUERIES.get(path.stem) or _count(query)
    random = np.random.default_rng(1)
    keys = _KEYS_OF_LISTS if query.lists_trends else _KEYS
    microseconds = np.arange(count) * (10**6 // _PER_SECOND)
    columns: dict[str, pa.Array] = {
        "time": pa.array(microseconds, pa.timestamp("us")),
        "type": pa.array(types).take(pa.array(random.integers(0, len(types), count))),
    }
    for name in names:
        columns[name] = _column(name, text, count, keys, random)
    return Case(path.stem, text, pa.table(columns))


def _count(query: trendweave.Query) -> int:
    plan = query.plan
    is_bounded = query.has_windows or bool(plan.partition_key) or str(plan.strategy) != "skip-till-any-match"
    repeats = any(one.source >= one.target for one in plan.template.transitions)
    if query.lists_trends:
        if not is_bounded:
            return EVENTS_OF_LONG_LISTS if repeats else EVENTS_OF_LISTED_SEQUENCES
        window = plan.window
        return EVENTS_OF_LISTS // (window.length // window.slide if isinstance(window, SlidingWindow) else 1)
    if is_bounded or not repeats:
        return EVENTS
    return EVENTS_OF_LONG_RANKS if "NEXT(" in str(query) else EVENTS_OF_LONG_COUNTS


def _column(name: str, text: str, count: int, keys: int, random: np.random.Generator) -> pa.Array:
    texts = re.findall(rf"\.{name}\s*=\s*'([^']*)'", text)
    if texts:
        return pa.array([*texts, "other"]).take(pa.array(random.integers(0, len(texts) + 1, count)))
    if name in _FEW_VALUES or _KEY.search(name):
        return pa.array(random.integers(0, 10 if name in _FEW_VALUES else keys, count))
    low, high = _RANGES.get(name, (0, 100))
    return pa.array(random.integers(low, high, count) if name == "BEAT" else random.uniform(low, high, count))


def main() -> None:
    """Run a query twice, and print what the first run took, the second, and compiling in the first."""
    case = make_case(next(path for path in QUERIES if path.stem == sys.argv[1]))
    if case.events.num_rows < EVENTS:
        os.environ["TRENDWEAVE_COMPILE"] = "always"
    query = trendweave.query(case.text)
    numbers: Any = "int64" if query.lists_trends else "text"
    compiling, spent = Compiling(), []
    with event.install_listener("numba:compile", compiling):
        for _ in range(2):
            before = process_time()
            rows = query.run(case.events, numbers=numbers).num_rows
            spent.append(process_time() - before)
    found = {"events": case.events.num_rows, "rows": rows, "seconds": spent, "compiling": compiling.seconds}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
