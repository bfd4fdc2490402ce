"""Spark SQL text and Arrow evaluation of the same expression give the same values, under every session setting.

One table full of nasty values; many expressions in each Spark job, because a job costs far more than an expression.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from tests.runners import row_expression
from tests.spark.comparing import settings as session_settings
from trendweave.errors import DataError
from trendweave.events import schema_of
from trendweave.expressions.arrow.evaluate import evaluate
from trendweave.expressions.spark_sql import spark_column, spark_sql
from trendweave.language import syntax_tree as st
from trendweave.language.printer import print_expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS = 150
EXPRESSIONS_PER_JOB = 160
#: spark.sql.ansi.enabled and spark.sql.session.timeZone; New York has hours that are missing or happen twice.
SESSIONS = [("true", "America/New_York"), ("false", "UTC")]
OTHER_SESSIONS = [("true", "UTC"), ("false", "America/New_York")]

LOW, HIGH = -(2**63), 2**63 - 1
INTEGERS = [None, 0, 1, -1, 2, 3, 7, -7, 127, -128]
FLOATS = [None, 0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 1e-320, 1e308, -1e308, float("inf"), -float("inf"), float("nan"), 1e18]
TEXTS = [
    None,
    "",
    " ",
    "a",
    "B",
    "b",
    "abc",
    "aBc",
    "a\nc",
    "a%c",
    r"a\c",
    "é",
    "É",
    "ß",
    "ΑΣ",
    "İ",
    "ﬁ",
    "a😀c",
    " x ",
    "\tx",
]
NUMBER_TEXTS = [
    *(None, "", " 12 ", "\t7\n", "+5", "-00", "12.7", "1e3", "1E+3", ".5", "5.", ".", "+", "1_000", "٣", "\u00a07"),
    *(
        "NaN",
        "nan",
        "-NaN",
        "+nan",
        "Infinity",
        "-inf",
        "+INF",
        "infin",
        "1d",
        "1.5F",
        "NaNd",
        "0x1p3",
        "0x10",
        "1e400",
    ),
    *("\x017\x7f", "\x017", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e-400", "true"),
]
MOMENTS = [
    None,
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1900, 1, 1, 12),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
    datetime(2024, 2, 29),
    datetime(2024, 3, 10, 2, 30),  # not on New York's clocks
    datetime(2024, 3, 10, 7, 30, 0, 1),
    datetime(2024, 11, 3, 1, 30),  # twice on New York's clocks
    datetime(2024, 11, 3, 5, 30),
    datetime(2024, 11, 3, 6, 30),
]
DAYS = [
    None,
    date(1970, 1, 1),
    date(1969, 12, 31),
    date(1, 1, 1),
    date(9999, 12, 31),
    date(2024, 2, 29),
    date(2024, 11, 3),
]
SPANS = [None, 0, 1, -1, 1_500_000, 60_000_000, -86_400_000_000, 3_600_000_000, 10**15]
DECIMALS = {
    "cents": (pa.decimal128(10, 2), ["0", "0.10", "-0.01", "1", "1.66", "2.50", "-7", "99999999.99"]),
    "fine": (
        pa.decimal128(38, 10),
        ["0", "0.1", "0.1000000001", "140.9675203126", "1", "9007199254740993", "-9223372036854775809", "1e27"],
    ),
    "finest": (
        pa.decimal128(38, 30),
        ["0", "0.1", "1.000000000000000000000000000001", "1.0000000000000000004", "1.5", "-99999999.5", "7"],
    ),
}


def nasty_table() -> pa.Table:
    """Every column draws from its own values, so that all pairs of values meet somewhere."""
    draw = random.Random(7)

    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([draw.choice(values) for _ in range(ROWS)], kind)

    decimals = {name: column([None, *map(Decimal, texts)], kind) for name, (kind, texts) in DECIMALS.items()}
    columns = {
        "row": pa.array(range(ROWS)),
        "i64": column([*INTEGERS, LOW, HIGH, LOW + 1, 2**53 + 1, 2**62, -(2**62), 2**32], pa.int64()),
        "i32": column([*INTEGERS, 2**31 - 1, -(2**31)], pa.int32()),
        "i8": column(INTEGERS, pa.int8()),
        "f64": column([*FLOATS, 2.0**53, 2.0**63, -(2.0**63), 9.3e18], pa.float64()),
        "f32": column([None, 0.0, -0.0, 1.5, float("nan"), float("inf"), 3.4e38, 1e-45], pa.float32()),
        **decimals,
        "text": column(TEXTS, pa.string()),
        "digits": column(NUMBER_TEXTS, pa.string()),
        "moment": column([None, *(value.replace(tzinfo=UTC) for value in MOMENTS if value)], pa.timestamp("us", "UTC")),
        "clock": column(MOMENTS, pa.timestamp("us")),
        "day": column(DAYS, pa.date32()),
        "span": column(SPANS, pa.int64()),
        "flag": column([None, True, False], pa.bool_()),
        "bytes": column([None, b"", b"\x00", b"\x7f", b"\xff", b"\xff\x00"], pa.binary()),
        "nested": column([None, {"in ner": None}, {"in ner": {"x`y": 5}}, {"in ner": {"x`y": None}}], NESTED),
    }
    return pa.table(columns)


NESTED = pa.struct({"in ner": pa.struct({"x`y": pa.int64()})})


@pytest.fixture(scope="module")
def local() -> pa.Table:
    table = nasty_table()
    place = table.column_names.index("span")
    return table.set_column(place, "span", table.column("span").cast(pa.duration("us")))


@pytest.fixture(scope="module", autouse=True)
def _compiled(spark: SparkSession) -> Iterator[None]:
    """Expressions are compiled, which other tests do without."""
    with session_settings(spark, sql_codegen_wholeStage="true", sql_codegen_factoryMode="FALLBACK"):
        yield


@pytest.fixture(scope="module")
def remote(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """From a file, so that Spark compiles the expressions as it does for real tables."""
    file = tmp_path_factory.mktemp("nasty") / "rows.parquet"
    pq.write_table(nasty_table(), file)
    rows = spark.read.parquet(str(file)).withColumn("span", _interval("span"))
    kinds = dict(rows.dtypes)
    assert (kinds["moment"], kinds["clock"], kinds["i8"]) == ("timestamp", "timestamp_ntz", "tinyint")
    return rows


def _interval(microseconds: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(f"INTERVAL '0.000001' SECOND * {microseconds}")


@pytest.fixture
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """The session with other settings, for one test."""
    names = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    before = {name: spark.conf.get(name) for name in names}
    for name, value in zip(names, request.param, strict=True):
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


# The comparison


def disagreements(expressions: list[st.Expression], local: pa.Table, remote: DataFrame) -> list[str]:
    """One line per expression whose values differ, with the first row where they do."""
    schema = schema_of(remote)
    texts = [spark_sql(expression, schema) for expression in expressions]
    found = remote.selectExpr("row", *(f"{text} AS x{number}" for number, text in enumerate(texts))).toArrow()
    found = found.sort_by("row")
    lines = []
    for number, (expression, text) in enumerate(zip(expressions, texts, strict=True)):
        here, there = _identities(evaluate(expression, local)), _identities(found.column(f"x{number}").combine_chunks())
        row = next((row for row in range(ROWS) if here[row] != there[row]), None)
        if row is not None:
            lines.append(
                f"{print_expression(expression)}\n  Arrow {here[row]}, Spark {there[row]} in row {row}\n  {text}"
            )
    return lines


def _identities(column: pa.Array) -> list[Any]:
    """Values with the name of their type; bits count for floats, except those of NaN, and digits for nothing else."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        assert kind.unit == "us"
        name = "duration" if pa.types.is_duration(kind) else "timestamp"
        return [(name, value) for value in pc.cast(column, pa.int64()).to_pylist()]
    name = "decimal" if pa.types.is_decimal(kind) else str(kind).removeprefix("large_")
    return [(name, repr(value) if isinstance(value, float) else value) for value in column.to_pylist()]


