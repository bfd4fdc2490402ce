"""The process that forks Spark's Python workers, with everything imported already that tasks of queries need.

Each new worker would else spend two seconds on that, and workers whose task has failed are not used again. Sessions
of other processes (commands, other drivers, the package as a zip) have Spark's own, where workers import by themselves.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

_MODULES = ("pandas", "pyspark.worker", "trendweave.runners.spark.batch", "trendweave.runners.spark.stream")

if __name__ == "__main__":
    for module in _MODULES:
        with suppress(ImportError):  # what this version of Spark has no place for
            importlib.import_module(module)

    # After its workers' module, which Spark names as an argument.
    from pyspark.daemon import manager

    manager()
