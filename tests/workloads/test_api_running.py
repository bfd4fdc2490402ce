"""A workload in every place of this process: the rows of each query are those of the query alone."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import DataError, ExecutionError, OptionError
from trendweave.results.united_columns import shown_columns
from trendweave.rules.asked import type_column

WINDOW = "WITHIN 4 seconds SLIDE 2 seconds"
EVENTS = pa.table(
    {
        "time": [1, 2, 3, 4, 5, 6, 9, 11],
        "type": ["A", "A", "B", "A", "B", "A", "B", "C"],
        "x": pa.array([1, 2, 3, 4, None, 6, 2**60 + 1, 8], pa.int64()),
        "k": [1, 1, 2, 2, 1, 1, 2, 1],
        "on": [True, False, True, True, False, True, False, True],
        "note": ["a", "b", None, "d", "e", "f", "g", "h"],
    }
)
#: Every kind of query, with columns that have the same names and others.
QUERIES = {
    "count": f"RETURN COUNT(*) PATTERN SEQ(A+, B) {WINDOW}",
    "groups": f"RETURN k, COUNT(*) AS n, MAX(A.x) PATTERN A+ WHERE [k] GROUP-BY k {WINDOW}",
    "trends": f"RETURN TRENDS(A.x) PATTERN SEQ(A, B) {WINDOW}",
    "others": f"RETURN TRENDS(B.note, A.on) PATTERN SEQ(A, B) {WINDOW}",
    "each": f"RETURN EACH MIN(B.x) AS least, FIRST(A.on) AS began, COLLECT_LIST(B.x) AS all PATTERN SEQ(A, B) {WINDOW}",
    "shown": f"RETURN ROWS(A.x) PATTERN SEQ(A, B) {WINDOW}",
    "moving": "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 3 seconds",
    "twice": f"RETURN COUNT(*) PATTERN SEQ(A+, B) {WINDOW}",
    "matches": "DEFINE X AS x > 2, Y AS x < 4 PATTERN X before; overlaps Y WITHIN 9 seconds RETURN MAX(X.x)",
    "situations": "DEFINE X AS x > 2 RETURN SITUATIONS",
    "situated": f"RETURN COUNT(*) PATTERN A S+ WHERE S DURING X {WINDOW} DEFINE X AS x > 1",
}
WORKLOAD = trendweave.workload(QUERIES)
KINDS = {"Arrow": EVENTS, "pandas": EVENTS.to_pandas(), "polars": pl.DataFrame(EVENTS)}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Events of one kind of table, and the rows of the workload."""
    return KINDS[request.param], WORKLOAD.run(KINDS[request.param])


@pytest.mark.parametrize("name", QUERIES)
def test_rows_of_a_query_are_those_of_the_query_alone(kind: tuple[Any, Any], name: str) -> None:
    events, result = kind
    own, alone = WORKLOAD.rows(result, name), WORKLOAD[name].run(events)
    assert type(own) is type(alone)
    if isinstance(own, pa.Table):
        assert own.schema.equals(alone.schema)
        assert own.to_pylist() == alone.to_pylist()
    elif isinstance(own, pd.DataFrame):
        pd.testing.assert_frame_equal(own, alone)
    else:
        assert own.schema == alone.schema
        assert own.equals(alone)


def test_a_result_may_be_lazy_a_reader_or_rows() -> None:
    result = WORKLOAD.run(EVENTS)
    for name in QUERIES:
        alone = WORKLOAD[name].run(EVENTS)
        assert WORKLOAD.rows(pl.LazyFrame(result), name).collect().to_dicts() == alone.to_pylist()
        assert WORKLOAD.rows(result.to_reader(), name).to_pylist() == alone.to_pylist()
        assert WORKLOAD.rows(result.to_pylist(), name) == alone.to_pylist()
        assert WORKLOAD.rows(result.slice(3), name).num_rows <= alone.num_rows
    assert WORKLOAD.rows(result, "count").schema.metadata == result.schema.metadata


