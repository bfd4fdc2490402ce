"""`explain(loop=True)` with device="gpu": the CUDA C that runs, without a card."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from tests.gpu.simulator import SimulatedCard
from tests.planning.test_explained_loops import QUERIES
from trendweave.errors import ExecutionError
from trendweave.gpu.card import has_card


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "next"])
def test_texts_are_bounded(name: str) -> None:
    loops = trendweave.query(QUERIES[name]).explain(loop=True, device="gpu")
    kernel = "fold" if name in ("fold", "windows that overlap", "largest") else "propagate"
    assert f"__global__ void {kernel}(" in loops
    assert all(len(line) <= 160 for line in loops.split("\n"))
    assert len(loops.split("\n")) <= 550


def test_what_no_card_does_is_refused() -> None:
    with pytest.raises(ExecutionError, match="skip-till-next-match"):
        trendweave.query(QUERIES["next"]).explain(loop=True, device="gpu")


def test_it_is_the_text_that_runs(gpu: SimulatedCard, monkeypatch: pytest.MonkeyPatch) -> None:
    launch, texts = SimulatedCard.launch, list[str]()

    def note(self: SimulatedCard, source: str, *given: object) -> None:
        texts.append(source)
        launch(self, source, *given)  # type: ignore[arg-type]

    assert has_card()
    monkeypatch.setattr(SimulatedCard, "launch", note)
    query = trendweave.query("RETURN COUNT(*), SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y != NEXT(A).y")
    events = pa.table({"time": [1, 2, 3], "type": ["A"] * 3, "x": [1, 2, 3], "y": [1, 2, 1]})
    assert query.run(events, device="gpu")["count"].to_pylist() == [6]
    shown = query.explain(loop=True, device="gpu", events=events)
    assert shown == "\n\n".join(dict.fromkeys(texts))


def test_names_and_values_of_users_are_no_part_of_a_text() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(Evil A, B+) WHERE A.injected = 'payload' AND B.injected < NEXT(B).injected"
    other = "RETURN COUNT(*) PATTERN SEQ(C X, D Y+) WHERE X.w = 'other' AND Y.w < NEXT(Y).w"
    shown = trendweave.query(text).explain(loop=True, device="gpu")
    assert not any(word in shown for word in ("Evil", "injected", "payload"))
    assert shown == trendweave.query(other).explain(loop=True, device="gpu")


@pytest.mark.parametrize("pattern", ["A{1,16}", "(A OR B OR C OR D OR E)+"])
def test_large_templates_do_not_make_large_texts(pattern: str) -> None:
    text = f"RETURN COUNT(*) PATTERN {pattern} WHERE A.x < NEXT(A).x"
    assert len(trendweave.query(text).explain(loop=True, device="gpu").split("\n")) <= 550
