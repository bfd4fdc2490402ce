"""The card that Spark has assigned to a task. Executors with GPUs are asked for by Spark's own settings
(`spark.executor.resource.gpu.amount`, `spark.task.resource.gpu.amount`)."""

from __future__ import annotations

from pyspark import TaskContext

from trendweave.devices.assigned import assign_card


def use_assigned_card() -> None:
    """Let this process use the card that its task was given, where it was given one."""
    addresses = _addresses()
    if addresses:
        assign_card(int(addresses[0]))


def _addresses() -> list[str]:
    task = TaskContext.get()
    resources = {} if task is None else task.resources()
    return list(resources["gpu"].addresses) if "gpu" in resources else []
