"""Tasks on Pythons that lack what they need say so in one line, and what to do; no Spark is needed to see that."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from tests.cluster.bare_python import make_python
from trendweave.runners.spark import workers
from trendweave.runners.spark.older import FrameOperator
from trendweave.runners.spark.stream import UnpackTask
from trendweave.runners.spark.stream_operator import StreamProcessor
from trendweave.runners.spark.workers import travelling, travelling_state

_RUN = "import pickle, sys; list(pickle.load(open(sys.argv[1], 'rb'))(iter([])))"
_SOURCES = Path(workers.__file__).parents[3]
_SHIP = "write it by 'trendweave package', and submit with '--py-files trendweave.zip'"


@dataclass(frozen=True)
class Passes:
    """A task that gives what it gets."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches


def run_there(python: Path, task: object, folder: Path, code: str = _RUN, **environment: str) -> tuple[int, str]:
    """How a process ends that unpickles a task, and the last line that it writes."""
    (folder / "task").write_bytes(cloudpickle.dumps(task))
    command = [str(python), "-c", code, str(folder / "task"), str(_SOURCES)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


@pytest.fixture(scope="module")
def task() -> object:
    return travelling(UnpackTask(pa.schema([])))


def test_a_task_does_here_what_it_did_and_is_called_so() -> None:
    batches = [pa.record_batch({"x": [1]})]
    task = travelling(Passes())
    assert task.__name__ == "Passes"
    assert list(task(iter(batches))) == batches
    assert list(cloudpickle.loads(cloudpickle.dumps(task))(iter(batches))) == batches


@pytest.mark.parametrize("lacks", ["trendweave", "lark"])
def test_without_what_travels(task: object, tmp_path: Path, lacks: str) -> None:
    python = make_python(tmp_path / "python", without=("trendweave", lacks))
    environment = {} if lacks == "trendweave" else {"PYTHONPATH": str(_SOURCES)}
    code, said = run_there(python, task, tmp_path, **environment)
    assert code == 1
    assert said == f"RuntimeError: TW424: the Python of executors, {python}, has no {lacks}; {_SHIP}"


def test_without_what_must_be_installed(task: object, tmp_path: Path) -> None:
    python = make_python(tmp_path / "python", without=("pyarrow",))
    _, said = run_there(python, task, tmp_path, PYTHONPATH=str(_SOURCES))
    hint = "install it there, or set PYSPARK_PYTHON to a Python that has it"
    assert said == f"RuntimeError: TW424: the Python of executors, {python}, has no pyarrow; {hint}"


def test_with_another_trendweave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "own_fingerprint", lambda: "that of another")
    with pytest.raises(
        RuntimeError, match=r"^TW424: executors have another Trendweave \(.*__init__.py\) than"
    ) as caught:
        list(travelling(Passes())(iter([])))
    assert "\n" not in str(caught.value)


_RESTORE = """
import pickle, sys
restore, arguments = pickle.load(open(sys.argv[1], "rb"))
made = restore(*arguments)
assert (type(made).__name__, made.owner) == ("StreamProcessor", "us")
assert sys.path[-1] == sys.argv[2], sys.path
"""


def test_state_is_restored_where_only_the_driver_knows_the_package(tmp_path: Path) -> None:
    python = make_python(tmp_path / "python", without=("trendweave",))
    state = travelling_state(StreamProcessor, {"owner": "us"})
    assert run_there(python, state, tmp_path, _RESTORE) == (0, "")


_LOAD = """
import pickle, sys
made = pickle.load(open(sys.argv[1], "rb"))
assert (type(made).__name__, made._processor.owner) == ("FrameOperator", "us")
"""


def test_so_is_an_operator_around_another(tmp_path: Path) -> None:
    """That of Spark 4.0, where what is unpickled beside the driver is the outer one."""
    python = make_python(tmp_path / "python", without=("trendweave",))
    inner = StreamProcessor.__new__(StreamProcessor)
    inner.__dict__["owner"] = "us"
    assert run_there(python, FrameOperator(inner), tmp_path, _LOAD) == (0, "")
