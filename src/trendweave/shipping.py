"""What is made before queries run: compiled code for this machine, and a file that takes Trendweave to executors."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import product
from os import PathLike
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

from trendweave import operators
from trendweave.kernel_cache import files
from trendweave.kernel_cache.kernel import always_compile
from trendweave.programs.trends.detection import STRATEGIES
from trendweave.queries import query
from trendweave.runners.options import SHARING
from trendweave.runners.shipping.package import Package, write_archive, write_package
from trendweave.store.event_store import EventStore
from trendweave.workload import workload

_NUMBERS = np.arange(72)
_VALUES = np.tile([1, 3, 2, 5, 4, 6, 5, 7, 6, 8, 7, 9], 6)
_EVENTS = pa.table(
    {"time": _NUMBERS, "type": ["A", "A", "B"] * 24, "k": _NUMBERS // 12, "x": _VALUES, "f": _VALUES / 4}
)
_WINDOW = "WITHIN 6 seconds SLIDE 2 seconds"
_FALLING = "SEQ(A+, B) WHERE A.x > NEXT(A).x"
_AGGREGATES = [
    f"RETURN {asked} PATTERN {pattern} {window}"
    for asked, pattern, window in product(
        ("COUNT(*)", "COUNT(*), SUM(A.x) AS s, SUM(A.f) AS t, MAX(A.x) AS m"),
        ("A+", "A+ WHERE A.x > NEXT(A).x", "SEQ(A+, NOT B, A z)"),
        ("", _WINDOW, "WITHIN 60 seconds SLIDE 1 second"),
    )
]
#: With numbers of all sizes.
_TRENDS = [
    *_AGGREGATES,
    *(
        f"RETURN {shown} PATTERN {pattern} {_WINDOW} {chosen}"
        for shown, pattern, chosen in product(
            ("TRENDS", "COMPLETE TRENDS", "EACH COUNT(A), SUM(A.x), MIN(A.x), FIRST(A.x)"),
            ("A+", _FALLING, "SEQ(A+, NOT B, A z) WHERE A.x != NEXT(A).x", f"{_FALLING} SEMANTICS contiguous"),
            ("", "LIMIT 2", "LONGEST 2", "SAMPLE 2"),
        )
    ),
    "RETURN EACH LENGTH PATTERN SEQ(A+, B) WHERE [k] AND SUM(A.x) > 2 SEMANTICS skip-till-next-match "
    "AFTER MATCH SKIP PAST LAST EVENT",
    f"RETURN COUNT(*), AVG(LENGTH) PATTERN A+ {_WINDOW} SEMANTICS contiguous LONGEST PER START",
    f"RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE A.x < B.x {_WINDOW}",
    f"RETURN COUNT(DISTINCT A.x) PATTERN SEQ(A+, B) {_WINDOW}",
    "DEFINE P AS x > 2 RETURN COUNT(*) PATTERN A+ WHERE A DURING P",
    "DEFINE P AS x > 2 RETURN COUNT(*) PATTERN A+ WHERE [k] AND A DURING P",
]
_DEFINED = "DEFINE P AS x > 2, Q AS x < 7 AT LEAST 2 seconds"
_INTERVALS = (
    f"{_DEFINED} RETURN SITUATIONS",
    f"PARTITION BY k {_DEFINED} RETURN SITUATIONS",
    f"{_DEFINED}, R AS x > PREV(x) PATTERN P before; overlaps; contains Q AND Q before; contains R WITHIN 30 seconds "
    "RETURN FIRST(P.x), SUM(P.x), AVG(Q.x), MIN(Q.x), COUNT(R)",
    f"{_DEFINED} PATTERN P during; overlapped-by; equals Q WITHIN 30 seconds DETECT AT END RETURN MAX(P.x), LAST(Q.x)",
    f"PARTITION BY k {_DEFINED} PATTERN P overlaps; overlapped-by Q WITHIN 30 seconds RETURN SUM(P.x)",
)


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up has found and done."""

    #: Compiled functions that are kept now, one per signature.
    kernels: int
    #: How many of them were compiled by this call.
    compiled: int
    #: How long it took.
    seconds: float
    #: Where they are kept; None where there is no folder to write to, so that every process compiles for itself.
    folder: Path | None

    def __str__(self) -> str:
        if self.folder is None:
            return f"compiled in {self.seconds:.1f} s; nothing is kept, as there is no folder to write to"
        return f"{self.kernels} kernels, {self.compiled} of them new, in {self.seconds:.1f} s, kept in {self.folder}"


