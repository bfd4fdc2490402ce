"""What `explain` says about queries that are computed together, and why others are not."""

from __future__ import annotations

import json

import pytest

import trendweave

WINDOW = "WITHIN 10 seconds SLIDE 5 seconds"
RULES = trendweave.workload(
    {
        "after_a": "RETURN COUNT(*) PATTERN SEQ(A, B+)",
        "after_c": "RETURN COUNT(*) PATTERN SEQ(C, B+)",
        "again": "RETURN COUNT(*) PATTERN SEQ(C, B+)",
        "calm": f"RETURN k, COUNT(*) PATTERN SEQ(A, NOT E, B+, D) WHERE [k] GROUP-BY k {WINDOW}",
        "dear": f'RETURN k, COUNT(*) PATTERN SEQ(A, NOT E, B+, C) WHERE [k] AND B.note = "x" GROUP-BY k {WINDOW}',
        "falling": f"RETURN COUNT(*) PATTERN A+ WHERE A.x > NEXT(A).x {WINDOW}",
        "fell": f"RETURN COUNT(*) PATTERN SEQ(C, A+) WHERE A.x > NEXT(A).x {WINDOW}",
        "rising": f"RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x {WINDOW}",
        "listed": "RETURN TRENDS PATTERN SEQ(A, B)",
        "situations": "DEFINE X AS x > 2 RETURN SITUATIONS",
        **{
            f"above {limit}": f"RETURN EACH MAX(A.x) AS top PATTERN A WHERE A.x > {limit} {WINDOW}"
            for limit in range(9)
        },
    }
)


def test_text_tells_what_is_together_and_why_others_are_alone() -> None:
    shown = RULES.explain()
    head, *blocks = shown.split("\n\n")
    lines = head.split("\n")
    assert lines[0] == "workload     19 queries; 1 has the text of another and cost nothing more"
    assert lines[1] == "computed     16 of the queries together with others, in 4 units"
    assert lines[2].startswith("expressions  ")
    assert any(line.startswith("rows meet    by k: calm, dear") for line in lines)
    titles = [block.split("\n")[0] for block in blocks]
    assert titles == [
        "together 1: one merged template, 2 different queries",
        "together 2: one merged template, 2 different queries",
        "together 3: one lane per query, 2 different queries",
        "together 4: alike but for constants, 9 different queries",
        "alone: of the queries that could share its search for neighbours, none with its windows and keys asks "
        "the same of two events",
        "alone: it shows trends one by one",
        "alone: it is no query about trends",
    ]
    assert "after_a, after_c, again\n" in blocks[0]
    assert "part B+ " in blocks[0]
    assert "1 of beginnings that queries share" in blocks[1]
    assert "x > ... of A" in blocks[3]
    assert blocks[4].split("\n")[1].split() == ["queries", "rising"]


def test_json_has_every_unit() -> None:
    content = json.loads(RULES.explain("json"))
    assert [unit["kind"] for unit in content["units"]] == [
        *("graphlets", "graphlets", "lanes", "alone", "alone", "alone", "alike"),
    ]
    assert content["units"][0]["queries"] == ["after_a", "after_c", "again"]
    assert content["units"][0]["details"]["part_B+"] == ["of 2 queries"]


SLIDING = "WITHIN 10 minutes SLIDE 5 minutes"
FALLING = "AND B.x > NEXT(B).x"


def rule(pattern="SEQ(A, B+)", where="", window=SLIDING, wanted="COUNT(*)", keys="k", group="k"):  # type: ignore[no-untyped-def]
    return f"RETURN {wanted} PATTERN {pattern} WHERE [{keys}] {where} GROUP-BY {group} {window}"


@pytest.mark.parametrize(
    ("differs", "without_condition", "with_condition"),
    [
        ({}, "alone", "alone"),
        ({"where": 'AND B.note = "x"'}, "graphlets", "lanes"),
        ({"pattern": "SEQ(C, B+)"}, "graphlets", "lanes"),
        ({"pattern": "SEQ(A, B+, D)"}, "graphlets", "lanes"),
        ({"wanted": "SUM(B.x)"}, "graphlets", "lanes"),
        ({"window": "WITHIN 20 minutes SLIDE 5 minutes"}, "graphlets", None),
        ({"keys": "k, l"}, None, None),
        ({"where": "AND B.x < NEXT(B).x"}, None, None),
        ({"window": f"SEMANTICS skip-till-next-match {SLIDING}"}, None, None),
        ({"window": "WITHIN 5 minutes"}, None, None),
        ({"window": "WITHIN SESSION 5 minutes"}, None, None),
        ({"wanted": "EACH k"}, None, None),
    ],
)
def test_what_two_rules_share_that_differ_in_one_thing(
    differs: dict[str, str], without_condition: str | None, with_condition: str | None
) -> None:
    """The table in docs/workloads.md; None: the pass alone."""
    for condition, expected in (("", without_condition), (FALLING, with_condition)):
        other = {"where": condition} | differs
        if "NEXT" not in other["where"]:
            other["where"] = f"{condition} {other['where']}" if other["where"] != condition else condition
        made = trendweave.workload({"one": rule(where=condition), "other": rule(**other)})
        kinds = [unit["kind"] for unit in json.loads(made.explain("json"))["units"]]
        assert kinds == (["alone", "alone"] if expected is None else [expected])


@pytest.mark.parametrize(("wanted", "condition"), [("COUNT(*)", ""), ("COUNT(*)", FALLING), ("EACH k", "")])
def test_eight_rules_that_differ_in_constants_are_parameterised(wanted: str, condition: str) -> None:
    rules = [rule(where=f'AND B.note = "{number}" {condition}', wanted=wanted) for number in range(8)]
    (unit,) = json.loads(trendweave.workload(rules).explain("json"))["units"]
    assert unit["kind"] == "alike"


@pytest.mark.parametrize("format", ["mermaid", "dot"])
def test_drawings_show_the_merged_template(format: str) -> None:
    drawn = RULES.explain(format)  # type: ignore[arg-type]
    # Two queries begin with one state, whose next step no e may forbid; one of them asks more of b.
    assert drawn.count("A (2 queries)") == 1
    assert drawn.count("NOT E") == 2
    assert drawn.count("part B+") == 2
    assert "B AND note = " in drawn
    assert "after_c, again" in drawn
    if format == "mermaid":
        assert drawn.count("subgraph") == sum(line.strip() == "end" for line in drawn.split("\n"))
    else:
        assert drawn.count("{") == drawn.count("}")
        assert '\\"x\\"' in drawn or "'x'" in drawn


def test_a_template_of_hundreds_of_states_is_told_by_its_queries() -> None:
    types = [f"T{number}" for number in range(40)]
    made = trendweave.workload(
        [f"RETURN COUNT(*) PATTERN SEQ({', '.join([*types, last])}, Z+)" for last in ("X", "Y", "W")]
    )
    many = made.with_query(
        "other", f"RETURN COUNT(*) PATTERN SEQ({', '.join(f'U{number}' for number in range(40))}, Z+)"
    )
    assert "T39" not in many.explain("mermaid")
    assert '"other"' in many.explain("mermaid")
