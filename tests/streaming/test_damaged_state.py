"""A value in the state that was damaged is noticed, never computed with."""

from __future__ import annotations

from typing import Any

import pytest

import trendweave
from tests.streaming.sample import SLIDING, batches
from tests.streaming.simulated import SimulatedStream
from trendweave.errors import DataError
from trendweave.runners.spark.stream_state import ABOUT
from trendweave.runners.spark.waiting_rows import PIECE_VALUE

VALUES, ABOUTS = (columns.fieldNames() for columns in (PIECE_VALUE, ABOUT))


@pytest.mark.parametrize("column", VALUES)
def test_any_column_of_a_piece(column: str) -> None:
    stream = half_a_stream()
    bucket, pieces = some_state(stream)
    place = next(iter(pieces))
    damaged = list(pieces[place])
    damaged[VALUES.index(column)] = other(damaged[VALUES.index(column)])

    stream.tester.updateMapState("pieces", (bucket,), pieces | {place: tuple(damaged)})
    with pytest.raises(DataError, match="TW311: a piece of the state is damaged"):
        stream.advance()


@pytest.mark.parametrize("column", ABOUTS[1:])
def test_any_column_of_what_the_state_says_about_itself(column: str) -> None:
    stream = half_a_stream()
    bucket, _ = some_state(stream)
    damaged = list(stream.tester.peekValueState("about", (bucket,)))
    damaged[ABOUTS.index(column)] = other(damaged[ABOUTS.index(column)])

    stream.tester.updateValueState("about", (bucket,), tuple(damaged))
    with pytest.raises(DataError, match="TW311: the metadata of the state is damaged"):
        stream.advance()


def test_the_version_of_the_state() -> None:
    stream = half_a_stream()
    bucket, _ = some_state(stream)
    about = stream.tester.peekValueState("about", (bucket,))
    stream.tester.updateValueState("about", (bucket,), (99, *tuple(about)[1:]))

    with pytest.raises(DataError, match="TW311: the state has version 99, this release reads version 1"):
        stream.advance()


def half_a_stream() -> SimulatedStream:
    """Two batches; the watermark will close a window when it moves next."""
    stream = SimulatedStream(trendweave.query(SLIDING), delay=5)
    for table in batches(2):
        stream.advance()
        stream.push(table.to_pylist())
    return stream


def some_state(stream: SimulatedStream) -> tuple[int, dict[Any, Any]]:
    held = {bucket: stream.tester.peekMapState("pieces", (bucket,)) for bucket in range(stream.buckets)}
    return next((bucket, pieces) for bucket, pieces in held.items() if pieces)


def other(value: int | str | bytes | None) -> int | str | bytes:
    if not isinstance(value, bytes):
        return value + 1 if isinstance(value, int) else f"not {value}"
    middle = len(value) // 2
    return value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]
