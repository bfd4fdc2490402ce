"""Rows into what is carried: each row into the summary of its key and pane, after which it can be forgotten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.kernels import Rows
from trendweave.kernels.loops.summaries import concat_summaries, extend
from trendweave.programs.trends.folded.carried import Carried, Summed
from trendweave.programs.trends.folded.keys import number_keys, select_keys
from trendweave.programs.trends.folded.measures import Measures
from trendweave.programs.trends.measured_values import measure_values
from trendweave.rows.encoded import EncodedRows, encode_rows
from trendweave.rows.segments import Segments


@dataclass(frozen=True, slots=True)
class _Runs:
    """Rows of one partition in one pane, one run after the other."""

    starts: np.ndarray
    partition: np.ndarray
    pane: np.ndarray


def fold_rows(measures: Measures, carried: Carried, rows: pa.Table) -> Carried:
    """Add rows to what is carried.

    Args:
        measures: What is asked of rows.
        carried: What was there before. None of its rows has the time of one of these, or a later one.
        rows: Prepared rows that lie in windows.

    Returns:
        What is carried with them.
    """
    encoded = encode_rows(measures.plan, measures.preparation, rows)
    segments = measures.find_segments(encoded)
    if not segments.row.size:
        return carried
    runs = _find_runs(encoded, segments, carried)
    key_of_run, keys = _number_keys(measures, carried, encoded, runs)
    tables = np.unique(carried.panes.table_of(runs.pane))
    earlier = carried.in_tables(tables)
    which, places, codes = _find_earlier(earlier, runs.pane, key_of_run)
    measured = measure_values(measures.plan, measures.preparation, encoded.table)
    everywhere = np.zeros(segments.row.size, np.int64)
    kernel_rows = Rows(runs.starts, segments.take(encoded.tick), everywhere, everywhere, segments.letters)
    extended = extend(measures.algebra, earlier.summaries, which, kernel_rows, measured.of_rows(segments))
    infinite = np.zeros(which.size, np.bool_)
    odd = measures.find_infinite(measured)
    if odd is not None:
        infinite = np.logical_or.reduceat(segments.take(odd), runs.starts[:-1])
        infinite[which >= 0] |= earlier.infinite[which[which >= 0]]
    order = np.argsort(codes, kind="stable")
    both = Summed(
        np.concatenate([earlier.pane, runs.pane]),
        np.concatenate([earlier.key, key_of_run]),
        np.concatenate([earlier.infinite, infinite]),
        concat_summaries([earlier.summaries, extended]),
    )
    return carried.with_fresh(tables, both.take(places[order]), keys)


def _find_runs(encoded: EncodedRows, segments: Segments, carried: Carried) -> _Runs:
    pane = carried.panes.of_times(encoded.tick_steps[segments.take(encoded.tick)])
    partition = segments.partition[segments.of_rows()]
    begins = np.ones(pane.size, np.bool_)
    begins[1:] = (pane[1:] != pane[:-1]) | (partition[1:] != partition[:-1])
    starts = np.flatnonzero(begins)
    return _Runs(np.append(starts, pane.size), partition[starts], pane[starts])


def _number_keys(
    measures: Measures, carried: Carried, encoded: EncodedRows, runs: _Runs
) -> tuple[np.ndarray, pa.Table]:
    """The key of each run, and all keys. A partition without a run is not one of them."""
    begins = np.ones(runs.partition.size, np.bool_)
    begins[1:] = runs.partition[1:] != runs.partition[:-1]
    rows = encoded.partitions.starts[:-1][runs.partition[begins]]
    found = select_keys(encoded.table, measures.preparation.partition_key, rows)
    numbers, keys = number_keys(carried.keys, found)
    return numbers[np.cumsum(begins) - 1], keys


def _find_earlier(earlier: Summed, pane: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per run the number of the earlier summary that it goes on from, or -1; and, of all summaries together with the
    new ones behind them, the places of those that stay and codes in the order of panes and keys."""
    width = max(int(earlier.key.max(initial=0)), int(key.max(initial=0))) + 1
    known, asked = _codes(earlier.pane, pane, earlier.key, key, width)
    if known.size and known[-1] == known.size - 1:  # no code is missing, so that each stands in its place
        place = np.minimum(asked, known.size)
    else:
        place = np.searchsorted(known, asked)
    found = np.append(known, -1)[place] == asked
    which = np.where(found, place, -1)
    stays = np.arange(known.size)
    stays[which[found]] = known.size + np.flatnonzero(found)
    places = np.concatenate([stays, known.size + np.flatnonzero(~found)])
    return which, places, np.concatenate([known, asked[~found]])


def _codes(
    earlier: np.ndarray, pane: np.ndarray, earlier_key: np.ndarray, key: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in the order of panes and keys, of earlier summaries and of runs. They count panes that are there, as
    panes may be far apart."""
    first, last = int(pane.min()), int(pane.max())
    if first == last and (not earlier.size or first == earlier[0] == earlier[-1]):
        return earlier_key, key
    panes = np.union1d(np.unique(earlier), np.unique(pane))
    return np.searchsorted(panes, earlier) * width + earlier_key, np.searchsorted(panes, pane) * width + key