def in_jobs(expressions: list[st.Expression]) -> Iterator[list[st.Expression]]:
    """Neighbours look alike, so each job takes expressions from all over the list."""
    jobs = -(-len(expressions) // EXPRESSIONS_PER_JOB)
    yield from (list(islice(expressions, start, None, jobs)) for start in range(jobs))


# Expressions by the list

NUMBERS = ["e.i64", "e.i32", "e.i8", "e.f64", "e.f32", "e.cents", "e.fine", "e.finest", "1", "0.1"]
TIMES = ["e.moment", "e.clock", "e.day", "TIMESTAMP '2024-11-03 05:30:00'", "DATE '2024-11-03'"]
LENGTHS = ["e.span", "90 seconds", "(e.moment - e.clock)", "(e.day - e.moment)"]
STRINGS = ["e.text", "e.digits", "'b'", r"'a\c'", "'it''s ${x}'"]
#: For pairs: one column of each kind of storage.
PAIRED = ["e.i64", "e.i8", "e.f64", "e.f32", "e.cents", "e.finest", "1"]
GROUPS = [NUMBERS, TIMES, LENGTHS, STRINGS, ["e.flag", "TRUE"], ["e.bytes"]]


def listed() -> list[st.Expression]:
    texts = [
        *_comparisons(),
        *_arithmetic(),
        *_functions_of_numbers(),
        *_functions_of_strings(),
        *_parts_of_times(),
        *_lists_and_ranges(),
        *_logic(),
    ]
    return [row_expression(text) for text in texts]


def _comparisons() -> Iterator[str]:
    operators = cycle(("<", "=", "<=", "!=", ">", ">="))
    for group in (PAIRED, *GROUPS[1:]):
        yield from (f"{left} {next(operators)} {right}" for left, right in product(group, group))
    yield from (f"{length} {next(operators)} {number}" for length in LENGTHS[:3] for number in PAIRED)
    yield from ("e.nested.`in ner`.`x``y` = 5", "e.nested IS NULL", "e.nested.`in ner` IS NOT NULL", "e.span < 1500 ns")


def _arithmetic() -> Iterator[str]:
    signs = cycle(("+", "-", "*", "/", "%"))
    yield from (f"{left} {next(signs)} {right}" for left, right in product(PAIRED, PAIRED))
    yield from (f"e.i64 {sign} {other}" for sign in ("+", "-", "*", "/", "%") for other in ("e.i64", "e.f64", "3"))
    yield from (f"{left} - {right}" for left in TIMES for right in TIMES)
    yield from (f"{time} {sign} {length}" for time in TIMES for length in LENGTHS for sign in ("+", "-"))
    yield from (f"{left} {sign} {right}" for left in LENGTHS for right in LENGTHS for sign in ("+", "-"))
    yield from (f"{number} {sign} {length}" for number in PAIRED for length in LENGTHS[:2] for sign in ("+", "-"))
    yield from (f"-({value})" for value in (*NUMBERS, *LENGTHS))
    yield from ("e.i64 + NULL", "NULL - e.moment", "-(NULL)", "e.f64 + 1 ns")
    # An optimiser must not put the steps of a chain in another order: other steps leave 64 bits then.
    yield from ("e.i8 * (-9223372036854775807 * e.i8)", "e.i64 + (4611686018427387904 + e.i64) + 4611686018427387904")
    yield from ("e.i8 * COALESCE(NULL, 4611686018427387904 * e.i8)", "e.span + (90 seconds + (e.span + 90 seconds))")


def _functions_of_numbers() -> Iterator[str]:
    yield from (f"{name}({value})" for name in ("ABS", "CEIL", "FLOOR", "SIGN", "SQRT") for value in NUMBERS)
    yield from (
        f"CAST({value} AS {kind})" for kind in ("BIGINT", "DOUBLE") for value in (*NUMBERS, "e.flag", "e.digits")
    )
    yield from ("CEIL(FLOOR(e.f64 / 3) / 7)", "FLOOR(e.f64 * 0.5) + CEIL(e.f32)", "CAST(NULL AS BIGINT)", "ABS(NULL)")
    for name in ("COALESCE", "GREATEST", "LEAST"):
        for group in (NUMBERS, TIMES, ["e.span", "90 seconds"], STRINGS):
            yield from (
                f"{name}({left}, NULL, {right})" for left, right in zip(group, group[1:] + group[:1], strict=True)
            )
        yield f"{name}(e.i64, e.f64, e.cents, 3)"
        yield f"{name}(e.span, e.f64)"
    for group in GROUPS:
        yield from (f"NULLIF({left}, {right})" for left, right in zip(group, group[1:] + group[:1], strict=True))
    yield from ("NULLIF(e.f64, e.f64)", "NULLIF(NULL, 1)", "NULLIF(e.span, e.f64)", "COALESCE(NULL, NULL)")


REGEXES = (
    *("", "a", "^a", "c$", "^$", "^.$", "a.c", r"a\.c", "[abc]", "[^abc]", "[a-z]+", r"[\w%-]", r"^\s", r"\s$", r"\S+"),
    *(
        r"^[^\s]*$",
        r"\d{1,2}",
        r"^\d+$",
        r"\D",
        r"^\W",
        "(a|b)c?",
        "(?:a|É)",
        "x|",
        r"\\",
        r"\$|%",
        ".{2,}",
        "a{1}?b*?",
        "😀",
    ),
    *("^[ -~]*$", r"\ ", r"[\ \t]", "it''s", "()", r"^\+?[0-9.]+(e[0-9]+)?$", "[é-ﬁ]", ".$"),
)


def _functions_of_strings() -> Iterator[str]:
    yield from (f"{name}({value})" for name in ("LOWER", "UPPER", "TRIM", "LENGTH") for value in STRINGS)
    # Letters that become several must not be taken back by an optimiser.
    yield from (f"{outer}({inner}(e.text))" for outer in ("LOWER", "UPPER") for inner in ("LOWER", "UPPER"))
    yield from ("CONCAT(e.text, e.digits)", "CONCAT(e.text)", "CONCAT('<', e.text, '>')", "CONCAT(e.text, NULL)")
    positions = ("0", "1", "-2", "9", "e.i8", "e.i64", "2147483648", "-2147483648", "NULL")
    yield from (f"SUBSTRING(e.text, {position})" for position in positions)
    lengths = ("0", "2", "-1", "e.i32", "2147483647", "2147483648")
    yield from (f"SUBSTRING(e.digits, {position}, {length})" for position in positions[2:6] for length in lengths)
    patterns = ("%", "a%", "_", "a_c", r"a\%c", r"a\\c", r"a\c", "%\\", "", "%é", "a.c", "it''s", "$%")
    yield from (f"e.text LIKE '{pattern}'" for pattern in patterns)
    yield from ("e.text NOT LIKE 'a%'", "NULL LIKE 'a'")
    yield from (f"e.text RLIKE '{pattern}'" for pattern in REGEXES)
    yield from (f"e.digits NOT RLIKE '{pattern}'" for pattern in REGEXES)
    yield from (f"CONCAT(e.text, '\u2028\u0085\r\v\n') RLIKE '{pattern}'" for pattern in REGEXES)
    yield "NULL RLIKE 'a'"


PARTS = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "DAY",
    "DAYOFWEEK",
    "WEEKDAY",
    "DAYOFYEAR",
    "WEEKOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
)
UNITS = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")


