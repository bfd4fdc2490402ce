"""What the planning of queries asks of a store, so that it can be read and tested without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from trendweave.rows.times import TimeType
from trendweave.store.patterns.possible_blocks import KnownOfBlocks


class StoredFile(Protocol):
    @property
    def bucket(self) -> int | None:
        """The bucket of keys whose events it has; None where it may have any."""


class Groups(Protocol):
    """Row groups: the smallest pieces that are read. Arrays in the order of files."""

    file: np.ndarray
    rows: np.ndarray
    bytes: np.ndarray


class Blocks(KnownOfBlocks, Protocol):
    """Blocks: sets of events of one row group each. Arrays in the order of their first times."""

    file: np.ndarray
    number: np.ndarray
    first: np.ndarray
    last: np.ndarray


class Hits(Protocol):
    """What an index names: times, and rows of files."""

    time: np.ndarray
    file: np.ndarray
    row: np.ndarray
    missing: Sequence[int]
    entries_read: int


class Store(Protocol):
    """Stored events, as they were at one moment."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def kind(self) -> TimeType: ...
    @property
    def keys(self) -> Sequence[str]: ...
    @property
    def buckets(self) -> int | None: ...
    @property
    def files(self) -> Sequence[StoredFile]: ...
    @property
    def groups(self) -> Groups: ...
    @property
    def blocks(self) -> Blocks: ...
    def has_secondary(self, column: str) -> np.ndarray: ...
    def lookup(self, column: str, *asks: Any) -> Hits: ...
    def estimate(self, column: str, *asks: Any) -> Any: ...
