"""A program as users submit it: one query on a DataFrame and on a stream. Prints its rows as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import trendweave

_COLUMNS = "time long, type string, company string, sector string, price double"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main(folder: Path) -> None:
    asked = json.loads((folder / "asked.json").read_text())
    spark = SparkSession.builder.config("spark.sql.streaming.stateStore.providerClass", _ROCKSDB).getOrCreate()
    query = trendweave.query(asked["query"])
    events = spark.createDataFrame([tuple(event.values()) for event in asked["events"]], _COLUMNS)
    found = {"batch": show(query.run(events, numbers="int64"))}
    events.write.parquet(str(folder / "events"))
    arriving = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    rows = query.run(arriving, watermark="0 seconds", numbers="int64", buckets=2)
    rows = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    rows.trigger(availableNow=True).start(str(folder / "trends")).awaitTermination()
    found["stream"] = show(spark.read.parquet(str(folder / "trends")))
    found["places"] = sorted(
        {row.place for row in spark.range(8, numPartitions=4).mapInArrow(look, "place string").collect()}
    )
    print("RESULT " + json.dumps(found | {"driver": trendweave.__file__}))
    spark.stop()


def look(batches):
    """Where executors have the package from."""
    import os

    import pyarrow as pa

    import trendweave

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"place": [os.path.abspath(trendweave.__file__)]})


def show(rows: DataFrame) -> list[dict]:
    return [row.asDict() for row in rows.collect()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
