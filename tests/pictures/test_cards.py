"""What notebooks show of queries, plans, workloads, operators and sessions."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave import operators as ops
from trendweave.operators.drawing import make_chain
from trendweave.pictures.cards import Card
from trendweave.pictures.highlight import KEYWORDS, highlight_query
from trendweave.pictures.picture import scroll
from trendweave.planning.show.template_picture import make_template

LANGUAGE = Path(trendweave.__file__).parent / "language"
SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "x": pa.float64()})
TEXTS = {
    "trends": "RETURN COUNT(*) PATTERN SEQ(A a+, NOT N n, B b) WHERE a.x > 5 WITHIN 5 seconds SLIDE 5 seconds",
    "intervals": "FROM E DEFINE P AS x > 1, Q AS x > 2 PATTERN P contains Q WITHIN 1 hour",
    "trends in situations": "DEFINE P AS x > 1 RETURN COUNT(*) PATTERN A a WHERE a DURING P WITHIN 1 hour SLIDE 1 hour",
}


class Checked(HTMLParser):
    """Every element that begins ends, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("kind", TEXTS)
def test_queries_and_plans(kind: str) -> None:
    query = trendweave.query(TEXTS[kind])
    for shown, name in ((query, "Query"), (query.plan, "Plan")):
        card = Checked(shown._repr_html_())
        assert f"{name} · {kind}" in card.text
        assert str(query) in card.text
        assert query.explain() in card.text
        assert "<svg" in shown._repr_html_()


def test_workloads_operators_and_sessions() -> None:
    rules = trendweave.workload({"one": TEXTS["trends"], "two": TEXTS["intervals"]})
    card = Checked(rules._repr_html_())
    assert "Workload · 2 queries" in card.text
    assert rules.explain() in card.text
    chain = ops.filter("x > 1") | ops.filter("x < 9")
    assert "Chain · 2 operators" in Checked(chain._repr_html_()).text
    assert "Operator" in Checked(ops.filter("x > 1")._repr_html_()).text
    for session in (trendweave.query(TEXTS["trends"]).push(SCHEMA), rules.push(SCHEMA)):
        assert "before the first event" in Checked(session._repr_html_()).text
        assert "<svg" in session._repr_html_()
        session.send({"time": 7, "type": "A", "x": 9.0})
        session.send({"time": 1, "type": "A", "x": 9.0})
        card = Checked(session._repr_html_())
        assert re.search(r"watermark\s*7", card.text)
        assert re.search(r"late events\s*1", card.text)
        assert "watermark 7; late events 1" in repr(session)


@pytest.mark.parametrize("kind", TEXTS)
def test_sessions_draw_the_template_of_their_query(kind: str) -> None:
    query = trendweave.query(TEXTS[kind])
    assert scroll(make_template(query.plan)) in query.push(SCHEMA)._repr_html_()
    chain = ops.filter("x > 1") | query
    assert scroll(make_chain(chain)) in chain.push(SCHEMA)._repr_html_()


def test_showing_a_session_changes_nothing() -> None:
    query = trendweave.query(TEXTS["trends"])
    one, other = query.push(SCHEMA), query.push(SCHEMA)
    for time, kind in ((1, "A"), (2, "A"), (3, "B"), (9, "A")):
        event = {"time": time, "type": kind, "x": 9.0}
        assert one.send(event) == other.send(event)
        one._repr_html_()
    assert one.finish().equals(other.finish())


def test_many_lines_are_cut() -> None:
    text = Checked(Card("a", "\n".join(f"line {number}" for number in range(1000))).html()).text
    assert "line 39" in text
    assert "line 40" not in text
    assert "and 960 more lines" in text


def test_keywords_are_those_of_the_grammars() -> None:
    grammars = "".join(path.read_text(encoding="utf-8") for path in LANGUAGE.glob("*.lark"))
    rules = re.findall(r"^[A-Z_]+\.[23]: /(.*)/i$", grammars, re.MULTILINE)
    words = {word for rule in rules for word in re.findall(r"[A-Z]{2,}", re.sub(r"\(\?[=!].*", "", rule))}
    assert len(words) > 40
    assert words <= KEYWORDS


def test_colours_of_a_query() -> None:
    page = highlight_query("RETURN COUNT(*) -- <b>\nWHERE `WHERE` = 'a < b' AND S.ROWS > 1.5e3")
    assert Checked(page).text == "RETURN COUNT(*) -- <b>\nWHERE `WHERE` = 'a < b' AND S.ROWS > 1.5e3"
    coloured = re.findall(r"<span[^>]*>([^<]*)</span>", page)
    assert coloured == ["RETURN", "COUNT", "-- &lt;b&gt;", "WHERE", "&#x27;a &lt; b&#x27;", "AND", "1.5e3"]
