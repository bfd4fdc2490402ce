"""Whatever the text, the answer is a query or one of our errors, soon."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.language.fixture_files import read_fixture
from trendweave.build import plus
from trendweave.errors import LanguageError, TrendweaveError
from trendweave.language import syntax_tree as st
from trendweave.language import tree_builder

VALID = [query for query, _ in read_fixture(Path(__file__).parent / "fixtures" / "identity.txt")]
#: Fragments that are likely to bring a parser into trouble when they are put anywhere.
SPLINTERS = [
    *"()[]{}<>=!+*?,;.-'\"`%/\\ \n\t\0",
    "SEQ(",
    "NOT ",
    " AND ",
    " OR ",
    "{2,",
    "--",
    "/*",
    "1e9",
    "é",
    "NEXT(",
]


#: Calls of functions that reading a text may take: some for the largest template, and some for each character.
CALLS, CALLS_PER_CHARACTER = 3_000_000, 100


def read_soon(text: str) -> TrendweaveError | None:
    """The error, if any; anything but our own error fails the test, and so does too much work. Work is counted in calls
    of functions, which are the same on any machine."""
    calls = 0
    error = None

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        query = trendweave.query(text)
        query.explain()
    except TrendweaveError as caught:
        error = caught
        assert str(error)
    finally:
        sys.setprofile(before)
    assert calls < CALLS + CALLS_PER_CHARACTER * len(text)
    return error


def setup_module() -> None:
    trendweave.query("PATTERN A")  # the grammar is read once per process


@given(hs.text())
def test_arbitrary_text(text: str) -> None:
    read_soon(text)


@given(
    hs.lists(hs.sampled_from([*SPLINTERS, "PATTERN ", "A ", "WHERE ", "A.x ", "> ", "5 ", "WITHIN 5 s "]), max_size=30)
)
def test_splinters_of_queries(parts: list[str]) -> None:
    read_soon("".join(parts))


@given(hs.sampled_from(VALID), hs.data())
def test_mutated_queries(text: str, data: hs.DataObject) -> None:
    for _ in range(data.draw(hs.integers(1, 4))):
        start = data.draw(hs.integers(0, len(text)))
        end = data.draw(hs.integers(start, min(len(text), start + 5)))
        text = text[:start] + data.draw(hs.sampled_from(SPLINTERS) | hs.text(max_size=3)) + text[end:]
    read_soon(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PATTERN " + "(" * 10_000 + "A" + ")" * 10_000, "TW103"),
        ("PATTERN " + "(" * 10_000, "TW103"),
        ("PATTERN A WHERE " + "(" * 10_000 + "A.x > 1" + ")" * 10_000, "TW103"),
        ("PATTERN A WHERE " + "NOT " * 10_000 + "A.x > 1", "TW103"),
        ("PATTERN A WHERE A.x > " + "- " * 10_000 + "A.x", "TW103"),
        ("PATTERN A WHERE A.x > " + "A.x + " * 10_000 + "1", "TW103"),
        ("PATTERN A" + "+" * 10_000, "TW103"),
        ("PATTERN " + "NOT " * 10_000 + "A", "TW103"),
        ("PATTERN A WHERE A.s = '" + "(" * 10_000 + "'", None),
        ("PATTERN A WHERE " + " AND ".join(["A.x > 1"] * 8_000), None),
        ("PATTERN SEQ(" + ", ".join(["A"] * 10_000) + ")", None),
        ("PATTERN SEQ(" + ", ".join(["A"] * 10_001) + ")", "TW208"),
        ("PATTERN " + " OR ".join(f"T{i}" for i in range(9_000)), None),
        ("PATTERN (A?){9999}", "TW208"),
        ("PATTERN SEQ((A OR B)+, A, (A OR B){25})", "TW208"),
        ("PATTERN A WHERE A.x = 1 -- " + "x" * 100_000, "TW102"),
    ],
    ids=lambda value: value if value is None or len(value) < 10 else f"{value[:30]}...",
)
def test_large_and_deep_queries(text: str, code: str | None) -> None:
    error = read_soon(text)
    assert (None if error is None else error.problems[0].code) == code


def test_depth_is_limited_for_trees_from_python_too() -> None:
    pattern: st.Pattern = st.EventPattern("A")
    for _ in range(st.MAX_DEPTH - 1):
        pattern = plus(pattern)
    with pytest.raises(LanguageError) as caught:
        plus(pattern)
    assert caught.value.problems[0].code == "TW103"


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A" + "+" * 198,
        "PATTERN A WHERE A.x > " + "- (1 + " * 90 + "A.x" + ")" * 90,
        "PATTERN SEQ(" * 66 + "A" + ")" * 66,
    ],
)
def test_the_deepest_queries_can_be_hashed_compared_and_pickled(text: str) -> None:
    if text.count("PATTERN") > 1:
        text = "PATTERN " + text.replace("PATTERN ", "")
    query = trendweave.query(text)
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert again.plan == query.plan
    assert hash(again.plan) == hash(query.plan)


def test_what_a_signal_raises_in_a_parser_comes_out_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time limit is caught by its own error, wherever in a text it ran out."""

    def run_out(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(tree_builder, "_span", run_out)
    with pytest.raises(TimeoutError):
        trendweave.query("RETURN COUNT(*) PATTERN A+")
