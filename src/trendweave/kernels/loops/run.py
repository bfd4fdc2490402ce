"""Run a loop that was written: interpreted for little work, compiled for more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from trendweave.kernel_cache import kernel
from trendweave.kernel_cache.kernel import Kernel, load_text
from trendweave.kernels.loops.text import PACKS
from trendweave.stopping import heed_stop

#: Steps (events x windows x transitions, about) up to which a loop is interpreted: as long as compiling one takes.
MOST_INTERPRETED = 400_000
#: Steps that loops of one shape are interpreted for in this process, before one is compiled after all.
PATIENCE = 1_000_000
#: Shapes that this is remembered of.
MOST_SHAPES = 10_000
_interpreted_steps: dict[Hashable, int] = {}
_IMPORTS = f"""from numpy import uint64 as index

from trendweave.kernels.packs import {", ".join(PACKS)}
from trendweave.kernels.stopping import heed_stop


"""


def is_interpreted(steps: int, shape: Hashable) -> bool:
    """Whether a loop with so many steps is interpreted: of one that is run again and again, only the first runs are."""
    if kernel.only_writes():
        return False
    if kernel.never_compiles():
        return True
    if steps > MOST_INTERPRETED or kernel.compiles_always():
        return False
    return _interpreted_steps.get(shape, 0) + steps <= PATIENCE


def interprets(steps: int, shape: Hashable) -> bool:
    """The same of a loop that is about to run, which is remembered."""
    if not is_interpreted(steps, shape):
        return False
    if len(_interpreted_steps) > MOST_SHAPES:
        _interpreted_steps.clear()
    _interpreted_steps[shape] = _interpreted_steps.get(shape, 0) + steps
    return True


def run_loop(name: str, text: str, takes: tuple[str, ...], values: Mapping[str, Any], interpreted: bool) -> None:
    """Run a loop over the arrays that it takes; what it writes is in them.

    Interpreted loops read and write lists, so that their numbers are Python's own: integers of any size.
    """
    heed_stop()
    kernel.record_text(text)
    if kernel.only_writes():
        if "fits" in takes:
            values["fits"][:] = True
        return
    if not interpreted:
        try:
            compiled_loop(text, name)(*(values[one] for one in takes))
        finally:
            heed_stop()  # what ends a loop that was asked to stop
        return
    lists = {one: _as_list(values[one]) for one in takes}
    _interpreted(text, name)(*lists.values())
    for one, value in lists.items():
        if one in WRITTEN:
            values[one][:] = value
    heed_stop()


def run_kernel(function: Kernel, reads: tuple[Any, ...], writes: tuple[np.ndarray, ...], interpreted: bool) -> None:
    """Run a loop that is the same for every plan, over what it reads and the arrays that it writes."""
    heed_stop()
    if not interpreted and not kernel.only_writes():
        try:
            function.compiled(*reads, *writes)
        finally:
            heed_stop()
    else:
        lists = [_as_list(one) for one in writes]
        function.interpret([*(_as_list(one) for one in reads), *lists])
        for array, values in zip(writes, lists, strict=True):
            array[:] = values
    heed_stop()


#: The arrays that results are written to; all else is read, or scratch memory.
WRITTEN = ("results", "fits", "row_results", "counts_of_sharing")


def _as_list(value: Any) -> Any:
    return value.ravel().tolist() if isinstance(value, np.ndarray) else value


@lru_cache(maxsize=256)
def _interpreted(text: str, name: str) -> Any:
    scope: dict[str, Any] = {"heed_stop": heed_stop, "index": int, "loop": lambda one: one, "called": lambda one: one}
    exec(compile(text, f"<{name}>", "exec"), scope)
    return scope[name]


def compiled_loop(text: str, name: str) -> Callable[..., Any]:
    """The loop of a text, compiled by its first call."""
    return written_loop(text, name).compiled


@lru_cache(maxsize=256)
def written_loop(text: str, name: str) -> Kernel:
    """The loop of a text."""
    return load_text(_IMPORTS + text, name, _nrt=False, no_cfunc_wrapper=True)
