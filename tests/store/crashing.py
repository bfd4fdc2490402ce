"""Writers that die: run as a program, it forks one process per point of death, each on a folder of its own.

    python -m tests.store.crashing OPERATION FOLDER POINT ...

FOLDER/POINT is a store; the process does OPERATION on it and kills itself before its POINT-th step, a step being any
change of the file system. FOLDER/POINT.done is there if it came to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.store.event_store import EventStore
from trendweave.store.layout.places import Place

NEW = {"time": [5, 1, 9, 4], "key": ["a", "b", "c", "a"], "x": [0.5, 1.5, 2.5, 3.5]}


def new_events(store: EventStore) -> pa.Table:
    """What the writer adds."""
    return pa.table({name: pa.array(values, store.schema.field(name).type) for name, values in NEW.items()})


OPERATIONS: dict[str, Callable[[EventStore], Any]] = {
    "append": lambda store: store.append(new_events(store)),
    "index": lambda store: store.build_index(["x", "key"]),
    "compact": lambda store: store.compact(),
    "vacuum": lambda store: store.vacuum("0 seconds"),
}


class Steps:
    """Counts changes of the file system, and dies before one of them."""

    def __init__(self, last: int) -> None:
        self._left = last

    def die_before(self, change: Callable[..., Any], half: Callable[..., Any] | None = None) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if self._left <= 0:
                if half is not None:
                    half(*arguments, **options)
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1
            return change(*arguments, **options)

        return counted


def _write_half(table: pa.Table, sink: Any, **options: Any) -> None:
    whole = pa.BufferOutputStream()
    pq.write_table(table, whole)
    data = whole.getvalue().to_pybytes()
    sink.write(data[: len(data) // 2])
    sink.flush()


def run(operation: str, folder: Path, point: int) -> None:
    """Do it, and die."""
    steps = Steps(point)
    os.replace = steps.die_before(os.replace)
    os.link = steps.die_before(os.link)
    Place.move = steps.die_before(Place.move)
    Place.delete = steps.die_before(Place.delete)
    pq.write_table = steps.die_before(pq.write_table, _write_half)
    OPERATIONS[operation](EventStore.open(folder / str(point)))
    (folder / f"{point}.done").touch()


def main() -> None:
    operation, folder, *points = sys.argv[1:]
    for point in map(int, points):
        child = os.fork()
        if child == 0:
            try:
                run(operation, Path(folder), point)
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
