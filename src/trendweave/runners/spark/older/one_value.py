"""All state of a bucket in one value, as Spark 3.5 keeps it: what newer versions keep in several, and their timers.

A micro-batch writes all of it anew, also rows that wait and did not change. Where they are many, a newer Spark is the
quicker one.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any


class Value:
    """One value of the state, by its name."""

    def __init__(self, values: dict[str, Any], name: str) -> None:
        self._values, self._name = values, name

    def get(self) -> tuple[Any, ...] | None:
        return self._values.get(self._name)

    def update(self, value: tuple[Any, ...]) -> None:
        self._values[self._name] = value

    def clear(self) -> None:
        self._values.pop(self._name, None)


class ValuesByKey:
    """A map of the state, by its name."""

    def __init__(self, values: dict[str, Any], name: str) -> None:
        self._values, self._name = values, name

    @property
    def _own(self) -> dict[Any, Any]:
        return self._values.get(self._name, {})

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return self._own.get(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        self._values.setdefault(self._name, {})[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:
        self._own.pop(key, None)
        if not self._own:
            self.clear()

    def keys(self) -> Iterable[tuple[Any, ...]]:
        return list(self._own)

    def iterator(self) -> Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        return list(self._own.items())

    def clear(self) -> None:
        self._values.pop(self._name, None)


class OneValueHandle:
    """What an operator asks for its state, with timers; made from bytes, and written as such."""

    def __init__(self, content: bytes | None) -> None:
        self._values: dict[str, Any] = {}
        self.timers: set[int] = set()
        if content is not None:
            self._values, timers = _Plain(io.BytesIO(content)).load()
            self.timers = set(timers)

    def to_bytes(self) -> bytes | None:
        """None where nothing is left."""
        if not self._values and not self.timers:
            return None
        return pickle.dumps((self._values, sorted(self.timers)), protocol=5)

    def getValueState(self, name: str, schema: Any) -> Value:
        return Value(self._values, name)

    def getMapState(self, name: str, key: Any, value: Any) -> ValuesByKey:
        return ValuesByKey(self._values, name)

    def registerTimer(self, moment: int) -> None:
        self.timers.add(moment)

    def deleteTimer(self, moment: int) -> None:
        self.timers.discard(moment)


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, bytes and what holds them, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"the state names {module}.{name}, and states hold plain values only")