def _parts_of_times() -> Iterator[str]:
    yield from (f"{part}({time})" for part in (*PARTS, "DATE", "UNIX_TIMESTAMP") for time in TIMES)
    yield from (f"DATE_TRUNC('{unit}', {time})" for unit in UNITS for time in TIMES)
    yield from (f"DATEDIFF({left}, {right})" for left in TIMES for right in TIMES[:3])
    yield from ("YEAR(e.moment + e.span)", "DATE(e.clock - 1 day) = e.day", "DATE_TRUNC('day', e.moment) + 1 hour")
    yield from ("HOUR(NULL)", "DATE_TRUNC('day', NULL)", "DATEDIFF(e.day, NULL)", "ROUND(NULL, 2)")
    yield from (f"ROUND({number}, {digits})" for number in NUMBERS for digits in (0, 1, 2, 9))
    yield from ("ROUND(e.f64)", "ROUND(e.f64 / 7, 3)", "ROUND(e.i64 / 1000, 2)", "ROUND(e.i64 * 0.001, 2)")


def _lists_and_ranges() -> Iterator[str]:
    many = ", ".join(["0.0", *(f"{number}.5" for number in range(12))])
    for group in GROUPS:
        for number, value in enumerate(group):
            others = [other for other in group if other != value] or [value]
            negated = "NOT " if number % 2 else ""
            yield f"{value} {negated}IN ({', '.join(others[:3])}{', NULL' if number % 3 else ''})"
            yield f"{value} {negated}BETWEEN {others[0]} AND {'NULL' if number % 3 == 1 else others[-1]}"
    yield from (f"e.f64 IN ({many})", f"e.f32 NOT IN ({many})", f"e.i64 IN ({many})", "e.span IN (e.f64, e.i8)")
    yield from ("e.i64 IN (1, 2, 3)", "e.text IN ('a', 'b', 'é')", "NULL IN (1)", "e.span BETWEEN 1 second AND e.f64")


