"""What a loop takes: the columns that it reads, its tables, and memory for the largest of its blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trendweave.kernels.columns import make_writable
from trendweave.kernels.inputs import Rows, Way
from trendweave.kernels.loops.plan import Columns, LoopPlan
from trendweave.kernels.loops.ranking import rank_rows
from trendweave.kernels.loops.vectors import Numbers, Shape
from trendweave.kernels.query_masks import QueryMasks

#: Types of arrays, where they are not int64.
NUMBER_TYPES: dict[Numbers, Any] = {Numbers.EXACT: object, Numbers.DECIMAL: object, Numbers.FLOAT64: np.float64}


def count_steps(blocks, plan: LoopPlan, components: int) -> int:
    """About how many steps a loop takes: what it does per event, window, transition and component."""
    rows = (blocks.row_end - blocks.row_start).astype(np.float64)
    scans = sum(step.store.method is Way.SCAN for step in (plan.steps[number] for number in plan.step))
    per_row = len(plan.variable) + len(plan.step) + scans * rows / 2
    return int((rows * blocks.lanes * per_row).sum() * components)


def arguments_for(
    takes: tuple[str, ...], plan: LoopPlan, columns: Columns, shape: Shape, rows: Rows, blocks, limbs: int,
    values: np.ndarray, states: np.ndarray, masks: QueryMasks | None, interpreted: bool,
) -> dict[str, Any]:  # fmt: skip
    """What a loop takes, by name.

    Args:
        takes: The names.
        plan: What the loop was written from.
        columns: The columns that it reads.
        shape: What else the loop was written from.
        rows: The events.
        blocks: The windows.
        limbs: The most limbs of a number.
        values: What rows add, [component, digit, row].
        states: For which states they do.
        masks: What is for which query, with queries side by side.
        interpreted: Whether the loop is.
    """
    count = rows.tick.size
    codes = columns.codes.matrix(count) if plan.rankings or "codes" in takes else np.zeros((0, 0), np.int64)
    given: dict[str, Any] = {}
    if plan.rankings:
        of_blocks, given = columns.ranks.get(id(blocks), (None, {}))
        if of_blocks is not blocks:
            given = {"places_from": np.concatenate([[0], np.cumsum(blocks.row_end - blocks.row_start)])}
            for place, ranking in enumerate(plan.rankings):
                given |= rank_rows(place, ranking, codes, blocks.row_start, blocks.row_end, interpreted)
            columns.ranks[id(blocks)] = blocks, given
    sizes = _sizes(plan, shape, rows, blocks, limbs, given)
    number: Any = NUMBER_TYPES.get(shape.numbers, np.int64)

    def table(entries: Any) -> Callable[[], np.ndarray]:
        return lambda: np.array(entries, np.int64)

    def memory(name: str, kind: Any = np.int64) -> Callable[[], np.ndarray]:
        return lambda: np.zeros(max(1, sizes[name]), kind)

    def matrix(column_list: Any) -> Callable[[], np.ndarray]:
        return lambda: column_list.matrix(count).reshape(-1)

    tables: dict[str, Callable[[], Any]] = {
        "row_start": lambda: blocks.row_start, "row_end": lambda: blocks.row_end, "offset": lambda: blocks.offset,
        "first_window": lambda: blocks.window, "windows": lambda: blocks.lanes, "most_limbs": lambda: limbs,
        "tick": lambda: rows.tick, "window_first": lambda: rows.window_first, "window_last": lambda: rows.window_last,
        "letters": lambda: rows.letters.reshape(-1).view(np.int64),
        "codes": lambda: codes.reshape(-1), "guards": matrix(columns.guards),
        "start_guards": matrix(columns.start_guards), "final_guards": matrix(columns.final_guards),
        "values": lambda: make_writable(np.ascontiguousarray(values).reshape(-1)),
        "counted": lambda: np.asarray(states).reshape(-1).astype(np.int64),
        "nodes": memory("nodes", number), "pending": memory("pending", number), "result": memory("vector", number),
        "vectors": memory("vectors", number), "list_rows": memory("lists"), "list_codes": memory("list_codes"),
        "accepted_now": memory("lists"), "followed": memory("states"), "reading": memory("transitions"),
        **{name: memory("stores") for name in ("start", "head", "turn", "tail", "last_tick")},
        **{f"waiting_{name}": memory("waiting") for name in ("state", "row", "low", "high")},
        "answers": lambda: np.concatenate([one.reshape(-1).view(np.uint8) for one in columns.answers]),
        "answers_from": lambda: np.cumsum([0, *(one.size for one in columns.answers)]),
        "answers_width": table([one.shape[1] for one in columns.answers]),
    }  # fmt: skip
    if masks is not None:
        tables |= {
            "accepted": lambda: masks.accepted.reshape(-1).view(np.int64), "everyone": lambda: masks.everyone,
            "query": lambda: np.arange(int(blocks.lanes.max()) + 8) % masks.count,
            "here_mask": lambda: masks.here.view(np.int64), "start_mask": lambda: masks.start.view(np.int64),
            "final_mask": lambda: masks.final.view(np.int64),
            "store_mask": lambda: _signed(plan.readers),
            "transition_mask": lambda: _signed([masks.readers[t] for t in plan.order]),
            "counted_mask": lambda: np.asarray(states, np.uint64).reshape(-1).view(np.int64),
        }  # fmt: skip
    return plan_tables(plan, takes) | given | {name: tables[name]() for name in takes if name in tables}


def plan_tables(plan: LoopPlan, takes: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What a loop takes of a plan that it does not write out."""
    tables = {
        "variable": plan.variable, "start_guard": plan.start, "final_guard": plan.final, "source": plan.source,
        "store_of": plan.store, "step_kind": plan.step, "incoming": plan.incoming, "outgoing": plan.outgoing,
        "listed": plan.lists, "store_source": plan.store_source, "store_kind": plan.store_kind,
        "furthest": plan.furthest,
    }  # fmt: skip
    return {name: np.array(tables[name], np.int64) for name in takes if name in tables}


