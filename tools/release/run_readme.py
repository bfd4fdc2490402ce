"""Runs all code of README.md, on Spark too, with the package that is installed: `python run_readme.py REPOSITORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import trendweave

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    installed = Path(trendweave.__file__).resolve()
    assert root / "src" not in installed.parents, f"{installed} is not installed"
    sys.path.append(str(root))
    from tests.documentation import blocks_of, run_page

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark = builder.config("spark.sql.streaming.stateStore.encodingFormat", "avro").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        run_page(root / "README.md", spark)
        for stream in spark.streams.active:
            stream.processAllAvailable()
            stream.stop()
    finally:
        spark.stop()
    print(
        f"README.md: {len(blocks_of(root / 'README.md'))} blocks of code ran with trendweave {trendweave.__version__}"
    )


if __name__ == "__main__":
    main()