def _logic() -> Iterator[str]:
    conditions = ("e.flag", "e.i64 > 0", "NULL", "e.f64 = e.f64")
    yield from (f"({left}) {word} ({right})" for left in conditions for right in conditions for word in ("AND", "OR"))
    yield from (f"NOT ({condition})" for condition in conditions)
    yield from (f"({condition}) IS NULL" for condition in conditions)


@pytest.mark.parametrize("session", SESSIONS, ids="-".join, indirect=True)
@pytest.mark.usefixtures("session")
def test_listed_expressions_agree(local: pa.Table, remote: DataFrame) -> None:
    lines = [line for job in in_jobs(listed()) for line in disagreements(job, local, remote)]

    assert not lines, f"{len(lines)} differ:\n" + "\n".join(lines)


# Random expressions, one inside the other


def call(function: str, *arguments: some.SearchStrategy[st.Expression]) -> some.SearchStrategy[st.Expression]:
    return some.tuples(*arguments).map(lambda values: st.Call(function, values))


def columns(*names: str) -> some.SearchStrategy[st.Expression]:
    return some.sampled_from([st.Attribute((name,)) for name in names])


def picks(kind: some.SearchStrategy[st.Expression]) -> some.SearchStrategy[st.Expression]:
    """Functions that return one of their arguments, and CASE."""
    of_several = some.sampled_from(["COALESCE", "GREATEST", "LEAST", "NULLIF"])
    case = some.builds(st.Case, some.lists(whens(kind), min_size=1, max_size=2).map(tuple), some.none() | kind)
    return some.builds(st.Call, of_several, some.tuples(kind, kind)) | case