def _signed(bits: Any) -> np.ndarray:
    return np.array([int(one) & 2**64 - 1 for one in bits], np.uint64).view(np.int64)


def _sizes(plan: LoopPlan, shape: Shape, rows: Rows, blocks, limbs: int, ranks: dict[str, Any]) -> dict[str, int]:
    """Numbers in each array of scratch memory."""
    counts = blocks.row_end - blocks.row_start
    width = shape.components * limbs
    lanes = blocks.lanes if shape.lanes else np.ones_like(blocks.lanes)
    if shape.packs:
        lanes = (lanes + 7) & -8
    moves, tied = rows.tick[1:] != rows.tick[:-1], 1
    if not moves.all():
        tied = int(np.diff(np.concatenate([[-1], np.flatnonzero(moves), [rows.tick.size - 1]])).max())
    nodes = np.zeros_like(counts)
    for kind in (plan.kinds[number] for number in plan.store_kind):
        if kind.method is Way.RANKED:
            nodes += ranks[f"nodes_{kind.ranking}"]
        elif kind.method is not Way.SCAN:
            nodes += 1
    lists = max(plan.lists, default=-1) + 1
    slots = max((len(kind.slots) for kind in plan.kinds), default=0)
    states = len(plan.variable)
    return {
        "nodes": int((nodes * lanes).max()) * width, "vector": int(lanes.max()) * width,
        "pending": (states * tied + 1) * int(lanes.max()) * width, "waiting": states * tied + 1,
        "vectors": lists * int((counts * lanes).max()) * width, "lists": lists * int(counts.max()),
        "list_codes": slots * lists * int(counts.max()), "states": states, "stores": len(plan.store_kind),
        "transitions": len(plan.step),
    }  # fmt: skip