def warm_up(pack: str | Path | None = None) -> WarmUp:
    """Compile the loops that are the same for all queries and those of common shapes, or load them where this machine
    has compiled them before.

    Without it, the first query of a kind on a large table waits for what it needs: 1 to 10 seconds of CPU time, once
    per machine. A query of another shape may still wait for a loop of its own, about a second.

    Args:
        pack: A zip to write with all that this process has compiled or loaded, also for queries that it has run before,
            for other machines of the same kind: Spark sends it to its executors by `--py-files` or
            `spark.addArtifacts(pack, pyfile=True)`.

    Returns:
        What was done, which prints as one line.
    """
    from trendweave.kernel_cache import cache

    start, before = perf_counter(), sum(cache.used.values())
    with always_compile():
        _ask()
    if pack is not None:
        write_kernels(pack)
    compiled = sum(cache.used.values()) - before
    return WarmUp(len(cache.used_kernels()), compiled, perf_counter() - start, files.kept_folder())


def write_kernels(path: str | Path) -> None:
    """Write the compiled code that this process has used as a module, for `--py-files` and the like."""
    from trendweave.kernel_cache.cache import used_kernels

    module = {f"{files.BROUGHT}/{name}": data for name, data in used_kernels().items()}
    module["__init__.py"] = b'"""Compiled kernels of Trendweave."""\n'
    write_archive(Path(path), {f"{files.MODULE}/{name}": data for name, data in module.items()})


def package(path: str | PathLike[str] = "trendweave.zip", *, lark: bool = True, kernels: bool = False) -> Package:
    """Write Trendweave and Lark into one file for `spark-submit --py-files`, `addPyFile` and `addArtifacts`.

    Executors then need no Trendweave of their own, but packages with compiled code (Numba, NumPy, pandas, PyArrow). The
    same sources always give the same file, byte for byte.

    Args:
        path: Where to write it; an existing file is replaced.
        lark: Whether to include Lark, which parses queries.
        kernels: Whether to include compiled kernels. Executors with the CPU and the versions of this machine then
            compile less, or nothing; others ignore them. Compiles what this machine has not compiled yet.
    """
    packed = dict[str, bytes]()
    if kernels:
        from trendweave.kernel_cache.cache import used_kernels

        warm_up()
        packed = used_kernels()
    return write_package(Path(path), lark, packed)


def _ask() -> None:
    """Queries, operators and a store on a few events, which between them call every kernel."""
    for text in _TRENDS:
        query(text).run(_EVENTS)
    for text in _AGGREGATES:
        query(text).run(_EVENTS, numbers="float64")
    for strategy, shown in product(STRATEGIES, ("TRENDS", "COMPLETE TRENDS")):
        query(f"RETURN {shown} PATTERN {_FALLING} {_WINDOW}").run(_EVENTS, strategy=strategy)
    for text in _INTERVALS:
        query(text).run(_EVENTS, type=None)
    for sharing in SHARING:
        workload(_AGGREGATES).run(_EVENTS, sharing=sharing)
    for outputs, keys in product(("SUM(x) AS s, MIN(x) AS l, MAX(x) AS m", "SUM(f) AS s, AVG(f) AS a"), ((), "k")):
        operators.window_aggregate(outputs, "4 seconds", "1 second", keys=keys).run(_EVENTS)
    operators.window_join("abs(left.x - right.x) <= 1", left="9 seconds", right="9 seconds").run(_EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        store = EventStore.create(Path(folder, "store"), _EVENTS.schema, keys=["k"], index=["x", "f"])
        store.append(_EVENTS)
        store.aggregate("COUNT(*), AVG(x) AS m", within="10 seconds", slide="4 seconds", by="k")
