"""A program that interrupts queries of every kind at random moments, and looks whether the next run is right.

`python -m tests.runners.interrupts COUNT SEED [KIND ...]`: prints a line per interrupt, and at last how many there were
and how long the longest took to end. It ends with 1 where a run was wrong; a crash ends it otherwise. With an empty
TRENDWEAVE_CACHE most interrupts meet the compiler.
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import trendweave

#: Seconds after which a run hangs.
_HANGS = 240
#: Interrupts of one kind of query before it is compiled, so that a hundred of them meet many kinds.
_COLD_OF_A_KIND = 10


class Alarm(Exception):
    """What a handler of SIGALRM raises, as that of a test with a time limit does."""


def interrupt(*_: object) -> None:
    raise Alarm


@cache
def events(count: int, keys: int = 1) -> pa.Table:
    draw = np.random.default_rng(count)
    return pa.table(
        {
            "time": np.sort(draw.integers(0, 2 * count, count)),
            "type": draw.choice(["A", "B", "C"], count, p=[0.6, 0.3, 0.1]),
            "k": np.arange(count) % keys,
            "x": draw.integers(0, 1000, count),
            "y": draw.random(count),
        }
    )


def run(text: str, count: int, **options: Any) -> Callable[[], pa.Table]:
    keys = options.pop("keys", 1)
    return lambda: trendweave.query(text).run(events(count, keys), **options)


def read_in_batches(text: str, count: int) -> pa.Table:
    return pa.Table.from_batches(list(trendweave.query(text).iter(events(count))))


def push(text: str, count: int) -> pa.Table:
    session = trendweave.query(text).push(events(count).schema, watermark="10 seconds")
    found = [session.send_table(events(count)), session.finish()]
    return pa.concat_tables(found)


def ask_store(text: str, count: int) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        store = trendweave.EventStore.create(f"{folder}/store", events(count).schema, keys=["k"])
        store.append(events(count))
        return trendweave.query(text).run(store)


def ask_workload(texts: list[str], count: int) -> pa.Table:
    return trendweave.workload({f"q{number}": text for number, text in enumerate(texts)}).run(events(count, 20))


RISING = "WHERE A.x < NEXT(A).x"
HALF_OVERLAP, NEXT = "WITHIN 100 s SLIDE 50 s", "SEMANTICS skip-till-next-match"
KINDS: dict[str, Callable[[], pa.Table]] = {
    "counts": run("RETURN COUNT(*) PATTERN A+", 30_000, numbers="text"),
    "ranked": run(f"RETURN COUNT(*) PATTERN A+ {RISING} WITHIN 2000 s SLIDE 1000 s", 600_000, numbers="float64"),
    "scanned": run(
        f"RETURN COUNT(*) PATTERN A+ {RISING} AND A.y < NEXT(A).y WITHIN 8000 s SLIDE 4000 s", 20_000,
        numbers="float64",
    ),
    "exact": run(f"RETURN COUNT(*), SUM(A.x) PATTERN A+ {RISING}", 15_000, numbers="text"),
    "extrema": run(f"RETURN MAX(A.y), COUNT(*) PATTERN SEQ(A+, B) {RISING} {HALF_OVERLAP}", 100_000, numbers="float64"),
    "threads": run(
        f"RETURN COUNT(*) PATTERN A+ {RISING} AND A.y < NEXT(A).y AND [k]", 80_000, numbers="float64",
        device="threads", keys=20,
    ),
    "moving": run("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 60 s", 200_000),
    "sessions": run("RETURN COUNT(*) PATTERN SEQ(A+, C) WITHIN SESSION 3 s", 400_000, numbers="float64"),
    "absence": run(f"RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) {HALF_OVERLAP}", 200_000),
    "next match": run(f"RETURN COUNT(*) PATTERN SEQ(A+, B) {NEXT} {HALF_OVERLAP}", 150_000, numbers="float64"),
    "all trends": run("RETURN TRENDS(x) PATTERN SEQ(A, B, C) WITHIN 12 s", 100_000),
    "complete": run(f"RETURN COMPLETE TRENDS(x) PATTERN A+ {RISING} WITHIN 12 s", 60_000),
    "lists of next matches": run(f"RETURN TRENDS(x) PATTERN SEQ(A+, B) {NEXT} WITHIN 30 s", 60_000),
    "contiguous": run(
        f"RETURN EACH FIRST(A.x) AS a, COUNT(A) AS n PATTERN A+ SEMANTICS contiguous {RISING} WITHIN 1000 s", 50_000
    ),
    "after match": run(
        f"RETURN TRENDS(x) PATTERN A+ SEMANTICS contiguous {RISING} WITHIN 1000 s AFTER MATCH SKIP PAST LAST EVENT",
        50_000,
    ),
    "per start": run(f"RETURN TRENDS(x) PATTERN SEQ(A+, B) {NEXT} WITHIN 30 s LONGEST PER START", 40_000),
    "batches": lambda: read_in_batches("RETURN TRENDS(x) PATTERN SEQ(A, B) WITHIN 30 s", 60_000),
    "intervals": run(
        "FROM S DEFINE P AS x > 700, Q AS y > 0.8 PATTERN P before; overlaps Q WITHIN 60 seconds", 200_000, type=None
    ),
    "pieces": lambda: push("RETURN COUNT(*) AS n PATTERN SEQ(A+, B) WITHIN 100 s SLIDE 20 s", 100_000),
    "store": lambda: ask_store(f"RETURN COUNT(*) PATTERN A+ {RISING} AND [k] {HALF_OVERLAP}", 50_000),
    "workload": lambda: ask_workload(
        [f"RETURN COUNT(*) AS n PATTERN SEQ(A+, {other}) WHERE [k] WITHIN 400 s SLIDE 100 s" for other in "BC"], 50_000
    ),
}  # fmt: skip


@dataclass
class Tally:
    """What was seen."""

    interrupts: int = 0
    longest: float = 0.0
    late: int = 0


def digest(table: pa.Table) -> str:
    return hashlib.sha256(repr(sorted(map(repr, table.to_pylist()))).encode()).hexdigest()


def compiles(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != "compile_or_load":
        frame = frame.f_back
    return frame is not None


def interrupt_once(kind: str, delay: float, number: int, tally: Tally) -> None:
    """Run a query that a signal may end."""
    faulthandler.dump_traceback_later(_HANGS, exit=True)
    begun = time.monotonic()
    timer = threading.Timer(delay, os.kill, (os.getpid(), number))
    try:
        timer.start()
        KINDS[kind]()
        timer.cancel()
        timer.join()  # a signal that comes now is seen in here
        return
    except (Alarm, KeyboardInterrupt):
        seconds = time.monotonic() - begun - delay
    timer.join()
    tally.interrupts += 1
    tally.longest = max(tally.longest, seconds)
    tally.late += seconds > 2
    end = time.monotonic() + 1  # it has left its work, and ends
    while any(thread.name == "trendweave-run" and not compiles(thread) for thread in threading.enumerate()):
        assert time.monotonic() < end, "a thread works beside its caller"
        time.sleep(0.001)
    print(f"{kind}: {signal.Signals(number).name} after {delay:.3f} s, ended in {seconds:.3f} s", flush=True)


def main(count: int, seed: int, kinds: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, interrupt)
    draw, tally = random.Random(seed), Tally()
    known, usual, wrong = dict[str, str](), dict[str, float](), list[str]()
    is_cold = bool(os.environ.get("TRENDWEAVE_CACHE"))
    while tally.interrupts < count:
        kind = draw.choice(kinds)
        if kind not in usual and not is_cold:
            KINDS[kind]()
        began = time.monotonic()
        if kind not in usual and is_cold:
            # Each interrupt leaves some more functions compiled behind.
            for _ in range(min(_COLD_OF_A_KIND, count - tally.interrupts)):
                before = tally.interrupts
                interrupt_once(kind, draw.uniform(0, 6), draw.choice([signal.SIGINT, signal.SIGALRM]), tally)
                if tally.interrupts == before:
                    break
            began = time.monotonic()
        table = KINDS[kind]()
        usual[kind] = time.monotonic() - began
        found = digest(table)
        if known.setdefault(kind, found) != found:
            wrong.append(kind)
        number = draw.choice([signal.SIGINT, signal.SIGALRM])
        interrupt_once(kind, draw.uniform(0, 1.1 * usual[kind]), number, tally)
    for kind in usual:
        faulthandler.dump_traceback_later(_HANGS, exit=True)
        if digest(KINDS[kind]()) != known[kind]:
            wrong.append(kind)
    print(f"{tally.interrupts} interrupts, the longest ended in {tally.longest:.2f} s, {tally.late} took more than 2 s")
    print("wrong:", wrong)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(KINDS))
