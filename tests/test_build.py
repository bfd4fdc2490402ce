"""Queries from Python give the same trees as queries from text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from types import ModuleType

import pytest

import trendweave
from trendweave import build as b
from trendweave.build import intervals
from trendweave.errors import ArgumentError, LanguageError, PlanningError
from trendweave.language.interval_tree import Constraint
from trendweave.queries import Query

A, B, S = b.event("A"), b.event("B", "b"), b.event("Stock", "S")
x = b.attr("A.x")

SAME: list[tuple[Callable[[], Query], str]] = [
    (
        lambda: b.query(
            b.plus(S),
            returns=["sector", b.count()],
            where=[b.same("company", "sector"), b.attr("S.price") > b.next_of("S.price")],
            group_by=["sector"],
            within="10 minutes",
            slide=timedelta(seconds=10),
        ),
        "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
        "GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds",
    ),
    (lambda: b.query(b.seq(A, b.negate(b.event("N")), B)), "PATTERN SEQ(A, NOT N, B b)"),
    (
        lambda: b.query(b.seq(b.star(A), b.optional(B), b.times(S, 2, 5), b.times(A, 3)), returns=b.trends()),
        "RETURN TRENDS PATTERN SEQ(A*, B b?, Stock S{2,5}, A{3,})",
    ),
    (lambda: b.query(b.either(A, B), returns=b.complete_trends()), "RETURN COMPLETE TRENDS PATTERN A OR B b"),
    (
        lambda: b.query(A, returns=b.trends("A.x", "y"), choice=b.sample(5, seed=7)),
        "RETURN TRENDS(A.x, y) PATTERN A SAMPLE 5 SEED 7",
    ),
    (lambda: b.query(b.plus(A), choice=b.longest(5)), "PATTERN A+ LONGEST 5"),
    (
        lambda: b.query(A, where=[x > b.param("low")], within=b.param("w"), slide="1 second"),
        "PATTERN A WHERE A.x > $low WITHIN $w SLIDE 1 second",
    ),
    (lambda: b.query(A, returns=b.each(b.count("A")), choice=b.limit(2)), "RETURN EACH COUNT(A) PATTERN A LIMIT 2"),
    (lambda: b.query(b.both(A, B), returns=[b.count()]), "RETURN COUNT(*) PATTERN A AND B b"),
    (
        lambda: b.query(A, returns=b.each(b.first("A.x", "low"), b.last("A.x"), b.count("A"))),
        "RETURN EACH FIRST(A.x) AS low, LAST(A.x), COUNT(A) PATTERN A",
    ),
    (
        lambda: b.query(A, returns=[b.total("A.x"), b.minimum("A.x"), b.maximum("A.x"), b.avg("A.x", alias="mean")]),
        "RETURN SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) AS mean PATTERN A",
    ),
    (
        lambda: b.query(
            b.plus(A),
            returns=[b.total(x * b.attr("A.y"), "s"), b.avg(b.case((x > 1, 1), otherwise=0)), b.count_distinct(x % 7)],
        ),
        "RETURN SUM(A.x * A.y) AS s, AVG(CASE WHEN A.x > 1 THEN 1 ELSE 0 END), COUNT(DISTINCT A.x % 7) PATTERN A+",
    ),
    (
        lambda: b.query(
            b.plus(S),
            returns=[
                "sector",
                b.named(b.value_of(b.total("S.price")) / b.value_of(b.count()), "mean"),
                b.stddev("S.price"),
                b.variance("S.price", "v"),
                b.count_distinct("S.price", "prices"),
                b.named(b.call("round", b.value_of(b.avg("S.price")), 1)),
            ],
            group_by=["sector"],
            within="10 minutes",
            slide="10 minutes",
            having=[(b.attr("mean") > 2) & (b.value_of(b.maximum("S.price")) < 9)],
            order_by=[b.descending("mean"), b.attr("sector"), b.descending(b.value_of(b.count()))],
            choice=b.limit(3),
        ),
        "RETURN sector, SUM(S.price) / COUNT(*) AS mean, STDDEV(S.price), VARIANCE(S.price) AS v, "
        "COUNT(DISTINCT S.price) AS prices, ROUND(AVG(S.price), 1) PATTERN Stock S+ GROUP-BY sector "
        "WITHIN 10 minutes SLIDE 10 minutes HAVING mean > 2 AND MAX(S.price) < 9 "
        "ORDER BY mean DESC, sector, COUNT(*) DESC LIMIT 3",
    ),
    (
        lambda: b.query(
            b.seq(S, b.plus(A)),
            returns=b.complete(b.each(b.count("A"))),
            where=[
                b.attr("A.x") > b.prev_of("A.x"),
                b.attr("A.x") > b.last_of("S.x"),
                b.attr("A.x") < b.first_of("S.y"),
                b.attr("A.s").rlike("^a+"),
                b.call("date_trunc", "hour", b.attr("A.t")) == b.call("to_date", b.attr("A.t")),
            ],
            session="15 minutes",
        ),
        "RETURN COMPLETE EACH COUNT(A) PATTERN SEQ(Stock S, A+) WHERE A.x > PREV(A).x AND A.x > LAST(S.x) "
        "AND A.x < FIRST(S.y) AND A.s RLIKE '^a+' AND DATE_TRUNC('HOUR', A.t) = DATE(A.t) WITHIN SESSION 15 minutes",
    ),
    (
        lambda: b.query(
            b.plus(S),
            returns=b.rows("S.price"),
            semantics="skip-till-next-match",
            within="1 hour",
            after_match=b.after_match("past last"),
            per_start="longest",
        ),
        "RETURN ROWS(S.price) PATTERN Stock S+ SEMANTICS skip-till-next-match WITHIN 1 hour "
        "AFTER MATCH SKIP PAST LAST EVENT LONGEST PER START",
    ),
    (
        lambda: b.query(
            b.seq(S, b.plus(A)),
            returns=b.complete([b.count(), b.avg("A.x")]),
            semantics="contiguous",
            after_match=b.after_match("first", "A"),
        ),
        "RETURN COMPLETE COUNT(*), AVG(A.x) PATTERN SEQ(Stock S, A+) SEMANTICS contiguous AFTER MATCH SKIP TO FIRST A",
    ),
    (
        lambda: b.query(
            A,
            semantics="contiguous",
            where=[
                ((x >= 1) & (x <= -2.5)) | ~(x != 3),
                x.is_in(1, 2) & x.between(0, 9),
                x.is_null(),
                b.attr("A", "odd.name").is_not_null(),
                b.attr("A.s").like("a%"),
                1 + x * 2 - x / 3 > 4 - -x % 5,
                b.call("coalesce", x, 0) == b.cast(b.attr("A.s"), "double"),
                b.case((x > 3, 1), (x > 2, b.attr("A.y")), otherwise=0) == b.case((x == 1, "a")),
                b.attr("A.t") < datetime(2024, 1, 1, 12, tzinfo=UTC),
                b.attr("A.d") == date(2024, 1, 1),
                b.attr("A.g") < timedelta(minutes=5),
                b.attr("A.flag") == True,  # noqa: E712
            ],
        ),
        "PATTERN A SEMANTICS contiguous WHERE (A.x >= 1 AND A.x <= -2.5 OR NOT A.x != 3) AND A.x IN (1, 2) AND "
        "A.x BETWEEN 0 AND 9 AND A.x IS NULL AND A.`odd.name` IS NOT NULL AND A.s LIKE 'a%' AND "
        "1 + A.x * 2 - A.x / 3 > 4 - -A.x % 5 AND COALESCE(A.x, 0) = CAST(A.s AS DOUBLE) AND "
        "CASE WHEN A.x > 3 THEN 1 WHEN A.x > 2 THEN A.y ELSE 0 END = CASE WHEN A.x = 1 THEN 'a' END AND "
        "A.t < TIMESTAMP '2024-01-01 12:00:00' AND A.d = DATE '2024-01-01' AND A.g < 5 minutes AND A.flag = TRUE",
    ),
    (
        lambda: b.query(
            b.seq(A, b.plus(b.any_event("X")), b.negate(b.any_event()), b.event("ANY", "a")), returns=[b.count()]
        ),
        "RETURN COUNT(*) PATTERN SEQ(A, ANY X+, NOT ANY, `ANY` a)",
    ),
    (
        lambda: b.query(
            b.plus(A),
            returns=b.each(
                b.nth("A.x", 2),
                b.nth("A.x", -1, "last"),
                b.collect_list("A.x"),
                b.collect_set("A.s", "kinds"),
                b.median("A.x"),
                b.percentile("A.x", 0.95, "p95"),
                b.collect_list(x * 2, "twice"),
            ),
            where=[b.value_of(b.nth("A.x", 1)) < b.value_of(b.median("A.x"))],
        ),
        "RETURN EACH A[2].x, A[-1].x AS last, COLLECT_LIST(A.x), COLLECT_SET(A.s) AS kinds, MEDIAN(A.x), "
        "PERCENTILE(A.x, 0.95) AS p95, COLLECT_LIST(A.x * 2) AS twice PATTERN A+ WHERE A[1].x < MEDIAN(A.x)",
    ),
]


@pytest.mark.parametrize(("built", "text"), SAME, ids=[text[:40] for _, text in SAME])
def test_built_and_written_queries_are_equal(built: Callable[[], Query], text: str) -> None:
    query = built()
    assert query == trendweave.query(text)
    assert query.plan == trendweave.query(text).plan
    assert str(query).replace("\n", " ") == text


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: b.query(b.star(A)), "TW206"),
        (lambda: b.query(A, where=[b.attr("Z.x") > 1]), "TW201"),
        (lambda: b.query(A, returns=[b.first("A.x")]), "TW110"),
        (lambda: b.nth("A.x", 0), "TW113"),
        (lambda: b.nth("A", 1), "TW113"),
        (lambda: b.percentile("A.x", 1.5), "TW260"),
        (lambda: b.query(A, semantics="any"), "TW111"),
        (lambda: b.query(A, within="10 parsecs"), "TW106"),
        (lambda: b.query(A, within="ten minutes"), "TW107"),
        (lambda: b.query(A, within=timedelta(0)), "TW107"),
        (lambda: b.times(A, 5, 2), "TW112"),
        (lambda: b.call("median", 1), "TW108"),
        (lambda: b.call("abs", 1, 2), "TW109"),
        (lambda: b.call("date_trunc", "fortnight", x), "TW260"),
        (lambda: b.call("round", x, 99), "TW260"),
        (lambda: x.rlike("(?i)a"), "TW261"),
        (lambda: b.cast(1, "blob"), "TW114"),
        (lambda: b.total(x * b.attr("B.x")), "TW213"),
        (lambda: b.avg(b.lit(1)), "TW213"),
        (lambda: b.query(A, where=[x > 2**64]), "TW113"),
        (lambda: b.query(A, where=[x > float("nan")]), "TW113"),
    ],
)
def test_built_queries_are_checked_alike(make: Callable[[], object], code: str) -> None:
    with pytest.raises((LanguageError, PlanningError)) as caught:
        make()
    assert caught.value.problems[0].code == code


def test_python_cannot_decide_a_condition() -> None:
    with pytest.raises(TypeError, match="join conditions with & and"):
        bool(x > 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: b.event(5), "event: type is a string, not int"),
        (lambda: b.event(""), "event: type is empty"),
        (lambda: b.event("A", 5), "event: variable is a string, not int"),
        (lambda: b.plus("A"), "plus: pattern is a pattern, not str"),
        (lambda: b.seq(A, "B"), "an argument of seq is a pattern, not str"),
        (lambda: b.seq(), "seq has no patterns"),
        (lambda: b.times(A, "2"), "times: low is a whole number, not str"),
        (lambda: b.times(A, 1.5), "times: low is a whole number, not float"),
        (lambda: b.query("A+"), "query: pattern is a pattern, not str"),
        (lambda: b.query(A, where=x > 1), "where is a list, not Scalar"),
        (lambda: b.query(A, where=["A.x > 1"]), "where holds something of type str"),
        (lambda: b.query(A, group_by="A.x"), "group_by is a list, not str"),
        (lambda: b.query(A, group_by=[3]), "group_by holds something of type int"),
        (lambda: b.query(A, returns="COUNT"), "returns is a list, not str"),
        (lambda: b.query(A, returns=[3]), "returns holds something of type int"),
        (lambda: b.query(A, within=5), "query: within is a duration, not int"),
        (lambda: b.query(A, choice=3), "query: choice is a choice, not int"),
        (lambda: b.limit("3"), "limit: count is a whole number, not str"),
        (lambda: b.sample(3, 1.5), "sample: seed is a whole number, not float"),
        (lambda: b.total(None), "SUM: name is a string, not NoneType"),
        (lambda: b.count(alias=3), "COUNT: alias is a string, not int"),
        (lambda: b.trends(3), "trends holds something of type int"),
        (lambda: b.attr(3), "attr: name is a string, not int"),
        (lambda: b.next_of("S"), "next_of: S has no column"),
        (lambda: b.lit([1]), "a query has no literal for list"),
        (lambda: x > object(), "a query has no literal for object"),
        (lambda: x.like(3), "like: pattern is a string, not int"),
        (lambda: x.is_in(), "is_in has no values"),
        (lambda: b.all_of(), "all_of has no conditions"),
        (lambda: b.any_of(x > 1, True), "any_of holds something of type bool"),
        (lambda: b.same(), "same has no attributes"),
        (lambda: b.call(3), "call: function is a string, not int"),
        (lambda: b.cast(x, None), "cast: type is a string, not NoneType"),
        (lambda: b.case(), "case has no branches"),
        (lambda: b.param("1st"), "param: '1st' is not a name"),
        (lambda: b.case((1, 2)), "case: branch is a condition and a value, not tuple"),
        (lambda: intervals.define(3), "define: name is a string, not int"),
        (lambda: intervals.define("A", "x > 1"), "define: condition is a condition, not str"),
        (lambda: intervals.define("A", x > 1, at_least=5), "define: at_least is a duration, not int"),
        (lambda: intervals.relate("A", 3, "B"), "relate: relations is a list, not int"),
        (lambda: intervals.relate("A", "meets", 3), "relate: right is a string, not int"),
        (lambda: intervals.query("A"), "query holds something of type str"),
        (lambda: intervals.query(source=3), "query: source is a string, not int"),
        (lambda: intervals.query(pattern="A before B"), "pattern is a list, not str"),
        (lambda: intervals.query(detect_at_end="yes"), "query: detect_at_end is True or False, not str"),
    ],
)
def test_arguments_of_a_wrong_type_are_our_errors(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        make()
    assert isinstance(caught.value, TypeError)
    assert caught.value.problems[0].hint


def test_a_relation_stands_between_its_situations() -> None:
    expected = Constraint("A", ("meets",), "B")
    assert intervals.relate("A", "meets", "B") == expected
    assert intervals.relate("A", ["meets"], "B") == expected
    several = intervals.relate("A", ["overlaps", "met by"], "B")
    assert several.relations == ("overlaps", "met-by")
    assert several == intervals.relate("A", "met_by", "overlaps", "B")


@pytest.mark.parametrize("room", [b, intervals])
def test_every_builder_says_what_its_arguments_are(room: ModuleType) -> None:
    for name in room.__all__:
        builder = getattr(room, name)
        text = inspect.getdoc(builder) or ""
        assert text, name
        if inspect.isfunction(builder):
            named = [argument.lstrip("*") for argument in inspect.signature(builder).parameters]
            assert all(f"    {argument}:" in text or f"    *{argument}:" in text for argument in named), name