def whens(kind: some.SearchStrategy[st.Expression]) -> some.SearchStrategy[st.When]:
    tests = columns("flag") | literals([True, False, None])
    compared = some.builds(st.Comparison, some.sampled_from(["<", "=", "!="]), kind, kind)
    return some.builds(st.When, tests | compared, kind)


def literals(values: list[Any]) -> some.SearchStrategy[st.Expression]:
    return some.sampled_from([st.Literal(value) for value in values])


def whole_numbers(depth: int) -> some.SearchStrategy[st.Expression]:
    leaves = columns("i64", "i32", "i8") | literals([0, 1, -3, 7, HIGH, LOW])
    if depth == 0:
        return leaves
    return some.one_of(
        leaves,
        some.builds(st.Arithmetic, some.sampled_from("+-*%"), whole_numbers(depth - 1), whole_numbers(depth - 1)),
        some.builds(st.Negative, whole_numbers(depth - 1)),
        call("LENGTH", strings(depth - 1)),
        some.builds(st.Cast, strings(depth - 1) | numbers(depth - 1) | conditions(depth - 1), some.just("BIGINT")),
        some.builds(st.Call, some.sampled_from(["CEIL", "FLOOR"]), some.tuples(numbers(depth - 1))),
    )


def numbers(depth: int) -> some.SearchStrategy[st.Expression]:
    leaves = columns("f64", "f32", "cents", "fine", "finest") | literals([0.0, -0.0, 0.1, -2.5, 1e300])
    if depth == 0:
        return leaves | whole_numbers(0)
    return some.one_of(
        leaves,
        whole_numbers(depth),
        some.builds(st.Arithmetic, some.sampled_from("+-*/%"), numbers(depth - 1), numbers(depth - 1)),
        some.builds(st.Arithmetic, some.sampled_from("+-"), numbers(depth - 1), lengths(depth - 1)),
        some.builds(st.Negative, numbers(depth - 1)),
        some.builds(st.Call, some.sampled_from(["ABS", "SIGN", "SQRT"]), some.tuples(numbers(depth - 1))),
        some.builds(st.Cast, strings(depth - 1) | numbers(depth - 1) | conditions(depth - 1), some.just("DOUBLE")),
        picks(numbers(depth - 1)),
    )


def strings(depth: int) -> some.SearchStrategy[st.Expression]:
    leaves = columns("text", "digits") | literals(["", "a", "ß", "it's", "\\", "1"])
    if depth == 0:
        return leaves
    below = strings(depth - 1)
    return some.one_of(
        leaves,
        some.builds(st.Call, some.sampled_from(["LOWER", "UPPER", "TRIM"]), some.tuples(below)),
        call("CONCAT", below, below),
        call("SUBSTRING", below, whole_numbers(depth - 1)),
        call("SUBSTRING", below, whole_numbers(depth - 1), whole_numbers(depth - 1)),
        picks(below),
    )


def times(depth: int) -> some.SearchStrategy[st.Expression]:
    leaves = columns("moment", "clock", "day") | some.just(st.TimestampLiteral(1_730_611_800_000_000))
    if depth == 0:
        return leaves
    moved = some.builds(st.Arithmetic, some.sampled_from("+-"), times(depth - 1), lengths(depth - 1))
    return leaves | moved | picks(times(depth - 1))


