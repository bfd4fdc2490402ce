"""Requests that are not of the right form are refused before any work."""

from __future__ import annotations

from typing import Any

import pytest

from trendweave.serve.asking import Alert, Refused, Source, Stream, Written, read_asked


def test_a_request_is_read() -> None:
    found = read_asked(
        {
            "rules": [{"name": " a ", "text": "RETURN"}, {"text": "PATTERN"}],
            "source": {"kind": "store", "name": "s", "start": "2024-01-01", "end": "2024-02-01", "untyped": True},
            "stream": {
                "rate": 5,
                "delay": 2.5,
                "watermark": "1 s",
                "alert": {"column": "n", "comparison": ">", "value": 3},
            },
        },
        most_rules=2,
    )
    assert found.rules == (Written("a", "RETURN"), Written("q2", "PATTERN"))
    assert found.source == Source("store", "s", start="2024-01-01", end="2024-02-01", untyped=True)
    assert found.stream == Stream(5, "1 s", 2.5, Alert("n", ">", 3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "the request is no object"),
        ({"rules": {}}, "rules are a list"),
        ({"rules": [{}, {}, {}]}, "rules are a list of at most 2"),
        ({"rules": ["RETURN"]}, "a rule is no object"),
        ({"rules": [{"text": 3}]}, "text is no text"),
        ({"rules": [{"text": "RETURN \ud800"}]}, "text is no text"),
        ({"source": {"kind": "store", "name": "s", "start": "2024-01-01"}}, "has a start and an end"),
        ({"source": "stock"}, "the source is no object"),
        ({"source": {"kind": "web", "name": "x"}}, "a source is one of"),
        ({"source": {"kind": "sample", "name": "stock", "events": 10**9}}, "from 1 to 1,000,000 events"),
        ({"source": {"kind": "sample", "name": "stock", "events": True}}, "events is no number"),
        ({"source": {"kind": "sample", "name": ["stock"]}}, "name is no text"),
        ({"source": {"kind": "file", "name": "a.csv", "times": "years"}}, "times are one of s, ms, us, ns, iso"),
        ({"stream": {"rate": -1}}, "a stream has from 0"),
        ({"stream": {"rate": float("nan")}}, "rate is no number"),
        ({"stream": {"delay": float("inf")}}, "a stream has from 0"),
        ({"stream": {"alert": {"column": "n", "comparison": "like"}}}, "an alert compares by one of"),
    ],
)
def test_others_are_refused(given: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        read_asked(given, most_rules=2)