def test_one_table_for_all() -> None:
    result = WORKLOAD.run(EVENTS)
    assert result.column_names == [
        *("query", "window_start", "window_end", "count", "k", "n", "max_A_x", "length", "events", "least", "began"),
        *("all", "match", "variable", "time", "type", "x", "X_start", "X_end", "Y_start", "Y_end", "max_X_x"),
        *("name", "start", "end"),
    ]
    assert result.schema.field("query").type == pa.string()
    assert [field.name for field in result.schema.field("events").type.value_type] == [
        *("variable", "time", "type", "x", "note", "on"),
    ]
    rows = result.column("query").to_pylist()
    assert rows == [name for name in QUERIES for _ in range(rows.count(name))], "rows are in the order of queries"
    counts = result.filter(pa.compute.equal(result.column("query"), "count"))
    assert counts.column("k").null_count == counts.num_rows > 0
    assert WORKLOAD.schema(EVENTS) == WORKLOAD.schema(EVENTS.schema) == result.schema.remove_metadata()


@pytest.mark.parametrize("name", QUERIES)
def test_columns_are_known_by_name_without_types(name: str) -> None:
    query = WORKLOAD[name]
    alone = query.schema(EVENTS)
    known = shown_columns(query.plan, "time", type_column(query.plan, trendweave.queries.AUTO))
    assert [column.name for column in known] == alone.names
    for column, field in zip(known, alone, strict=True):
        of_events = pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type)
        fields = [part.name for part in field.type.value_type] if of_events else []
        assert list(column.fields) == fields


def test_columns_of_other_names_for_time_and_type() -> None:
    events = EVENTS.rename_columns(["at", "kind", *EVENTS.column_names[2:]])
    made = trendweave.workload(
        {
            "shown": "RETURN ROWS(A.kind, A.x, A.at) PATTERN SEQ(A, B)",
            "kinds": "RETURN kind, COUNT(*) PATTERN A+ GROUP-BY kind",
        }
    )
    result = made.run(events, "at", "kind")
    for name in made:
        alone = made[name].run(events, "at", "kind")
        assert made.rows(result, name, "at", "kind").to_pylist() == alone.to_pylist()
        assert made.rows(result, name, "at", "kind").schema.equals(alone.schema)


# Other places


@pytest.mark.parametrize("sharing", ["auto", "always", "never"])
def test_batches_pieces_and_sessions_give_the_same(sharing: Any) -> None:
    expected = {name: WORKLOAD[name].run(EVENTS).to_pylist() for name in QUERIES}
    batches = WORKLOAD.iter(EVENTS, sharing=sharing)
    assert batches.schema.remove_metadata() == WORKLOAD.schema(EVENTS)
    assert by_query(pa.Table.from_batches(batches, batches.schema)) == expected
    engine = WORKLOAD.incremental(EVENTS, sharing=sharing)
    state, parts = engine.start(), []
    for place in range(EVENTS.num_rows):
        state, part = engine.push(state, EVENTS.slice(place, 1), EVENTS.column("time")[place].as_py())
        state = engine.read(state.to_bytes())
        parts.append(part)
    assert sorted_rows(by_query(pa.concat_tables([*parts, engine.finish(state)]))) == sorted_rows(expected)
    session = WORKLOAD.push(EVENTS, sharing=sharing)
    rows = [row for event in EVENTS.to_pylist() for row in session.send(event)]
    rows += session.finish().to_pylist()
    found = {name: WORKLOAD.rows(rows, name) for name in WORKLOAD}
    assert sorted_rows(found) == sorted_rows(expected)


def test_a_session_gives_back_the_kind_of_table_that_it_takes() -> None:
    own, events = trendweave.workload({name: QUERIES[name] for name in ("groups", "each")}), EVENTS.to_pandas()
    found = own.push(events).send_table(events)
    assert isinstance(found, pd.DataFrame)
    for name in own:
        rows = own.rows(found, name)
        alone = own[name].run(events)
        closed = alone[alone["window_end"] <= 11]
        pd.testing.assert_frame_equal(rows, closed.reset_index(drop=True), check_dtype=False)
        assert rows["window_start"].dtype == "int64"


def by_query(result: pa.Table) -> dict[str, list[dict[str, Any]]]:
    return {name: WORKLOAD.rows(result, name).to_pylist() for name in WORKLOAD}


