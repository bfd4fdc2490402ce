"""Objects that last as long as a Python worker of Spark, and are not looked at again and again.

Spark collects garbage after every task of a worker, also of one that waits for its next task. With our libraries and
compiled kernels loaded there are a quarter of a million objects to look at, which takes a tenth of a second: more than
most tasks of a stream. They stay as long as the process does, so they are set aside once they are there.
"""

from __future__ import annotations

import gc
from functools import cache

import pyarrow as pa
from pyspark import TaskContext


def leave_worker(task: str) -> None:
    """After a task of a batch: what lasts is set aside, and memory that Arrow keeps for later goes back to the machine,
    as the next task of this worker may be of another kind.

    Args:
        task: As for `set_lasting_objects_aside`.
    """
    set_lasting_objects_aside(task)
    pa.default_memory_pool().release_unused()


def set_lasting_objects_aside(task: str) -> None:
    """Let later collections of garbage leave out what is there now.

    Args:
        task: What this worker has done and loads nothing for any more; for each such word it happens once. Outside of
            Spark's workers nothing happens.
    """
    if TaskContext.get() is not None:
        _set_aside(task)


@cache
def _set_aside(task: str) -> None:
    gc.collect()  # so that no garbage stays
    gc.freeze()
