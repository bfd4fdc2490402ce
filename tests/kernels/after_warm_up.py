"""Run in a fresh process: warm the kernels up, ask common queries of read-only arrays, print what was compiled.

One JSON object: for `warm_up` and `queries`, `warm_up_shared` and `many_queries` the
functions that numba loaded from disk and those that it compiled.
"""

import importlib
import json
import pkgutil

import numpy as np

import trendweave.kernels
from trendweave.kernel_cache.kernel import Kernel, always_compile
from trendweave.kernels import (
    Aggregate,
    Comparison,
    Condition,
    PairTest,
    Rows,
    Selection,
    Template,
    aggregate,
    match_starts,
)
from trendweave.kernels.loops.merged import MergedTemplate
from trendweave.kernels.many_queries import (
    ExtremumMeasure,
    LinearMeasure,
    SharedMeasures,
    SharedRows,
    aggregate_shared,
)
from trendweave.kernels.stopping import heed_stop

ROWS = 70  # enough for counts beyond 64 bits


def all_kernels():
    """{name: dispatcher} of all compiled functions in the package, but for what only loops that are written call: it is
    loaded when one of a new shape is compiled."""
    found = {}
    for module in pkgutil.walk_packages(trendweave.kernels.__path__, "trendweave.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Kernel) and value is not heed_stop:
                found[f"{value.__module__}.{value.__name__}"] = value.compiled
    return found


def loaded_and_compiled(kernels):
    """How many signatures of each kernel were loaded from disk, and how many had to be compiled."""
    loaded = {name: sum(kernel.stats.cache_hits.values()) for name, kernel in kernels.items()}
    compiled = {name: sum(kernel.stats.cache_misses.values()) for name, kernel in kernels.items()}
    return {"loaded": loaded, "compiled": compiled}


def read_only(values, dtype=np.int64):
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


def ask_common_queries():
    """Each selection, kind of number, kind of window and way of summing, with all inputs read-only."""
    ticks = read_only(range(ROWS))
    flags = read_only([True, False], bool), read_only([False, True], bool)
    # SEQ(A+, B)
    template = Template(read_only([0, 1]), *flags, read_only([0, 0]), read_only([0, 1]))
    letters = read_only(np.arange(ROWS) % 3 // 2 + 1, np.uint64)
    codes = read_only(np.arange(ROWS) * 7 % 11)
    pair_test = PairTest(codes, codes, read_only(np.arange(121).reshape(11, 11) % 2, bool))
    conditions = [
        None,
        [Condition((Comparison(codes, "<", codes),)), None],
        [Condition((Comparison(codes, "=", codes), Comparison(ticks, "<", ticks)), ticks), Condition((), ticks)],
        [Condition((Comparison(codes, "!=", codes),), None, pair_test), None],
    ]
    valid = read_only(np.arange(ROWS) % 5 > 0, bool)
    floats = read_only(codes, np.float64)
    aggregates = [
        Aggregate("count", 1, None, valid), Aggregate("sum", 3, codes, valid), Aggregate("sum", 1, floats),
        Aggregate("avg", 1, codes), Aggregate("min", 1, codes), Aggregate("max", 2, floats),
    ]  # fmt: skip
    guards = {0: read_only(np.arange(ROWS) // 10)}
    zero = read_only(np.zeros(ROWS))
    for starts in ([0, ROWS], [0, 5, ROWS]):
        for first, last in ((zero, zero), (ticks // 10, ticks // 10), (ticks - 12, ticks), (ticks - 400, ticks)):
            rows = Rows(read_only(starts), ticks, read_only(first), read_only(last), letters)
            for condition in conditions:
                for selection in Selection:
                    match_starts(rows, template, condition, selection)
                    for wanted in ([], aggregates):
                        aggregate(rows, template, condition, wanted, selection)
                        aggregate(rows, template, condition, wanted, selection, numbers="float64", start_guards=guards)
    # A+, all rows in one window: more trends than 64 bits hold
    kleene = Template(read_only([0]), *[read_only([True], bool)] * 2, read_only([0]), read_only([0]))
    rows = Rows(read_only([0, ROWS]), ticks, zero, zero, read_only(zero + 1, np.uint64))
    aggregate(rows, kleene, None, [Aggregate("sum", 1, read_only(codes * 2**40))])


def ask_many_queries():
    """Two queries A+ and B+ in windows of two kinds: more trends than 64 bits hold, sums, extrema, a blocker."""
    ticks, codes = read_only(range(ROWS)), read_only(np.arange(ROWS) * 7 % 11)
    states = read_only([0, 1])
    template = MergedTemplate(
        states, states, read_only([True, True], bool), states, states, read_only([2, 2]), states, states,
        read_only([0, 0]), 2, states,
    )  # fmt: skip
    zero = np.zeros(ROWS, np.int64)
    windows = read_only([zero, ticks // 10]), read_only([zero, ticks // 10 + 2])
    rows = SharedRows(read_only([0, ROWS]), ticks, read_only(np.full((ROWS, 1), 3), np.uint64), *windows)
    every = read_only([True, True], bool)
    measures = SharedMeasures(
        (LinearMeasure(every, read_only(codes * 2**40)), LinearMeasure(every, read_only(codes, np.float64))),
        (ExtremumMeasure(every, codes),),
    )
    for sharing in ("auto", "always", "never"):
        for numbers in ("exact", "float64"):
            aggregate_shared(rows, template, measures, sharing, numbers)


if __name__ == "__main__":
    with always_compile():
        kernels = all_kernels()
        trendweave.kernels.warm_up.warm_up()
        report = {"warm_up": loaded_and_compiled(kernels)}
        ask_common_queries()
        report["queries"] = loaded_and_compiled(kernels)
        trendweave.kernels.warm_up.warm_up_shared()
        report["warm_up_shared"] = loaded_and_compiled(kernels)
        ask_many_queries()
        report["many_queries"] = loaded_and_compiled(kernels)
        print(json.dumps(report))
