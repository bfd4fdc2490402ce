"""The package in a zip, as `spark-submit --py-files` hands it to executors: nothing is installed there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trendweave
from trendweave import Package
from trendweave.kernels import searching

#: An executor has the zip and the packages that we need, and no metadata of ours.
_NOT_INSTALLED = """
import importlib.metadata, json, sys

class NoMetadata(importlib.metadata.MetadataPathFinder):
    @classmethod
    def find_distributions(cls, context=importlib.metadata.DistributionFinder.Context()):
        if (context.name or "").lower() == "trendweave":
            return iter(())
        return super().find_distributions(context)

for finder in sys.meta_path:
    if hasattr(finder, "find_distributions"):
        finder.find_distributions = NoMetadata.find_distributions
import pyarrow as pa
import trendweave
from trendweave import datasets
assert ".zip" in trendweave.__file__, trendweave.__file__
events = pa.table({"time": [1, 2, 3], "type": ["A", "B", "A"], "x": [1, 2, 3]})
texts = [
    "RETURN COUNT(*) PATTERN A+",
    "RETURN TRENDS PATTERN A+",
    "FROM X DEFINE P AS x > 1, Q AS x > 2 PATTERN P contains; finished-by; overlaps Q RETURN COUNT(P)",
    "RETURN COUNT(*) PATTERN A+ WHERE A DURING P DEFINE P AS x > 1",
]
"""
_ON_ONE_MACHINE = (
    _NOT_INSTALLED
    + """
rows = [trendweave.query(text).run(events).num_rows for text in texts]
print(json.dumps({"rows": rows, "samples": datasets.sample_flights().num_rows, "version": trendweave.__version__}))
"""
)
_KERNELS = (
    _NOT_INSTALLED
    + """
import numpy as np
from trendweave.kernels.searching import first_not_below
first_not_below.compiled(np.arange(9), 0, 9, 4)
print(json.dumps({"loaded": sum(first_not_below.compiled.stats.cache_hits.values())}))
"""
)
_ON_SPARK = (
    _NOT_INSTALLED
    + """
from trendweave.cli.spark_session import session

def look(batches):
    import pyarrow as pa
    import trendweave
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [trendweave.__file__]})

with session("local[2]", {"spark.submit.pyFiles": sys.path[0]}, progress=False) as spark:
    frame = spark.createDataFrame(events.to_pandas())
    (there,) = {row.file for row in spark.range(2).mapInArrow(look, "file string").collect()}
    rows = [trendweave.query(text).run(frame).count() for text in texts]
print(json.dumps({"rows": rows, "there": there}))
"""
)


@pytest.fixture
def zipped(shipped: Package) -> Path:
    return shipped.path


def _run(code: str, zipped: Path) -> tuple[dict[str, Any], str]:
    """What the code prints at last, and what it wrote to stderr."""
    environment = os.environ | {"PYTHONPATH": str(zipped), "PYSPARK_PYTHON": sys.executable}
    prelude = f"import sys; sys.path.insert(0, {str(zipped)!r})\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", prelude + code], capture_output=True, text=True, env=environment, cwd=zipped.parent
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_queries_of_every_kind_run_from_a_zip(zipped: Path) -> None:
    """Grammars and samples are read; the version is written in the package itself."""
    said, _ = _run(_ON_ONE_MACHINE, zipped)
    assert said["rows"] == [1, 3, 1, 1]
    assert said["samples"] == 12_340
    assert said["version"] == trendweave.__version__


def test_a_zip_loads_what_its_sources_were_compiled_to_elsewhere(zipped: Path) -> None:
    searching.first_not_below.compiled(np.arange(9), 0, 9, 4)
    said, _ = _run(_KERNELS, zipped)
    assert said["loaded"] == 1


@pytest.mark.nightly  # by day executors of tests/cluster take it
@pytest.mark.spark
def test_executors_take_the_package_from_a_zip(zipped: Path, java_home: None) -> None:
    said, errors = _run(_ON_SPARK, zipped)
    assert ".zip" in str(said["there"])
    assert said["rows"] == [1, 3, 1, 1]
    # What Java may write is said in a file of the package, which it cannot read inside a zip.
    assert "log4j" not in errors.lower()
    assert " WARN " not in errors
