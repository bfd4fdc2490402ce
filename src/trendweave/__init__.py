"""Event-trend analytics for Apache Spark: aggregates over all trends of a pattern, without building them.

>>> import trendweave
>>> print(trendweave.query("return count(*) pattern Stock S+ within 1 min slide 10s"))
RETURN COUNT(*)
PATTERN Stock S+
WITHIN 1 minute SLIDE 10 seconds
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trendweave import errors
from trendweave.errors import TrendweaveError
from trendweave.planning import IntervalPlan, Plan, SituatedPlan
from trendweave.queries import Query, query
from trendweave.rules.rule import Rule
from trendweave.workload import Workload, workload

if TYPE_CHECKING:
    __version__: str
    from trendweave.programs.shared.unit import SharingMetrics
    from trendweave.runners.auto import calibrate
    from trendweave.runners.incremental import Incremental, State
    from trendweave.runners.local import Batches
    from trendweave.runners.metrics import Metrics
    from trendweave.runners.options import Options
    from trendweave.runners.session import PushSession
    from trendweave.runners.shipping.package import Package
    from trendweave.runners.spark.reading import ParquetEvents, read
    from trendweave.shipping import package, warm_up
    from trendweave.showing import plot, show
    from trendweave.store.event_store import EventStore

__all__ = [
    "Batches",
    "EventStore",
    "Incremental",
    "IntervalPlan",
    "Metrics",
    "Options",
    "Package",
    "ParquetEvents",
    "Plan",
    "PushSession",
    "Query",
    "Rule",
    "SharingMetrics",
    "SituatedPlan",
    "State",
    "TrendweaveError",
    "Workload",
    "calibrate",
    "errors",
    "package",
    "plot",
    "query",
    "read",
    "show",
    "warm_up",
    "workload",
]

#: Names whose modules need PySpark, Numba or Arrow, which are imported by those who use them.
_ON_DEMAND = {
    "Batches": "runners.local",
    "EventStore": "store.event_store",
    "Incremental": "runners.incremental",
    "Metrics": "runners.metrics",
    "Options": "runners.options",
    "Package": "runners.shipping.package",
    "ParquetEvents": "runners.spark.reading",
    "PushSession": "runners.session",
    "SharingMetrics": "programs.shared.unit",
    "State": "runners.incremental",
    "calibrate": "runners.auto",
    "package": "shipping",
    "plot": "showing",
    "read": "runners.spark.reading",
    "show": "showing",
    "warm_up": "shipping",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _read_version()
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_ON_DEMAND[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "pyspark":
            raise
        # To those who look through all names, it is one that is not there.
        raise AttributeError(f"{__name__}.{name} needs Spark: pip install 'trendweave[spark]'") from error


def _read_version() -> str:
    """Read on demand, as the modules that know what is installed take long to import."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("trendweave")
    except PackageNotFoundError:  # a zip of the package, as executors of Spark may get it, is not installed
        return "0.1.0"


#: Modules for users, which are imported by those who use them.
_MODULES = ("build", "datasets", "operators", "pictures")


def __dir__() -> list[str]:
    """What users may use, imported or not, and nothing else."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *_MODULES})
