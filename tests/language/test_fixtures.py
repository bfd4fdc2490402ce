"""Language fixtures: canonical queries, other spellings, and refused queries with all their problems."""

from __future__ import annotations

from pathlib import Path

import pytest

import trendweave
from tests.language.fixture_files import read_fixture
from trendweave.errors import CODES, LanguageError, TrendweaveError
from trendweave.language import parse, print_query

FIXTURES = Path(__file__).parent / "fixtures"
IDENTITY = [query for query, _ in read_fixture(FIXTURES / "identity.txt")]
SPELLINGS = read_fixture(FIXTURES / "spellings.txt")
ERRORS = read_fixture(FIXTURES / "errors.txt")


def one_line(text: str) -> str:
    return text.replace("\n", " ")


@pytest.mark.parametrize("text", IDENTITY)
def test_canonical_text_is_printed_as_it_was_read(text: str) -> None:
    tree, problems = parse(text)
    assert problems == []
    assert one_line(print_query(tree)) == text
    assert parse(print_query(tree))[0] == tree


@pytest.mark.parametrize(("text", "expected"), SPELLINGS)
def test_other_spellings_mean_the_canonical_text(text: str, expected: list[str]) -> None:
    if expected == ["error"]:
        with pytest.raises(LanguageError):
            parse(text)
        return
    tree, problems = parse(text)
    assert problems == []
    assert [one_line(print_query(tree))] == expected
    assert tree == parse(expected[0])[0]


@pytest.mark.parametrize(("text", "expected"), ERRORS)
def test_refused_queries_report_every_problem(text: str, expected: list[str]) -> None:
    with pytest.raises(TrendweaveError) as caught:
        trendweave.query(text)
    assert [
        f"{problem.code} {problem.line}:{problem.column}+{problem.length} {problem.message} | {problem.hint}"
        for problem in caught.value.problems
    ] == expected


def test_every_code_of_language_and_planning_has_a_refused_query() -> None:
    shown = {line.split()[0] for _, lines in ERRORS for line in lines}
    limits_tested_elsewhere = {"TW102", "TW103", "TW116"}  # the last one speaks of calls, not of texts
    of_workloads = {"TW171", "TW172", "TW173", "TW271"}  # several queries: tests/workloads
    of_operators = {"TW121", "TW281", "TW282"}  # tests/operators/test_api.py
    assert shown | limits_tested_elsewhere | of_workloads | of_operators == {code for code in CODES if code[2] in "12"}


def test_error_text_points_at_the_place() -> None:
    with pytest.raises(TrendweaveError) as caught:
        trendweave.query("RETURN COUNT(*)\nPATTERN Stock stock+\nWHERE stok.price > 5")
    assert str(caught.value) == (
        "planning error\n"
        "TW201: unknown variable stok (line 3, column 7)\n"
        "    WHERE stok.price > 5\n"
        "          ^^^^^^^^^^\n"
        "  hint: did you mean stock?"
    )


def test_several_problems_are_told_together_in_the_order_of_the_text() -> None:
    with pytest.raises(LanguageError) as caught:
        trendweave.query("RETURN SUM(T.x), COUNT(*) PATTERN A a{5,2} WHERE b.x > 1 WITHIN 5 parsecs")
    assert [problem.code for problem in caught.value.problems] == ["TW201", "TW112", "TW201", "TW106"]
    assert str(caught.value).startswith("4 problems\n")


def test_the_caret_stays_in_sight_on_a_long_line() -> None:
    with pytest.raises(TrendweaveError) as caught:
        trendweave.query("RETURN COUNT(*) PATTERN A WHERE " + "A.x > 1 AND " * 50 + "B.x > 1")
    shown, caret = str(caught.value).split("\n")[2:4]
    assert len(shown) <= 114
    assert shown[caret.index("^") :].startswith("B.x")