def lengths(depth: int) -> some.SearchStrategy[st.Expression]:
    leaves = columns("span") | some.just(st.Duration(90_000_000_000))
    if depth == 0:
        return leaves
    between = some.builds(st.Arithmetic, some.just("-"), times(depth - 1), times(depth - 1))
    total = some.builds(st.Arithmetic, some.sampled_from("+-"), lengths(depth - 1), lengths(depth - 1))
    return leaves | between | total | some.builds(st.Negative, lengths(depth - 1)) | picks(lengths(depth - 1))


def conditions(depth: int) -> some.SearchStrategy[st.Expression]:
    leaves = columns("flag") | literals([True, False, None])
    if depth == 0:
        return leaves
    alike = [numbers(depth - 1), strings(depth - 1), times(depth - 1), lengths(depth - 1)]
    alike.append(numbers(depth - 1) | lengths(depth - 1))
    operators = some.sampled_from(["<", "<=", ">", ">=", "=", "!="])
    below = conditions(depth - 1)
    return some.one_of(
        leaves,
        *(some.builds(st.Comparison, operators, kind, kind) for kind in alike),
        *(some.builds(st.InList, kind, some.tuples(kind, kind), some.booleans()) for kind in alike),
        *(some.builds(st.Between, kind, kind, kind, some.booleans()) for kind in alike),
        *(some.builds(st.IsNull, kind, some.booleans()) for kind in alike),
        some.builds(st.Like, strings(depth - 1), some.sampled_from(["%", "_%", "a\\%", "%c"]), some.booleans()),
        some.builds(st.Inverse, below),
        some.tuples(below, below).map(st.all_of),
        some.tuples(below, below).map(st.any_of),
    )


anything = some.one_of(kind(3) for kind in (numbers, strings, times, lengths, conditions))


@pytest.mark.parametrize("session", OTHER_SESSIONS, ids="-".join, indirect=True)
@pytest.mark.usefixtures("session")
@settings(
    max_examples=3,
    phases=[Phase.generate],  # the lines of the report are small already, and each try is a Spark job
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(expressions=some.lists(anything, min_size=40, max_size=60))
def test_random_expressions_agree(expressions: list[st.Expression], local: pa.Table, remote: DataFrame) -> None:
    lines = disagreements(expressions, local, remote)

    assert not lines, f"{len(lines)} differ:\n" + "\n".join(lines)


# What the tests above stand on, and what has no twin


def test_a_planted_difference_is_found(local: pa.Table, remote: DataFrame) -> None:
    expressions = [row_expression(text) for text in ("e.f64 * 2", "e.i64 + 1", "UPPER(e.text)", "e.flag")]
    place = local.column_names.index("f64")
    # -0.0 for 0.0: equal numbers, and still not the same value.
    other_zero = [-0.0 if str(value) == "0.0" else value for value in local.column("f64").to_pylist()]
    changed = local.set_column(place, "f64", pa.array(other_zero))

    assert disagreements(expressions, local, remote) == []
    (line,) = disagreements(expressions, changed, remote)
    assert line.startswith("f64 * 2")


@pytest.mark.parametrize(
    ("condition", "filter_"),
    [
        ("e.moment > TIMESTAMP '2024-01-01'", "GreaterThan(moment,2024-01-01 00:00:00.0)"),
        ("e.i32 > 5", "GreaterThan(i32,5)"),
        ("e.f64 BETWEEN 0.5 AND 2.5", "LessThanOrEqual(f64,2.5)"),
        ("e.text = 'b'", "EqualTo(text,b)"),
        ("e.day < DATE '2024-01-01'", "LessThan(day,2024-01-01)"),
    ],
)
def test_conditions_reach_the_file(
    condition: str, filter_: str, remote: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    remote.where(spark_sql(row_expression(condition), schema_of(remote))).select("row").explain()

    assert filter_ in capsys.readouterr().out.split("PushedFilters: ")[1]


def test_a_column_stays_as_it_is(remote: DataFrame) -> None:
    path = ("nested", "in ner", "x`y")
    assert remote.selectExpr(spark_column(path) + " AS x", spark_column(("i8",))).dtypes == [
        ("x", "bigint"),
        ("i8", "tinyint"),
    ]


@pytest.mark.parametrize("text", ["e.moment + 5 ns > e.clock", "e.span - 5 ns"])
def test_moments_between_microseconds_are_refused(text: str, remote: DataFrame) -> None:
    with pytest.raises(DataError, match="finer than a microsecond"):
        spark_sql(row_expression(text), schema_of(remote))
