"""How tasks travel to Python workers: in a wrapping that needs nothing there, so that it can say what is missing.

PySpark pickles functions of this package by their names. A worker that cannot import them fails before any code of ours
runs, in a hundred lines that do not say what to do. So functions inside of functions, which are pickled with their
code, unwrap what travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from trendweave.runners.shipping.package_files import OWN, own_fingerprint

Batches = Iterator[pa.RecordBatch]
Task = Callable[[Batches], Batches]
_dumps: Callable[[Any], bytes] = cloudpickle.dumps


def travelling(task: Task) -> Task:
    """A task for mapInArrow, wrapped."""
    packed, told, unpack = _dumps(task), own_fingerprint(), _make_unpack()

    def run(batches: Batches) -> Batches:
        yield from unpack(packed, told, None)(batches)

    run.__name__ = type(task).__name__  # plans show it
    return run


def travelling_state(kind: type, state: dict[str, Any]) -> tuple[Callable[..., Any], tuple[bytes, str, str]]:
    """For `__reduce__` of what Spark also unpickles in a Python of its own beside the driver, which it does not tell of
    the files that were submitted: that one finds this package where the driver does."""
    unpack = _make_unpack()

    def restore(packed: bytes, told: str, place: str) -> Any:
        kind, state = unpack(packed, told, place)
        made = object.__new__(kind)
        made.__dict__.update(state)
        return made

    spec = find_spec(OWN)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    place = str(Path(next(iter(spec.submodule_search_locations))).parent)
    return restore, (_dumps((kind, state)), own_fingerprint(), place)


def _make_unpack() -> Callable[[bytes, str, str | None], Any]:
    def unpack(packed: bytes, told: str, place: str | None) -> Any:
        """Nothing here may name anything of the module around it."""
        import pickle
        import sys
        from importlib.util import find_spec

        if place is not None and find_spec("trendweave") is None:
            sys.path.append(place)
        try:
            from trendweave.runners.shipping.package_files import own_fingerprint

            if own_fingerprint() != told:
                there = sys.modules["trendweave"].__file__
                raise RuntimeError(
                    f"TW424: executors have another Trendweave ({there}) than the driver; write it anew by "
                    "'trendweave package', and hand it to them by 'spark-submit --py-files trendweave.zip'"
                )
            found = pickle.loads(packed)
        except ModuleNotFoundError as error:
            lacks = (error.name or str(error)).split(".")[0]
            ship = "write it by 'trendweave package', and submit with '--py-files trendweave.zip'"
            install = "install it there, or set PYSPARK_PYTHON to a Python that has it"
            raise RuntimeError(
                f"TW424: the Python of executors, {sys.executable}, has no {lacks}; "
                f"{ship if lacks in ('trendweave', 'lark') else install}"
            ) from None
        return found

    return unpack
