"""Checkpoints of earlier versions of the state, saved in the repository, are read by this release."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.spark.comparing import assert_same
from tests.streaming.running import Files
from tests.streaming.sample import batches, end, expected
from tests.streaming.save_checkpoint import KINDS, PLACEHOLDER, VERSIONS, go_on, replace_in_texts, saved_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("kind", "version"), [(kind, version) for kind in KINDS for version in VERSIONS[kind]])
def test_a_saved_stream_goes_on(streaming: SparkSession, tmp_path: Path, kind: str, version: int) -> None:
    folder = tmp_path / "stream"
    shutil.copytree(saved_folder(kind, version), folder)
    replace_in_texts(folder, PLACEHOLDER, str(folder))
    files = Files(folder / "events")
    for path in sorted(files.folder.iterdir()):
        files.written += 1
        assert pq.read_table(path).equals(batches(1, first=files.written - 1)[0]), "the sample is not what was saved"
        os.utime(path, (files.written, files.written))
    before = streaming.read.parquet(str(folder / "rows")).count()
    files.write(batches(1, first=3)[0])
    files.write(end())

    go_on(streaming, folder, kind)

    rows = streaming.read.parquet(str(folder / "rows")).toArrow()
    assert_same(expected(KINDS[kind], batches(4)), rows)
    assert 0 < before < rows.num_rows, "some windows were closed and some were open"
