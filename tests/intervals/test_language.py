"""The language of interval queries: canonical text, other spellings, what tells them from trend queries, builder."""

from __future__ import annotations

import contextlib
import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.intervals.trees import interval_queries
from tests.language.fixture_files import read_fixture
from trendweave.build import attr
from trendweave.build import intervals as b
from trendweave.errors import LanguageError, TrendweaveError
from trendweave.language import parse
from trendweave.language.interval_printer import print_intervals
from trendweave.language.interval_tree import IntervalTree
from trendweave.language.outline import tell_kind
from trendweave.programs.bind import bind
from trendweave.runners.options import Settings

FIXTURES = Path(__file__).parent / "fixtures"
IDENTITY = [text for text, _ in read_fixture(FIXTURES / "identity.txt")]
SPELLINGS = read_fixture(FIXTURES / "spellings.txt")
LISTING_5_1 = IDENTITY[0]


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("text", IDENTITY)
def test_canonical_text_is_printed_as_it_was_read(text: str) -> None:
    tree, problems = parse(text, "intervals")
    assert problems == []
    assert one_line(print_intervals(tree)) == text
    assert parse(print_intervals(tree), "intervals")[0] == tree


@pytest.mark.parametrize("text", IDENTITY)
def test_canonical_text_is_a_query(text: str) -> None:
    query = trendweave.query(text)
    assert query.kind == "intervals"
    assert one_line(str(query)) == text
    assert query.explain().startswith("query\n")
    assert json.loads(query.explain("json"))["version"] == 1
    assert query.explain("mermaid").startswith("flowchart LR")
    assert query.explain("dot").startswith("digraph")
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert again.plan == query.plan


@pytest.mark.parametrize(("text", "expected"), SPELLINGS)
def test_other_spellings_mean_the_canonical_text(text: str, expected: list[str]) -> None:
    tree, problems = parse(text, "intervals")
    assert problems == []
    assert [one_line(print_intervals(tree))] == expected
    assert tree == parse(expected[0], "intervals")[0]


@given(interval_queries)
def test_every_tree_survives_printing_and_parsing(tree: IntervalTree) -> None:
    text = print_intervals(tree)
    again, problems = parse(text, "intervals")
    assert [problem for problem in problems if problem.code not in ("TW109", "TW113")] == []
    assert again == tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM X DEFINE A AS x > 1 RETURN SITUATIONS", True),
        ("-- a note\nFROM X", True),
        ("RETURN SITUATIONS DEFINE A AS x > 1", True),
        ("RETURN COUNT(*) PATTERN Stock S+ WHERE S.define > 1", False),
        ("RETURN COUNT(*) PATTERN Stock S+ WHERE S.x = 'FROM DEFINE A AS'", False),
        ("RETURN COUNT(*) PATTERN SEQ(FROM, DEFINE A)", False),
        ("", False),
    ],
)
def test_interval_queries_are_told_from_trend_queries(text: str, expected: bool) -> None:
    assert (tell_kind(text) == "intervals") is expected


@given(hs.sampled_from(IDENTITY), hs.data())
def test_mutated_queries_give_a_query_or_one_of_our_errors(text: str, data: hs.DataObject) -> None:
    splinters = [*"()[],;.-'`<> ", "AT LEAST", "BETWEEN", " AND ", "PREV(", "before", "DEFINE ", "FROM "]
    for _ in range(data.draw(hs.integers(1, 4))):
        start = data.draw(hs.integers(0, len(text)))
        end = data.draw(hs.integers(start, min(len(text), start + 6)))
        text = text[:start] + data.draw(hs.sampled_from(splinters)) + text[end:]
    with contextlib.suppress(TrendweaveError):
        assert trendweave.query(text).explain()


def test_the_builder_makes_the_same_query() -> None:
    built = b.query(
        b.define("A", attr("accel") > 8, at_least="5 seconds"),
        b.define("B", attr("speed") > 70, at_least="4 seconds", at_most="30 seconds"),
        b.define("C", attr("accel") < -9, at_least="3 seconds"),
        pattern=[
            b.relate("A", "meets", "overlaps", "starts", "during", "B"),
            b.relate("B", "contains", "finished-by", "overlaps", "meets", "C"),
            b.relate("A", "before", "C"),
        ],
        source="CarSensors",
        partition_by=["car_id"],
        within="5 minutes",
        returns=[b.first("B.car_id", "car"), b.avg("B.speed", "speed")],
    )
    assert built == trendweave.query(LISTING_5_1)


def test_the_builder_knows_given_intervals_prev_durations_and_counts() -> None:
    given_ones = b.query(
        pattern=[b.relate("A", "before", "B")], source=b.given("s", "e", "n"), returns=[b.duration("A")]
    )
    assert one_line(str(given_ones)) == "FROM INTERVALS (s, e, n) PATTERN A before B RETURN DURATION(A)"
    rising = b.query(b.define("A", attr("x") > b.prev(attr("x"))), returns=b.situations())
    assert one_line(str(rising)) == "DEFINE A AS x > PREV(x) RETURN SITUATIONS"
    with pytest.raises(LanguageError, match="did you mean before"):
        b.relate("A", "befor", "B")
    with pytest.raises(LanguageError, match="the lower limit of BETWEEN is larger than the upper one"):
        b.define("A", attr("x") > 1, at_least="5 s", at_most="1 s")


def test_a_pattern_that_falls_apart_is_allowed_with_a_warning() -> None:
    text = "DEFINE A AS a, B AS b, C AS c, D AS d PATTERN A before B AND C before D WITHIN 1 minute"
    assert "warning      nothing relates A, B | C, D" in trendweave.query(text).explain()
    assert "warning" not in trendweave.query(LISTING_5_1).explain()


def test_explain_tells_when_a_constraint_is_certain() -> None:
    shown = trendweave.query(LISTING_5_1).explain()
    assert "start of C (meets); later start (overlaps, finished-by, contains)" in shown
    assert "once it is long enough" in shown


@pytest.mark.parametrize(
    ("text", "told", "chunk"),
    [
        ("FROM X PARTITION BY k DEFINE A AS x > 1, B AS x < 9 PATTERN A meets B WITHIN 5 s", "per partition", None),
        ("FROM X DEFINE A AS x > 1, B AS x < 9 PATTERN A meets B WITHIN 5 s", "into chunks of 45 seconds", 45),
        ("FROM X DEFINE A AS x > 1, B AS x < 9 PATTERN A meets B", "one task: ", None),
        ("FROM X DEFINE A AS x > PREV(x), B AS x < 9 PATTERN A meets B WITHIN 5 s", "one task: ", None),
        ("FROM X DEFINE A AS x > 1 RETURN SITUATIONS", "time ranges in parallel", None),
        ("RETURN COUNT(*) PATTERN X S WHERE [k] AND S DURING A WITHIN 5 s SLIDE 1 s FROM X DEFINE A AS x > 1",
         "a situation may have begun long ago, so time is not cut", None),
    ],
)  # fmt: skip
def test_explain_tells_the_tasks_that_spark_makes(text: str, told: str, chunk: int | None) -> None:
    query = trendweave.query(text)
    columns = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.string(), "x": pa.int64()})
    (line,) = (line for line in query.explain().split("\n") if line.startswith("on Spark  "))
    assert told in line
    cut = bind(query.plan, columns, "time", "type", Settings()).cut()
    assert (None if cut is None else cut.length) == chunk
