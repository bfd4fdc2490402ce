"""A program as users submit it: one query on a DataFrame, whose rows it prints, and on a stream."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import trendweave

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main(folder: Path) -> None:
    spark = SparkSession.builder.config("spark.sql.streaming.stateStore.providerClass", _ROCKSDB).getOrCreate()
    query = trendweave.query((folder / "query.tw").read_text())
    events = spark.read.parquet(str(folder / "events"))
    found = [row.asDict() for row in query.run(events, numbers="int64").collect()]
    spark.conf.set("spark.sql.shuffle.partitions", "1")  # one task with a state is enough, as each starts a Python
    arriving = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    rows = query.run(arriving, watermark="0 seconds", numbers="int64", buckets=1)
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "trends")).awaitTermination()
    places = {row.place for row in spark.range(2, numPartitions=2).mapInArrow(look, "place string").collect()}
    print("RESULT " + json.dumps({"batch": found, "places": [*places, trendweave.__file__]}))
    spark.stop()


def look(batches):
    """Where executors have the package from."""
    import os

    import pyarrow as pa

    import trendweave

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"place": [os.path.abspath(trendweave.__file__)]})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
