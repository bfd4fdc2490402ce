"""One Query for all kinds: the kind comes from clauses, checks run once, every place has the same options."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tomllib
import typing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import ArgumentError, ExecutionError, LanguageError, OptionError, PlanningError, TrendweaveError
from trendweave.language import parse, print_tree
from trendweave.language.outline import find_clauses
from trendweave.planning.show.drawing import JSON_VERSION
from trendweave.runners.options import Options, Settings, make_settings
from trendweave.runners.place import Place

TREND = "RETURN COUNT(*) PATTERN E S+ WITHIN 4 seconds SLIDE 4 seconds"
LISTED = "RETURN TRENDS(S.v) PATTERN E S+ WITHIN 4 seconds SLIDE 4 seconds"
MATCHES = "DEFINE X AS v > 2, Y AS v < 2 PATTERN X before Y WITHIN 9 seconds"
SITUATED = "RETURN COUNT(*) PATTERN E S+ WHERE S DURING X WITHIN 4 seconds SLIDE 4 seconds DEFINE X AS v > 2"
EVENTS = pa.table({"time": [1, 2, 3, 4], "type": ["E"] * 4, "v": [3, 4, 1, 5]})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TREND, "trends"),
        (MATCHES, "intervals"),
        (SITUATED, "trends in situations"),
        ("FROM E DEFINE X AS v > 2 RETURN COUNT(*) PATTERN E S+ WHERE S DURING X", "trends in situations"),
        ("RETURN COUNT(*) PATTERN SEQ(FROM, DEFINE d+)", "trends"),
        ("RETURN COUNT(*) PATTERN FROM define+ WHERE define.x > 1", "trends"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x = 'DEFINE X AS v > 2'", "trends"),
        ("FROM E DEFINE X AS v > 2 RETURN SITUATIONS", "intervals"),
        ("FROM INTERVALS PATTERN A before B", "intervals"),
    ],
)
def test_the_kind_is_told_by_clauses(text: str, kind: str) -> None:
    query = trendweave.query(text)
    assert isinstance(query, trendweave.Query)
    assert query.kind == kind
    assert trendweave.query(str(query)) == query


@pytest.mark.parametrize("asked", [trendweave.query(TREND), trendweave.workload({"a": TREND})], ids=["one", "many"])
def test_events_in_the_place_of_a_format_are_told_their_name(asked: Any) -> None:
    for events in (EVENTS.to_pandas(), EVENTS, [{"time": 1}]):
        with pytest.raises(OptionError, match=r"not (DataFrame|Table|list)\n  hint: .*explain\(events=\.\.\.\)"):
            asked.explain(events)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DEFINE A AS x > 1, B AS y > 2 WHERE x > 3 PATTERN A during B", "an interval query has no WHERE"),
        ("DEFINE A AS x > 1 RETURN SITUATIONS GROUP-BY x", "an interval query has no GROUP BY"),
        ("PATTERN A before B WHERE A.x > 1", "an interval query has no WHERE"),
        ("FROM E DEFINE A AS x > 1 PATTERN A befor B", "unknown relation befor"),
    ],
)
def test_a_mistaken_query_gets_the_errors_of_its_own_language(text: str, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        trendweave.query(text)


def test_situations_that_nothing_names_and_nothing_defines_are_refused() -> None:
    with pytest.raises(PlanningError, match="unknown situation X"):
        trendweave.query("RETURN COUNT(*) PATTERN E S+ WHERE S DURING X")
    with pytest.raises(PlanningError, match="no condition of the trend names a situation"):
        trendweave.query("RETURN COUNT(*) PATTERN E S+ WHERE S.v > 1 DEFINE X AS v > 2")


def test_problems_of_the_trend_and_of_its_situations_come_together() -> None:
    with pytest.raises(TrendweaveError) as caught:
        trendweave.query("RETURN SUM(T.v) PATTERN E S+ WHERE S DURING Z DEFINE X AS v > 2, X AS v > 3")
    assert {problem.code for problem in caught.value.problems} == {"TW201", "TW251", "TW252"}


def test_clauses_are_found_outside_of_brackets_quotes_and_comments() -> None:
    text = "return `FROM`, COUNT(*) -- WHERE\nPATTERN SEQ(WHERE, A) group by A.within /* SLIDE */ LIMIT 3"
    assert [clause.keyword for clause in find_clauses(text)] == ["RETURN", "PATTERN", "GROUP BY", "LIMIT"]


def test_the_plan_of_situations_is_in_every_format() -> None:
    query = trendweave.query(SITUATED.replace("v > 2", "v > 2 AND note != 'one\n\ntwo'"))
    shown = query.explain()
    assert shown.startswith("query\n  RETURN COUNT(*)\n")
    assert "\nreturns      count = COUNT(*)\n" in shown
    assert "\nsituations that events lie in\n\nreturns      the situations themselves\n" in shown
    content = json.loads(query.explain("json"))
    assert content["version"] == JSON_VERSION
    assert content["text"] == str(query)
    assert [situation["name"] for situation in content["situations"]["situations"]] == ["X"]
    for drawn in ("mermaid", "dot"):
        assert "situations" in query.explain(drawn)  # type: ignore[arg-type]
        assert "2 AND note != 'one" in query.explain(drawn)  # type: ignore[arg-type]
        assert "\n\n" not in query.explain(drawn)  # type: ignore[arg-type]
    assert query.explain("mermaid").count("subgraph") == query.explain("mermaid").count("\n  end")
    assert query.explain("dot").count("{") == query.explain("dot").count("}")


def test_negation_of_during_keeps_its_meaning_when_printed() -> None:
    tree, _ = parse("RETURN COUNT(*) PATTERN E S+ WHERE NOT (S DURING X OR S.v > 1) DEFINE X AS v > 2")
    assert "NOT (S DURING X OR S.v > 1)" in print_tree(tree)
    assert parse(print_tree(tree))[0] == tree


@pytest.mark.parametrize("text", [TREND, LISTED, MATCHES, SITUATED])
def test_batches_are_the_rows_of_run(text: str) -> None:
    query = trendweave.query(text)
    batches = query.iter(EVENTS)
    assert batches.schema.equals(query.schema(EVENTS))
    assert pa.Table.from_batches(batches, batches.schema).to_pylist() == query.run(EVENTS).to_pylist()


@pytest.mark.parametrize("text", [TREND, MATCHES, SITUATED])
def test_a_table_is_checked_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trendweave.planning import checks

    query, original, calls = trendweave.query(text), checks.check_query, []

    def count_calls(*given: Any) -> Any:
        calls.append(given)
        return original(*given)

    monkeypatch.setattr(checks, "check_query", count_calls)
    for ask in (query.run, query.iter, query.schema, query.incremental, query.push):
        calls.clear()
        ask(EVENTS)
        assert len(calls) == 1, ask


def test_the_old_name_of_the_number_of_values_warns() -> None:
    query = trendweave.query("RETURN COUNT(*), SUM(S.v) PATTERN E S+")
    assert query.value_count == 2
    with pytest.warns(DeprecationWarning, match="value_count"):
        assert query.values == 2


# Options


@pytest.mark.parametrize(
    ("text", "options", "message", "hint"),
    [
        (TREND, {"numbers": "foo"}, "numbers is one of decimal, int64, text, float64, log2, not foo", "choose one"),
        (TREND, {"numbers": "decimals"}, "not decimals", "did you mean decimal?"),
        (TREND, {"numbres": "text"}, "knows the options numbers, .*, not numbres", "did you mean numbers?"),
        (TREND, {"memory": "1 GB"}, "not for aggregates", "leave them out"),
        (MATCHES, {"max_trends": 5}, "not for interval queries", "leave them out"),
        (LISTED, {"max_trends": -1}, "max_trends is 1 or more, not -1", "whole number"),
        (LISTED, {"max_trends": "many"}, "max_trends is 1 or more, not 'many'", "whole number"),
        (LISTED, {"memory": "1 MB"}, "memory is at least 16 MB, not '1 MB'", "give more"),
        (LISTED, {"memory": "lots"}, "memory is a size such as", "KB, MB, GB"),
        (LISTED, {"strategy": "h_cet"}, "strategy is one of", "did you mean"),
        (f"{LISTED} LIMIT 3", {"strategy": "t-cet"}, "LIMIT walks from event to event", "leave strategy out"),
    ],
)
@pytest.mark.parametrize("method", ["run", "iter", "schema", "incremental", "push"])
def test_wrong_options_are_our_errors_in_every_place(
    method: str, text: str, options: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        getattr(trendweave.query(text), method)(EVENTS, **options)
    (problem,) = caught.value.problems
    assert problem.code in ("TW408", "TW414")
    assert hint in problem.hint
    assert isinstance(caught.value, ExecutionError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", [7, 0, True, b"type", ["type"], {"type": 1}, 1.5])
@pytest.mark.parametrize("method", ["run", "iter", "schema", "incremental", "push"])
def test_columns_of_time_and_type_are_names(method: str, name: Any) -> None:
    everything = (trendweave.query(TREND), trendweave.workload({"a": TREND}), trendweave.operators.filter("v > 1"))
    for asked in everything if method != "push" else everything[:2]:
        with pytest.raises(OptionError, match="TW408: time names a column, not"):
            getattr(asked, method)(EVENTS, time=name)
        with pytest.raises(OptionError, match=r"type names a column, not .*\n.*name a column.*type=None"):
            getattr(asked, method)(EVENTS, type=name)
    with pytest.raises(OptionError, match="type names a column, not"):
        trendweave.query(TREND).explain(events=EVENTS, type=name)


def test_an_option_of_another_place_says_where_it_belongs() -> None:
    query = trendweave.query(TREND)
    with pytest.raises(OptionError, match="only Spark DataFrames take the options chunks"):
        query.run(EVENTS, chunks="off")
    with pytest.raises(OptionError, match=r"watermark is an option of push\(\) and run\(\) on a Spark stream"):
        query.run(EVENTS, watermark="1 second")  # type: ignore[typeddict-item]
    with pytest.raises(OptionError, match=r"state is an option of push\(\)"):
        query.incremental(EVENTS, state=b"")
    with pytest.raises(OptionError, match="state is bytes, not str"):
        query.push(EVENTS, state="left")  # type: ignore[typeddict-item]
    with pytest.raises(OptionError, match="explain knows the formats"):
        query.explain("mermaids")  # type: ignore[arg-type]


def test_sessions_and_pieces_take_the_limits_of_trends() -> None:
    query, rows = trendweave.query(LISTED), EVENTS.slice(0, 3)
    session = query.push(EVENTS, max_trends=2)
    session.send_table(rows)
    with pytest.raises(ExecutionError, match="TW412"):
        session.finish()
    engine = query.incremental(EVENTS, max_trends=2)
    with pytest.raises(ExecutionError, match="TW412"):
        engine.finish(engine.push(engine.start(), rows)[0])
    assert len(query.push(EVENTS, max_trends=7).send_table(EVENTS)) == 7


def test_options_and_settings_speak_of_the_same_things() -> None:
    named = set(typing.get_type_hints(Options, localns={"Metrics": Any, "Observation": Any, "SparkSession": Any}))
    held = set(Settings.__dataclass_fields__)
    together = {"memory", "max_trends", "strategy", "time_unit", "time_format", "max_rows", "max_work"}
    without_effect = {"exchange"}
    assert named - together - without_effect == held - {"detection", "times", "limits"}


def test_settings_of_the_session_count_where_no_argument_is_given() -> None:
    plan = trendweave.query(TREND).plan
    session = {"spark.trendweave.numbers": "text", "spark.trendweave.rowsAtOnce": "5", "spark.trendweave.buckets": "3"}
    batch = make_settings(plan, Place.SPARK_BATCH, {"rows_at_once": 9}, session.get)
    assert (batch.numbers, batch.rows_at_once, batch.max_rows_of_a_key) == ("text", 9, 20_000_000)
    assert make_settings(plan, Place.SPARK_STREAM, {}, session.get).buckets == 3
    assert make_settings(plan, Place.SCHEMA, {}, session.get).numbers == "text"
    with pytest.raises(OptionError, match="numbers is one of"):
        make_settings(plan, Place.SPARK_BATCH, {}, {"spark.trendweave.numbers": "roman"}.get)


def test_metrics_is_an_object_in_batch_and_a_name_on_streams() -> None:
    plan = trendweave.query(TREND).plan
    assert make_settings(plan, Place.SPARK_STREAM, {"metrics": "falling"}).metrics == "falling"
    with pytest.raises(OptionError, match="on a DataFrame metrics is a trendweave"):
        make_settings(plan, Place.SPARK_BATCH, {"metrics": "falling"})
    metrics = trendweave.Metrics()
    assert make_settings(plan, Place.SPARK_BATCH, {"metrics": metrics}).observation is metrics
    assert make_settings(plan, Place.SPARK_BATCH, {"observation": metrics}).observation is metrics
    with pytest.raises(OptionError, match="on a stream metrics is a name, not Metrics"):
        make_settings(plan, Place.SPARK_STREAM, {"metrics": metrics})
    with pytest.raises(OptionError, match="early is True or False"):
        make_settings(plan, Place.SPARK_STREAM, {"early": "yes"})


@pytest.mark.parametrize("name", ["define", "from", "during", "DEFINE", "a b", "pattern"])
def test_keywords_of_situations_may_be_names(name: str) -> None:
    text = f"RETURN COUNT(*) PATTERN E `{name}`+ WHERE `{name}` DURING `{name}` AND `{name}`.`{name}` > 1"
    query = trendweave.query(f"{text} FROM `{name}` DEFINE `{name}` AS `{name}` > 2")
    assert trendweave.query(str(query)) == query


# Columns and carets


@pytest.mark.parametrize(
    ("returned", "names"),
    [
        ("v AS w, v, COUNT(*)", ["w", "v", "count"]),
        ("v, COUNT(*), v AS w", ["v", "w", "count"]),
        ("v AS w, COUNT(*), v AS u", ["w", "u", "count"]),
        ("v AS w, COUNT(*)", ["w", "count"]),
        ("v, v, COUNT(*)", ["v", "count"]),
        ("EACH v AS w, v, COUNT(S)", ["w", "v", "count_S"]),
    ],
)
def test_an_attribute_may_be_returned_under_several_names(returned: str, names: list[str]) -> None:
    result = trendweave.query(f"RETURN {returned} PATTERN E S+ GROUP-BY v").run(EVENTS)
    assert result.column_names == ["window_start", "window_end", *names]
    for name in set(names) & {"w", "u"}:
        assert set(result.column(name).to_pylist()) == {1, 3, 4, 5}


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("price", 5),
        ("株価", 4),
        ("e\N{COMBINING ACUTE ACCENT}te\N{COMBINING ACUTE ACCENT}", 3),
        ("\N{FULLWIDTH LATIN SMALL LETTER W}x", 3),
        ("a\N{ZERO WIDTH JOINER}b", 2),
    ],
)
def test_carets_stand_under_the_place_behind_characters_of_any_width(name: str, columns: int) -> None:
    with pytest.raises(PlanningError) as caught:
        trendweave.query(f"RETURN COUNT(*) PATTERN `{name}` S+ WHERE T.x > 1")
    shown, marked = str(caught.value).split("\n")[2:4]
    before = shown[: shown.index("T.x")]
    assert len(marked) - len(marked.lstrip()) == len(before) - len(name) + columns
    assert marked.strip() == "^^^"


def test_a_wide_word_is_marked_as_wide_as_it_is() -> None:
    with pytest.raises(TrendweaveError) as caught:
        trendweave.query("RETURN 価値(S.x) PATTERN Stock S+")
    assert str(caught.value).split("\n")[3] == "    " + " " * 7 + "^" * len("VVVV(S.x)")


# Public names


def test_all_public_names_are_there_and_are_listed() -> None:
    pytest.importorskip("pyspark", reason="some names are of Spark's kind")
    for name in trendweave.__all__:
        assert getattr(trendweave, name) is not None
        assert name in dir(trendweave)
    modules = ["build", "datasets", "operators", "pictures"]
    assert [name for name in dir(trendweave) if not name.startswith("__")] == sorted([*trendweave.__all__, *modules])
    for name in modules:
        assert getattr(trendweave, name).__name__ == f"trendweave.{name}"
    with pytest.raises(AttributeError, match="no attribute 'Querry'"):
        _ = trendweave.Querry  # type: ignore[attr-defined]


def test_names_that_need_spark_say_so_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def import_nothing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr(trendweave, "import_module", import_nothing)
    assert not hasattr(trendweave, "ParquetEvents")
    with pytest.raises(AttributeError, match=r"trendweave.read needs Spark: pip install 'trendweave\[spark\]'"):
        _ = trendweave.read


def test_the_version_is_known_without_an_installed_package() -> None:
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["version"]
    program = (
        "import importlib.metadata as metadata\n"
        "def version(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = version\n"
        "import trendweave; print(trendweave.__version__)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == declared


@pytest.mark.parametrize("name", [name for name, _ in inspect.getmembers(trendweave.Query) if not name.startswith("_")])
def test_everything_about_a_query_is_documented(name: str) -> None:
    member = inspect.getattr_static(trendweave.Query, name)
    text = inspect.getdoc(member) or ""
    if inspect.isfunction(member):
        for argument in list(inspect.signature(member).parameters)[1:]:
            assert f"    {argument}:" in text or f"    **{argument}:" in text, f"{name}: {argument}"
    assert text or name in ("parameters", "plan", "source", "tree")


@pytest.mark.parametrize("given", [None, 7, b"PATTERN A+", Path("falling.tw")])
def test_what_is_no_text_is_no_query(given: object) -> None:
    with pytest.raises(ArgumentError, match=f"TW116: a query is a text, not {type(given).__name__}") as refused:
        trendweave.query(given)  # type: ignore[arg-type]
    hint = refused.value.problems[0].hint
    assert ("trendweave.query(path.read_text())" in hint) is isinstance(given, Path)


@pytest.mark.parametrize("path", ["falling.tw", " rules/falling.TW ", "rules/falling", "C:\\rules\\falling", "a.yaml"])
def test_a_path_is_told_from_a_query(path: str) -> None:
    with pytest.raises(LanguageError, match=r"TW101: .* looks like the path of a file, not like a query") as refused:
        trendweave.query(path)
    assert f"trendweave.query(Path({path.strip()!r}).read_text())" in refused.value.problems[0].hint


@pytest.mark.parametrize("text", ["falling", "RETURN COUNT(*) PATTERN", "PATTERN A+ WHRE A.x > A.json"])
def test_other_texts_are_not_taken_for_paths(text: str) -> None:
    with pytest.raises(TrendweaveError) as refused:
        trendweave.query(text)
    assert "path" not in str(refused.value)


# Parameters

RISES = "RETURN COUNT(*), SUM(S.v * $factor) AS s PATTERN E S WHERE S.v > $low AND S.s != $name WITHIN $w SLIDE $w"
NAMED = EVENTS.append_column("s", pa.array(["a", "it's", "b' OR TRUE", None]))


def test_a_bound_query_is_the_one_with_literals() -> None:
    bound = trendweave.query(RISES).bind({"factor": -2}, low=1, name="it's", w="4 seconds")
    written = trendweave.query(
        "RETURN COUNT(*), SUM(S.v * -2) AS s PATTERN E S WHERE S.v > 1 AND S.s != 'it''s' WITHIN 4 seconds SLIDE 4 s"
    )
    assert trendweave.query(RISES).parameters == ("factor", "low", "name", "w")
    assert bound.parameters == ()
    assert (bound, str(bound), bound.plan) == (written, str(written), written.plan)
    assert bound.run(NAMED).to_pylist() == written.run(NAMED).to_pylist()
    assert list(bound.iter(NAMED)) == list(written.iter(NAMED))
    assert bound.explain() == written.explain()


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (3, "3"),
        (-3, "-3"),
        (2.5, "2.5"),
        (True, "TRUE"),
        ("b' OR TRUE --", "'b'' OR TRUE --'"),
        (datetime(2024, 2, 29, 13, tzinfo=UTC), "TIMESTAMP '2024-02-29 13:00:00'"),
        (datetime(2024, 2, 29, 13), "TIMESTAMP '2024-02-29 13:00:00'"),
        (date(2024, 2, 29), "DATE '2024-02-29'"),
        (timedelta(minutes=5), "5 minutes"),
        (np.int32(7), "7"),
        (np.float32(0.5), "0.5"),
        (np.datetime64("2024-02-29T13:00:00", "ns"), "TIMESTAMP '2024-02-29 13:00:00'"),
        (np.timedelta64(5, "m"), "5 minutes"),
        (pd.Timestamp("2024-02-29 13:00:00"), "TIMESTAMP '2024-02-29 13:00:00'"),
    ],
)
def test_values_are_literals(value: Any, literal: str) -> None:
    bound = trendweave.query("RETURN COUNT(*) PATTERN A WHERE A.x = $value AND A.y IN ($value, A.z)").bind(value=value)
    assert bound == trendweave.query(f"RETURN COUNT(*) PATTERN A WHERE A.x = {literal} AND A.y IN ({literal}, A.z)")


@pytest.mark.parametrize(
    ("values", "code", "column"),
    [
        ({"low": None}, "TW491", RISES.index("$low") + 1),
        ({"low": [1]}, "TW491", RISES.index("$low") + 1),
        ({"low": 2**63}, "TW491", RISES.index("$low") + 1),
        ({"low": float("nan")}, "TW491", RISES.index("$low") + 1),
        ({"w": 3}, "TW491", RISES.index("$w") + 1),
        ({"w": "3 parsecs"}, "TW491", RISES.index("$w") + 1),
        ({"w": timedelta(0)}, "TW491", RISES.index("$w") + 1),
        ({"lo": 3}, "TW492", None),
    ],
)
def test_values_that_cannot_stand_in_a_query(values: dict[str, Any], code: str, column: int | None) -> None:
    with pytest.raises(OptionError) as caught:
        trendweave.query(RISES).bind(values)
    assert {problem.code for problem in caught.value.problems} == {code}
    assert caught.value.problems[0].column == column


def test_with_these_values_the_query_has_no_meaning() -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN A WITHIN $w SLIDE 5 seconds")
    with pytest.raises(PlanningError, match="TW220"):
        query.bind(w="2 seconds")


CALLS: dict[str, Any] = {
    "run": lambda query: query.run(NAMED),
    "iter": lambda query: query.iter(NAMED),
    "schema": lambda query: query.schema(NAMED),
    "check": lambda query: query.check(NAMED.schema),
    "explain": lambda query: query.explain(),
    "explain events": lambda query: query.explain(events=NAMED),
    "incremental": lambda query: query.incremental(NAMED.schema),
    "push": lambda query: query.push(NAMED.schema),
    "workload": lambda query: trendweave.workload({"r": query}).run(NAMED),
    "workload explained": lambda query: trendweave.workload({"r": query}).explain(),
    "workload pushed": lambda query: trendweave.workload({"r": query}).push(NAMED.schema),
    "match": lambda query: trendweave.operators.match(query),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_parameters_without_a_value_are_told_with_their_places(call: Any) -> None:
    query = trendweave.query(RISES).bind(factor=1, low=2)
    with pytest.raises(OptionError) as caught:
        call(query)
    assert [(problem.code, problem.column) for problem in caught.value.problems] == [
        ("TW490", RISES.index("$name") + 1),
        ("TW490", RISES.index("$w") + 1),
    ]
    assert "query.bind(name=...)" in str(caught.value)
    call(query.bind(name="x", w="4 seconds"))


def test_states_are_those_of_one_value() -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN E S WHERE S.v > $low WITHIN 4 seconds SLIDE 4 seconds")
    session = query.bind(low=1).push(EVENTS.schema)
    session.send({"time": 1, "type": "E", "v": 3})
    left = query.bind(low=1).push(EVENTS.schema, state=session.state())
    assert [row["count"] for row in left.finish().to_pylist()] == [1]
    with pytest.raises(TrendweaveError, match="another query"):
        query.bind(low=2).push(EVENTS.schema, state=session.state())


def test_parameters_of_a_workload() -> None:
    workload = trendweave.workload({"high": "RETURN COUNT(*) PATTERN E S WHERE S.v > $limit", "low": TREND})
    bound = workload.bind(limit=3)
    assert bound.rows(bound.run(EVENTS), "high").to_pylist() == bound["high"].run(EVENTS).to_pylist()
    assert bound["low"] == workload["low"]
    with pytest.raises(OptionError, match=r"TW492: there is no parameter \$limi\b"):
        workload.bind(limi=3)
    with pytest.raises(TrendweaveError, match=r"TW491.*query high"):
        workload.bind(limit=None)


def test_parameters_of_interval_queries() -> None:
    text = "DEFINE X AS v > $t AT LEAST $long, Y AS v < -$t + 5 PATTERN X before; meets Y WITHIN $w"
    bound = trendweave.query(text).bind(t=2, long="1 second", w=timedelta(seconds=9))
    written = trendweave.query(
        "DEFINE X AS v > 2 AT LEAST 1 second, Y AS v < -2 + 5 PATTERN X before; meets Y WITHIN 9 seconds"
    )
    assert bound == written
    assert bound.run(EVENTS).to_pylist() == written.run(EVENTS).to_pylist() != []
