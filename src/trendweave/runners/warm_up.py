"""Everything that queries need, compiled at a moment of one's choice; where an image is built, say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from trendweave.kernel_cache.cache import prefixes_of_kernels
from trendweave.kernel_cache.folders import kernel_folder
from trendweave.kernel_cache.kernel import always_compile
from trendweave.kernel_cache.packs import list_kernels
from trendweave.kernels.warm_up import warm_up_shared
from trendweave.programs.operators.warm_up import warm_up_operators
from trendweave.runners.kernel_packs import write_kernel_module
from trendweave.runners.small_queries import (
    run_interval_queries,
    run_rarer_queries,
    run_situated_queries,
    run_trend_queries,
)


@dataclass(frozen=True)
class WarmUp:
    """What a warm-up has found and done."""

    #: Compiled functions that are kept now, one per signature.
    kernels: int
    #: How many of them were compiled by this call, here or in processes beside this one.
    compiled: int
    #: How long it took.
    seconds: float
    #: Where they are kept; None where there is no folder to write to, so that every process compiles for itself.
    folder: Path | None

    def __str__(self) -> str:
        if self.folder is None:
            return f"compiled in {self.seconds:.1f} s; nothing is kept, as there is no folder to write to"
        return f"{self.kernels} kernels, {self.compiled} of them new, in {self.seconds:.1f} s, kept in {self.folder}"


def warm_up(pack: str | Path | None = None, also: Iterable[Callable[[], object]] = ()) -> WarmUp:
    """Compile what is the same for all runs, and loops of common shapes; load what this machine has compiled before.

    Args:
        pack: A zip to write with all that was compiled, for other machines of the same kind.
        also: What else compiles, or loads, something.

    Returns:
        What was done, which prints as one line.
    """
    start, before = perf_counter(), list_kernels()
    for work in (
        *(warm_up_shared, run_trend_queries, run_interval_queries),
        *(warm_up_operators, run_rarer_queries, run_situated_queries),
        *also,
    ):
        with always_compile():
            work()
    if pack is not None:
        write_kernel_module(pack)
    kernels = list_kernels(prefixes_of_kernels())
    return WarmUp(len(kernels), len(kernels - before), perf_counter() - start, kernel_folder())
