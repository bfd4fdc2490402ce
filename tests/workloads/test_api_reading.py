"""What a workload can be made of, and how it behaves as a mapping from names to queries."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

import trendweave
from trendweave import Rule, Workload
from trendweave.errors import DataError, LanguageError, PlanningError, TrendweaveError, UnknownNameError

COUNT = "RETURN COUNT(*) PATTERN A+"
SUM = "RETURN SUM(A.x) PATTERN SEQ(A+, B) WITHIN 4 seconds SLIDE 2 seconds"


def test_a_mapping_names_texts_queries_and_rules() -> None:
    query = trendweave.query(SUM)
    made = trendweave.workload(
        {
            "text": COUNT,
            "query": query,
            "told": {"query": COUNT, "version": 3, "description": "how many"},
            "rule": Rule("elsewhere", query, "2", "of another"),
        }
    )
    assert made.names == ("text", "query", "told", "rule")
    assert made["query"] == query
    assert made.rule("told") == Rule("told", trendweave.query(COUNT), "3", "how many")
    assert made.rule("rule") == Rule("rule", query, "2", "of another")


def test_queries_without_names_are_counted() -> None:
    made = trendweave.workload([COUNT, trendweave.query(SUM), ("late", COUNT), Rule("mine", trendweave.query(SUM))])
    assert made.names == ("q1", "q2", "late", "mine")
    assert trendweave.workload(iter([COUNT])).names == ("q1",)
    assert trendweave.workload(trendweave.query(COUNT)).names == ("q1",)  # type: ignore[arg-type]
    assert trendweave.workload([{"name": "told", "query": COUNT}]).names == ("told",)  # type: ignore[list-item]


def test_a_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "shops" / "deep").mkdir(parents=True)
    (tmp_path / "late.tw").write_text(COUNT, encoding="utf-8")
    (tmp_path / "shops" / "deep" / "sum.tw").write_text(
        f"-- Version: 1.10\n\n--description:  sums\n-- a remark\n-- description: of all\n{SUM}\n-- version: 9",
        encoding="utf-8-sig",
    )
    (tmp_path / "_drafts").mkdir()
    (tmp_path / "_drafts" / "bad.tw").write_text("no query", encoding="utf-8")
    (tmp_path / ".hidden.tw").write_text("no query", encoding="utf-8")
    (tmp_path / "notes.md").write_text("no query", encoding="utf-8")
    made = trendweave.workload(tmp_path)
    assert made.names == ("late", "shops/deep/sum")
    assert made.rule("late") == Rule("late", trendweave.query(COUNT))
    assert made.rule("shops/deep/sum") == Rule("shops/deep/sum", trendweave.query(SUM), "1.10", "sums of all")
    assert trendweave.workload(str(tmp_path)) == made
    assert trendweave.workload(tmp_path / "late.tw") == trendweave.workload({"late": COUNT})


@pytest.mark.parametrize(
    "content",
    [
        {"late": COUNT, "sum": {"query": SUM, "version": "7", "description": "sums"}},
        [{"name": "late", "query": COUNT}, {"name": "sum", "query": SUM, "version": 7, "description": "sums"}],
        [["late", COUNT], ["sum", {"query": SUM, "version": 7, "description": "sums"}]],
    ],
)
@pytest.mark.parametrize("ending", [".json", ".yaml", ".yml"])
def test_a_file_of_rules(tmp_path: Path, ending: str, content: Any) -> None:
    path = tmp_path / f"rules{ending}"
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML as well
    made = trendweave.workload(path)
    assert made == trendweave.workload([Rule("late", trendweave.query(COUNT)), made.rule("sum")])
    assert made.rule("sum") == Rule("sum", trendweave.query(SUM), "7", "sums")


def test_yaml_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "late: &late\n  description: shared\n  query: |\n    RETURN COUNT(*)\n    PATTERN A+\n"
        "sum:\n  <<: *late\n  query: RETURN SUM(A.x) PATTERN A+\n",
        encoding="utf-8",
    )
    made = trendweave.workload(path)
    assert made["late"] == trendweave.query(COUNT)
    assert made.rule("sum") == Rule("sum", trendweave.query("RETURN SUM(A.x) PATTERN A+"), None, "shared")


def test_yaml_without_its_package_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.yaml").write_text("a: b", encoding="utf-8")
    original = builtins.__import__

    def without_yaml(name: str, *others: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError("No module named 'yaml'", name="yaml")
        return original(name, *others)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(
        LanguageError, match=r"TW171: rules.yaml .* needs PyYAML(.|\n)*pip install 'trendweave\[yaml\]'"
    ):
        trendweave.workload(tmp_path / "rules.yaml")


# As a mapping


def test_it_is_a_mapping_that_does_not_change() -> None:
    made = trendweave.workload({"a": COUNT, "b": SUM})
    assert (len(made), list(made), made.names) == (2, ["a", "b"], ("a", "b"))
    assert dict(made) == {"a": trendweave.query(COUNT), "b": trendweave.query(SUM)}
    assert ("a" in made, "c" in made, made.get("c")) == (True, False, None)
    assert [rule.name for rule in made.rules] == ["a", "b"]
    assert made == trendweave.workload(dict(made)) == trendweave.workload(made)
    assert hash(made) == hash(trendweave.workload(dict(made)))
    assert made != trendweave.workload({"b": SUM, "a": COUNT})
    assert made != trendweave.workload({"a": COUNT, "b": COUNT})
    with pytest.raises(AttributeError):
        made.rules = ()  # type: ignore[misc]
    assert repr(made) == "<Workload of 2 queries: a, b>"
    assert repr(trendweave.workload([COUNT] * 8)) == "<Workload of 8 queries: q1, q2, q3, q4, q5, q6 and 2 more>"


def test_queries_come_go_and_are_replaced() -> None:
    made = trendweave.workload({"a": COUNT, "b": SUM})
    more = made.with_query("c", SUM, 2, "sums")
    assert made.names == ("a", "b")
    assert more.names == ("a", "b", "c")
    assert more.rule("c") == Rule("c", trendweave.query(SUM), "2", "sums")
    replaced = more.with_query("a", trendweave.query(SUM))
    assert (replaced.names, replaced["a"]) == (("a", "b", "c"), trendweave.query(SUM))
    assert more.without("a", "c") == trendweave.workload({"b": SUM})
    assert more.without("c") == made
    assert made.without() == made


def test_unknown_names_have_near_ones() -> None:
    made = trendweave.workload({"falling": COUNT, "rising": SUM})
    with pytest.raises(UnknownNameError, match=r"TW173: the workload has no query fallin\n.*did you mean falling"):
        made["fallin"]
    with pytest.raises(KeyError):
        made["x"]
    with pytest.raises(UnknownNameError) as caught:
        made.without("risin", "other", "falling")
    assert [problem.hint for problem in caught.value.problems] == [
        "did you mean rising?",
        "the queries are falling, rising",
    ]
    with pytest.raises(UnknownNameError):
        made.rows([], "other")
    with pytest.raises(LanguageError, match="TW171: a workload has no queries"):
        made.without("falling", "rising")


# What is refused


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({}, "TW171: a workload has no queries"),
        ([], "TW171: a workload has no queries"),
        (5, "TW171: a workload cannot be made of int"),
        (b"RETURN", "TW171: a workload cannot be made of bytes"),
        (COUNT, "TW171: a text alone is the path of a folder or a file, and this is a query"),
        ("no/such/rules", "TW171: no/such/rules cannot be read: there is no such file or folder"),
        ({"a": 5}, r"TW171: a query is a text or a trendweave.Query, not int \(query a\)"),
        ({"a": {"qery": COUNT}}, r"TW171: a rule has no qery \(query a\)\n  hint: did you mean query?"),
        ({"a": {"version": "1"}}, r"TW171: a rule has no query \(query a\)"),
        ([{"nam": "a", "query": COUNT}], "TW171: a rule has no nam(.|\n)*did you mean name?"),
        ([{"title": "a", "query": COUNT}], "hint: a rule has name, query, version, description"),
        ({"a": {"title": "a", "query": COUNT}}, "hint: a rule has query, version, description"),
        ({"a": {"query": COUNT, "version": 1.1}}, "TW171: a version is a text or a whole number, not 1.1"),
        ({"a": {"query": COUNT, "description": 1}}, "TW171: a description is a text, not 1"),
        ({"": COUNT}, "TW172: '' is not a valid name of a query"),
        ({"a/../b": COUNT}, "TW172: 'a/../b' is not a valid name of a query"),
        ({" a": COUNT}, "TW172: ' a' is not a valid name of a query"),
        ({"a\nb": COUNT}, "TW172: 'a\\\\nb' is not a valid name of a query"),
        ({True: COUNT}, "TW172: True is not a valid name of a query"),
        ([("a", COUNT), ("a", SUM)], "TW172: two queries are called a"),
        (["RETURN COUNT(*) PATTERN A+", ("q1", SUM)], "TW172: two queries are called q1"),
    ],
)
def test_what_is_no_workload(source: Any, said: str) -> None:
    with pytest.raises(LanguageError, match=said):
        trendweave.workload(source)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rules.json", "{", "TW171: rules.json is no JSON: "),
        ("rules.json", "5", "TW171: rules.json holds int, not rules"),
        ("rules.json", '{"a": "x", "a": "y"}', "TW171: rules.json has a twice"),
        ("rules.yaml", "a: [", "TW171: rules.yaml is no YAML: "),
        ("rules.yaml", "a: x\na: y", "TW171: rules.yaml has a twice"),
        ("rules.yaml", "[1]: x", "TW171: rules.yaml has a name that is no text"),
        ("rules.txt", "", "TW171: what rules.txt holds is not known by its ending"),
        ("folder/rules.txt", "", "TW171: the folder .*folder holds no .tw files"),
        ("rules.tw", "\xff", "TW171: .*rules.tw cannot be read"),
    ],
)
def test_files_that_are_no_rules(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="latin-1")
    with pytest.raises(LanguageError, match=said):
        trendweave.workload(path if path.parent == tmp_path else path.parent)


def test_all_problems_of_all_queries_come_at_once() -> None:
    with pytest.raises(TrendweaveError) as caught:
        trendweave.workload(
            {"good": COUNT, "late": "RETURN SUM(T.x)\nPATTERN A+ WHERE B.x > 1", "x": "RETURN", "": SUM}
        )
    assert [(problem.code, problem.query, problem.line) for problem in caught.value.problems] == [
        ("TW172", None, None),
        ("TW201", "late", 1),
        ("TW201", "late", 2),
        ("TW101", "x", 1),
    ]
    shown = str(caught.value)
    assert shown.startswith("4 problems in 2 queries\n")
    assert "TW201: unknown variable B (query late, line 2, column 18)\n    PATTERN A+ WHERE B.x > 1\n" in shown
    assert isinstance(caught.value, LanguageError)


def test_one_bad_rule_among_a_thousand_is_named() -> None:
    rules = {f"rule {number}": f"RETURN COUNT(*) PATTERN A+ WHERE A.x > {number}" for number in range(1_000)}
    rules["rule 577"] = "RETURN COUNT(*) PATTERN A+ WHERE Z.x > 577"
    with pytest.raises(PlanningError) as caught:
        trendweave.workload(rules)
    (problem,) = caught.value.problems
    assert (problem.query, problem.line, problem.column) == ("rule 577", 1, 34)
    assert str(caught.value) == (
        "planning error\nTW201: unknown variable Z (query rule 577, line 1, column 34)\n"
        "    RETURN COUNT(*) PATTERN A+ WHERE Z.x > 577\n" + " " * 37 + "^^^\n  hint: the pattern has A"
    )


def test_what_cannot_be_read_does_not_hide_columns_that_are_not_there() -> None:
    rules = {"typo": "RETRUN COUNT(*) PATTERN A+", "column": "RETURN SUM(A.pric) PATTERN A+", "good": COUNT}
    columns = {"time": "bigint", "type": "string", "price": "double"}
    with pytest.raises(LanguageError) as caught:
        trendweave.workload(rules, columns)
    told = [f"{problem.query}: {problem.code} {problem.message} | {problem.hint}" for problem in caught.value.problems]
    assert told == [
        "typo: TW101 did not expect RETRUN here | did you mean RETURN?",
        "column: TW301 unknown column pric | did you mean price?",
    ]
    with pytest.raises(DataError, match="unknown column pric"):
        trendweave.workload({"column": rules["column"]}, columns)
    with pytest.raises(LanguageError) as caught:
        trendweave.workload([("a", rules["typo"]), ("a", rules["column"])], columns)
    assert [problem.code for problem in caught.value.problems] == ["TW172", "TW101"]
    assert trendweave.workload({"good": COUNT}, columns) == trendweave.workload({"good": COUNT})


def test_a_bad_query_that_is_added_is_named() -> None:
    with pytest.raises(PlanningError, match=r"unknown variable T \(query new, line 1, column 8\)"):
        trendweave.workload({"a": COUNT}).with_query("new", "RETURN SUM(T.x) PATTERN A+")
    with pytest.raises(LanguageError, match=r"TW172: '\.' is not a valid name of a query"):
        trendweave.workload({"a": COUNT}).with_query(".", COUNT)


def test_given_intervals_do_not_stand_beside_events() -> None:
    given = "FROM INTERVALS PATTERN A before B WITHIN 9 seconds"
    with pytest.raises(PlanningError, match=r"TW271: query given reads intervals, .* and query count reads events"):
        trendweave.workload({"count": COUNT, "given": given})
    assert trendweave.workload({"given": given, "again": given}).names == ("given", "again")
    with pytest.raises(PlanningError, match="TW271"):
        trendweave.workload({"given": given}).with_query("count", COUNT)


def test_workloads_are_what_the_function_gives() -> None:
    assert isinstance(trendweave.workload({"a": COUNT}), Workload)
    with pytest.raises(LanguageError, match="TW171"):
        Workload(())
