"""`explain(loop=True)`: the text of the loops that run, as users read it."""

from __future__ import annotations

import ast

import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import OptionError
from trendweave.kernel_cache.kernel import always_compile, recorded_texts

STOCK = (
    "RETURN sector, COUNT(*), AVG(S.price) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
    "GROUP-BY sector WITHIN 10 minutes SLIDE {slide}"
)
QUERIES = {
    "fold": "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+, C) WITHIN 1 hour SLIDE 1 hour",
    "windows that overlap": "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 hour SLIDE 1 minute",
    "ranks": STOCK.format(slide="10 minutes"),
    "ranks in windows side by side": STOCK.format(slide="1 minute"),
    "an anchor": "RETURN COUNT(*), SUM(B.z) PATTERN SEQ(A, B+) WHERE A.x < B.y",
    "values": "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x = NEXT(B).y",
    "scan": "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x AND B.y > NEXT(B).y",
    "queue": "RETURN COUNT(*) PATTERN SEQ(A, NOT N, B+) WITHIN 1 hour SLIDE 1 hour",
    "next": "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x < B.x SEMANTICS skip-till-next-match",
    "largest": "RETURN MAX(B.x) PATTERN SEQ(A, B+) WITHIN 1 hour SLIDE 1 hour",
    "texts": "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.kind = 'x' AND A.kind = B.kind AND B.x < NEXT(B).x",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_texts_are_python_and_bounded(text: str) -> None:
    loops = trendweave.query(text).explain(loop=True)
    names = [node.name for node in ast.walk(ast.parse(loops)) if isinstance(node, ast.FunctionDef)]
    assert set(names) & {"fold", "propagate", "fold_by_value"}
    assert all(len(line) <= 160 for line in loops.split("\n"))
    assert len(loops.split("\n")) <= 300


def test_loops_of_streams_that_forget_events_are_shown_as_well() -> None:
    text = "RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, NOT N, B+) WITHIN 1 hour SLIDE 30 minutes"
    loops = trendweave.query(text).explain(loop=True)
    shown = loops.partition("# On streams and piece by piece, where events are forgotten:")[2]
    names = [node.name for node in ast.walk(ast.parse(shown)) if isinstance(node, ast.FunctionDef)]
    assert names == ["fold", "fold", "multiply", "apply", "multiply", "apply"]
    assert "where events are forgotten" not in trendweave.query(QUERIES["scan"]).explain(loop=True)


def test_it_is_the_text_that_runs() -> None:
    query = trendweave.query(QUERIES["ranks"])
    events = pa.table(
        {"time": pa.array([1, 2, 3], pa.timestamp("s")), "type": ["Stock"] * 3, "company": [1, 1, 1],
         "sector": [1, 1, 1], "price": [3.0, 2.0, 1.0]}
    )  # fmt: skip
    with always_compile(), recorded_texts() as texts:
        rows = query.run(events)
    assert rows.column("count").to_pylist() == [7]
    assert query.explain(loop=True, events=events) == "\n\n".join(texts)


def test_names_and_values_of_users_are_no_part_of_a_text() -> None:
    word, number = "'''); import os #", "123456789123"
    text = f"RETURN COUNT(*) PATTERN SEQ(`{word}` Weird, B+) WHERE Weird.kind = 'secret' AND B.`os.system` > {number}"
    loops = trendweave.query(text).explain(loop=True)
    assert not any(part in loops for part in (word, number, "Weird", "secret", "os.system"))


def test_constants_and_names_do_not_change_a_text() -> None:
    one = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x > 3 AND B.y < NEXT(B).y")
    other = trendweave.query("RETURN COUNT(*) AS n PATTERN SEQ(Buy b, Sell s+) WHERE b.price > 4 AND s.z < NEXT(s).z")
    assert one.explain(loop=True) == other.explain(loop=True)


@pytest.mark.parametrize("states", [17, 400])
def test_large_templates_do_not_make_large_texts(states: int) -> None:
    loops = trendweave.query(f"RETURN COUNT(*) PATTERN A{{{states}}} WHERE A.x < NEXT(A).x").explain(loop=True)
    assert len(loops.split("\n")) < 120


def test_columns_whose_types_cannot_be_told_are_asked_for() -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE A.place.city = 'x'")
    with pytest.raises(OptionError, match="TW414"):
        query.explain(loop=True)


def test_a_query_without_a_loop_of_its_own_says_so() -> None:
    text = trendweave.query("RETURN TRENDS(x) PATTERN A a WITHIN 10 s").explain(loop=True)
    assert text.startswith("No loop is written")


def test_loops_that_several_queries_share_are_those_that_run() -> None:
    rules = trendweave.workload(
        {
            "soon": "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 seconds SLIDE 5 seconds",
            "late": "RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 20 seconds SLIDE 5 seconds",
        }
    )
    events = pa.table({"time": range(12), "type": ["A", "B", "C"] * 4})
    with always_compile(), recorded_texts() as texts:
        rules.run(events)
    assert rules.explain(loop=True, events=events) == "\n\n".join(texts)
    assert "def bursts(" in texts[0]
    with pytest.raises(OptionError, match=r"TW414: the loops of several queries depend on the events"):
        rules.explain(loop=True)