def sorted_rows(found: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Several cuts give rows in several orders."""
    return {name: sorted(map(repr, rows)) for name, rows in found.items()}


def test_metrics_are_there_in_this_process() -> None:
    metrics = trendweave.Metrics()
    WORKLOAD.run(EVENTS.set_column(0, "time", pa.array([None, *range(1, 8)])), metrics=metrics)
    # All rows are events of queries over intervals, whatever their types.
    assert metrics.get == {"rows": 8, "null_time": 1, "null_type": 0, "other_type": 0, "same_time": 0}
    assert isinstance(metrics.sharing, trendweave.SharingMetrics)
    assert metrics.sharing.expressions_saved > 0
    again = trendweave.Metrics()
    for _ in WORKLOAD.iter(EVENTS, metrics=again):
        pass
    assert again.sharing.expressions_saved == metrics.sharing.expressions_saved


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sharing": "sometimes"}, "sharing is one of auto, always, never, not sometimes"),
        ({"shring": "auto"}, "not shring(.|\n)*did you mean sharing?"),
        ({"metrics": "name"}, "in this process metrics is a trendweave.Metrics, not str"),
        ({"chunks": "off"}, "only Spark DataFrames take the options chunks"),
        ({"numbers": "roman"}, "numbers is one of"),
        ({"strategy": "foo"}, "strategy is one of baseline, m-cet, t-cet, h-cet, not foo"),
    ],
)
def test_wrong_options(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        WORKLOAD.run(EVENTS, **options)


def test_options_of_trends_are_for_queries_that_find_some() -> None:
    options: Any = {"strategy": "t-cet", "memory": "64 MB", "max_trends": 50}
    found = by_query(WORKLOAD.run(EVENTS, **options))
    for name in QUERIES:
        finds = name in ("trends", "others", "each", "shown")
        assert found[name] == WORKLOAD[name].run(EVENTS, **(options if finds else {})).to_pylist()
    with pytest.raises(ExecutionError, match=r"TW412(.|\n)*query trends"):
        WORKLOAD.run(EVENTS, max_trends=1)
    with pytest.raises(OptionError, match="not for aggregates"):
        trendweave.workload({"a": QUERIES["count"]}).run(EVENTS, max_trends=5)
    limited = trendweave.workload({"a": QUERIES["count"], "b": f"{QUERIES['trends']} LIMIT 3"})
    with pytest.raises(OptionError, match=r"LIMIT walks from event to event .*\(query b\)"):
        limited.run(EVENTS, strategy="t-cet")


def test_a_query_alone_has_nothing_to_share() -> None:
    with pytest.raises(OptionError, match="TW408: sharing is an option of workloads"):
        WORKLOAD["count"].run(EVENTS, sharing="auto")


def test_version_and_description_of_rules_are_columns(tmp_path: Path) -> None:
    rules = {name: {"query": text, "version": len(name)} for name, text in QUERIES.items() if name != "moving"}
    rules["count"]["description"] = "how many, and the same again"
    made = trendweave.workload(rules)
    assert made.rule("twice").version == "5"
    names = ["version", "description"]
    store = trendweave.EventStore.create(tmp_path / "store", EVENTS.schema)
    store.append(EVENTS)

    def check(found: pa.Table, plain: pa.Table) -> None:
        assert found.column_names == ["query", *names, *plain.column_names[1:]]
        assert set(found.column("query").to_pylist()) == set(plain.column("query").to_pylist())
        for row in found.to_pylist():
            rule = made.rule(row["query"])
            assert (row["version"], row["description"]) == (rule.version, rule.description)
        assert sorted(map(str, found.drop_columns(names).to_pylist())) == sorted(map(str, plain.to_pylist()))

    check(made.run(EVENTS, rule_columns=names), made.run(EVENTS))
    check(made.run(EVENTS, rule_columns=names, sharing="never"), made.run(EVENTS))
    check(made.run(EVENTS, rule_columns=names, device="threads"), made.run(EVENTS))
    check(made.run(store, rule_columns=names), made.run(store))
    batches = made.iter(EVENTS, rule_columns=names)
    check(pa.Table.from_batches(batches, batches.schema), made.run(EVENTS))
    assert made.schema(EVENTS, rule_columns="version").names[:2] == ["query", "version"]
    assert made.schema(EVENTS, rule_columns="version").field("version").type == pa.string()
    assert made.rows(made.run(EVENTS, rule_columns=names), "count").equals(made["count"].run(EVENTS))


def test_version_of_rules_that_come_and_go_in_a_session() -> None:
    rules = {name: {"query": QUERIES[name], "version": f"{name} 1"} for name in ("count", "groups")}
    session = trendweave.workload(rules).push(EVENTS, rule_columns="version")
    found = [session.send_table(EVENTS.slice(0, 3))]
    session.with_query("later", QUERIES["shown"], version="2")
    session.without("groups")
    found += [session.send_table(EVENTS.slice(3)), session.finish()]
    rows = [row for table in found for row in table.to_pylist()]
    assert {(row["query"], row["version"]) for row in rows} >= {("count", "count 1"), ("later", "2")}
    assert all(row["version"] in (f"{row['query']} 1", "2") for row in rows)


def test_columns_of_rules_have_names_of_their_own() -> None:
    made = trendweave.workload({"a": "RETURN COUNT(*) AS version PATTERN A"})
    made.run(EVENTS, rule_columns="description")
    with pytest.raises(DataError, match=r"TW315: a column is called version, as the one that has the version"):
        made.run(EVENTS, rule_columns="version")
    with pytest.raises(OptionError, match=r"rule_columns is one of version, description, not vrsion\n  hint: did you"):
        made.run(EVENTS, rule_columns=["vrsion"])
    with pytest.raises(OptionError, match="TW408: rule_columns is an option of workloads"):
        made["a"].run(EVENTS, rule_columns="version")


# What does not fit


def test_everything_that_does_not_fit_a_table_is_told_with_its_query() -> None:
    made = trendweave.workload(
        {"a": "RETURN SUM(A.y) PATTERN A+", "b": "RETURN COUNT(*) PATTERN A+", "c": "RETURN SUM(A.note) PATTERN A+"}
    )
    for ask in (made.check, made.run, made.iter, made.schema, made.incremental, made.push):
        with pytest.raises(DataError) as caught:
            ask(EVENTS)
        assert [(problem.code, problem.query) for problem in caught.value.problems] == [("TW301", "a"), ("TW304", "c")]
    assert "unknown column y (query a, line 1, column 12)\n    RETURN SUM(A.y) PATTERN A+\n" in str(caught.value)
    made.without("a", "c").check({"time": "bigint", "type": "string"})


def test_what_is_wrong_for_all_is_told_once() -> None:
    made = trendweave.workload(
        {f"q{number}": f"RETURN COUNT(*) PATTERN A+ WHERE A.x > {number}" for number in range(50)}
    )
    with pytest.raises(DataError) as caught:
        made.check({"when": "bigint", "type": "string", "x": "bigint"})
    assert [(problem.code, problem.query) for problem in caught.value.problems] == [("TW302", None)]
    with pytest.raises(DataError) as caught:
        made.with_query("other", "RETURN SUM(A.y) PATTERN A+").check(
            {"when": "bigint", "type": "string", "x": "bigint"}
        )
    assert [(problem.code, problem.query) for problem in caught.value.problems] == [("TW302", None), ("TW301", "other")]


def test_a_column_with_two_types_names_both_queries() -> None:
    made = trendweave.workload(
        {
            "a": "RETURN MAX(A.x) AS top PATTERN A+",
            "b": "RETURN AVG(A.x) AS top PATTERN A+",
            "c": "RETURN note AS top, COUNT(*) PATTERN A+ GROUP-BY note",
        }
    )
    made.check(EVENTS)
    with pytest.raises(DataError) as caught:
        made.run(EVENTS)
    assert [(problem.code, problem.query) for problem in caught.value.problems] == [("TW314", "b"), ("TW314", "c")]
    assert "TW314: column top is double here and int64 in query a (query b)\n  hint: rename one of them with AS" in str(
        caught.value
    )
    # Counts and averages are of one type where counts are floats.
    same = trendweave.workload({"a": "RETURN COUNT(*) AS n PATTERN A+", "b": "RETURN AVG(A.x) AS n PATTERN A+"})
    with pytest.raises(DataError, match="TW314"):
        same.schema(EVENTS)
    assert same.schema(EVENTS, numbers="float64").field("n").type == pa.float64()


def test_a_column_called_query_is_refused() -> None:
    events = EVENTS.append_column("query", EVENTS.column("note"))
    made = trendweave.workload(
        {"a": "RETURN query, COUNT(*) PATTERN A+ GROUP-BY query", "b": "RETURN COUNT(*) PATTERN A+"}
    )
    with pytest.raises(DataError, match=r"TW315: .* \(query a\)\n  hint: rename it with AS"):
        made.run(events)
    renamed = made.with_query("a", "RETURN query AS asked, COUNT(*) PATTERN A+ GROUP-BY query")
    assert renamed.run(events).column_names[:2] == ["query", "window_start"]


@pytest.mark.filterwarnings("ignore:overflow")  # of numpy, where kernels are not compiled
def test_a_number_that_does_not_fit_names_its_query() -> None:
    events = pa.table({"time": list(range(200)), "type": ["A"] * 200})
    made = trendweave.workload({"few": "RETURN COUNT(*) PATTERN A", "many": "RETURN COUNT(*) PATTERN A+"})
    with pytest.raises(ExecutionError) as caught:
        made.run(events, numbers="int64")
    (problem,) = caught.value.problems
    assert (problem.code, problem.query) == ("TW402", "many")


def test_a_result_of_something_else_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"TW308: the result lacks query, window_start, .* which rows of query count have"
    ):
        WORKLOAD.rows(EVENTS, "count")
    with pytest.raises(DataError, match="TW308: the result lacks count"):
        WORKLOAD.rows(WORKLOAD.run(EVENTS).to_pandas().drop(columns="count"), "count")
    with pytest.raises(DataError, match="TW308"):
        WORKLOAD.rows(5, "count")


# Explained


def test_explain_says_what_is_shared_in_every_format() -> None:
    shown = WORKLOAD.explain()
    assert shown.startswith("workload     11 queries; 1 has the text of another and cost")
    assert "\nrows meet    by k: groups\n" in shown
    assert "count, twice" in shown
    content = json.loads(WORKLOAD.explain("json"))
    assert content["version"] == 1
    assert {query["name"] for query in content["queries"]} == set(QUERIES)
    assert sorted(name for unit in content["units"] for name in unit["queries"]) == sorted(QUERIES)
    assert sorted(name for family in content["families"] for name in family["queries"]) == sorted(QUERIES)
    assert content["expressions"]["evaluated"] < content["expressions"]["asked"]
    drawn = WORKLOAD.explain("mermaid")
    assert drawn.startswith("flowchart LR\n")
    assert 0 < drawn.count("subgraph") == drawn.count("\n  end") <= len(content["units"])
    drawn = WORKLOAD.explain("dot")
    assert drawn.count("{") == drawn.count("}")
    assert all(f'"{name}"' in drawn for name in QUERIES)
    with pytest.raises(OptionError, match="explain knows the formats"):
        WORKLOAD.explain("mermaids")  # type: ignore[arg-type]


def test_explain_stays_short_for_thousands_of_queries() -> None:
    made = trendweave.workload([f"RETURN COUNT(*) PATTERN A+ WHERE A.x > {number % 7}" for number in range(300)])
    shown = made.explain()
    assert "and 280 more" in shown
    assert max(map(len, shown.split("\n"))) < 200


MEMBERS = [name for name, _ in inspect.getmembers(trendweave.Workload) if not name.startswith("_")]


@pytest.mark.parametrize("name", [name for name in MEMBERS if name not in ("get", "items", "keys", "values", "rules")])
def test_everything_about_a_workload_is_documented(name: str) -> None:
    member = inspect.getattr_static(trendweave.Workload, name)
    text = inspect.getdoc(member) or ""
    assert text
    if inspect.isfunction(member):
        for argument in list(inspect.signature(member).parameters)[1:]:
            assert f"    {argument}:" in text or f"    *{argument}:" in text or f"    **{argument}:" in text, argument
