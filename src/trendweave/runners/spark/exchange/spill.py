"""Bytes that do not fit in memory, in a temporary file without a name: it is gone with the process, however that
ends."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

import pyarrow as pa

#: Where Spark's own temporary files are, in its workers.
_FOLDERS = "SPARK_LOCAL_DIRS"


class Spill:
    """A file that grows. What was written to it is read as if it were in memory."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0

    def write(self, data: pa.Buffer) -> slice:
        """Where the bytes stand in the file. Arrow wants them to begin at full words."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=_folder())  # noqa: SIM115, closed by `close`
        place = -(-self._size // 64) * 64
        self._file.seek(place)
        self._file.write(data)
        self._size = place + data.size
        return slice(place, self._size)

    def read(self) -> pa.Buffer:
        """All that was written."""
        assert self._file is not None
        self._file.flush()
        return pa.py_buffer(mmap.mmap(self._file.fileno(), self._size, access=mmap.ACCESS_READ))

    def close(self) -> None:
        """The space on disk is free when what was read is gone, too."""
        if self._file is not None:
            self._file.close()


def _folder() -> str | None:
    folders = os.environ.get(_FOLDERS, "").split(",")
    return next((folder for folder in folders if folder and Path(folder).is_dir()), None)
