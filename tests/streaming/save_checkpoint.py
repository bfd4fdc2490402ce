"""A script: saves streams that were stopped in the middle, for tests that later releases can go on with them.

    python -m tests.streaming.save_checkpoint [KIND ...]

It writes `checkpoints/v1` and, of other kinds of queries, `checkpoints/v1-KIND`: files of events, the checkpoint, and
the rows that had come out. Run it only where the version of the state changes, with the new number, and keep the
folders of old versions: users have such checkpoints.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import trendweave
from tests.streaming.running import ROCKSDB, Files, write_to_the_end
from tests.streaming.sample import COLUMNS, SLIDING, batches
from trendweave.runners.spark.stream_state import FOLDED_VERSION, STATE_VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAVED = Path(__file__).parent / "checkpoints"
#: Stands for the folder in the files in which Spark keeps whole paths.
PLACEHOLDER = "/folder-of-the-saved-stream"
BUCKETS = 3


#: A query of each kind; aggregates stand for trends. Of `sums` rows are folded.
KINDS = {
    "": SLIDING,
    "sums": "RETURN g, COUNT(*), SUM(A.x), MAX(B.y), AVG(A.y) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY g "
    "WITHIN 20 s SLIDE 10 s",
    "lists": "RETURN EACH COUNT(A), LAST(B.x) AS last PATTERN SEQ(A, B) WHERE [k] AND A.x < B.x WITHIN 20 s SLIDE 10 s",
    "matches": "FROM A PARTITION BY k DEFINE P AS x > 3, Q AS x < 8 PATTERN P before; meets; overlaps Q "
    "WITHIN 20 s RETURN k, SUM(P.x)",
    "counts": "FROM A PARTITION BY k DEFINE P AS x > 3, Q AS x < 8 PATTERN P before; meets; overlaps Q "
    "WITHIN 20 s EVERY 10 s RETURN COUNT(*)",
    "situated": "RETURN g, COUNT(*) PATTERN SEQ(A, B) WHERE [k] AND A DURING P GROUP-BY g WITHIN 20 s SLIDE 10 s "
    "FROM A DEFINE P AS x > 3 AT LEAST 3 seconds",
}


#: The versions of the state that each was saved in. Before version 2 rows were not folded, and waited.
VERSIONS = {
    kind: tuple(range(STATE_VERSION, FOLDED_VERSION + 1)) if kind == "sums" else (STATE_VERSION,) for kind in KINDS
}


def saved_folder(kind: str, version: int) -> Path:
    """Where a kind of query is saved."""
    return SAVED / (f"v{version}-{kind}" if kind else f"v{version}")


def go_on(spark: SparkSession, folder: Path, kind: str = "") -> None:
    """Read what there is in `events`, from the checkpoint on if there is one; rows go to `rows`."""
    events = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    rows = trendweave.query(KINDS[kind]).run(events, type="type", watermark="5 seconds", buckets=BUCKETS)
    write_to_the_end(rows, folder / "rows", folder / "checkpoint")


def replace_in_texts(folder: Path, old: str, new: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and (data := path.read_bytes()).find(old.encode()) >= 0:
            assert path.suffix not in (".sst", ".zip", ".parquet"), f"{path} cannot be changed"
            path.write_bytes(data.replace(old.encode(), new.encode()))


def main() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")  # a small checkpoint
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )
    for kind in sys.argv[1:] or KINDS:
        save(spark, kind)
    spark.stop()


def save(spark: SparkSession, kind: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = Files(folder / "events")
        for table in batches(3):
            files.write(table)
        go_on(spark, folder, kind)
        for checksum in folder.rglob("*.crc"):  # of files that change below; Hadoop does without
            checksum.unlink()
        replace_in_texts(folder, name, PLACEHOLDER)
        target = saved_folder(kind, VERSIONS[kind][-1])
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns(".events-*", "*.tmp"))
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target.name}: {size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
