"""docs/language.md lists all that is refused: each line is refused so, and each place that refuses has a line."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import trendweave
from trendweave.errors import CODES, TrendweaveError

ROOT = Path(__file__).parent.parent.parent
#: Lines of the list: code, an example, why, and what to do instead.
LINE = re.compile(r"^\| (TW\d{3}) \| `(.+?)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
LISTED = LINE.findall((ROOT / "docs" / "language.md").read_text(encoding="utf-8"))


def _refusals() -> Counter[str]:
    """How many places of the planner refuse trend queries with each code; interval queries and
    operators have pages of their own."""
    found: Counter[str] = Counter()
    for path in sorted((ROOT / "src" / "trendweave" / "planning").rglob("*.py")):
        if any(kind in path.name for kind in ("interval", "situated", "operator")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"TW2\d\d", node.value):
                found[node.value] += 1
    return found


def test_there_are_refusals_to_be_found() -> None:
    assert len(_refusals()) > 20
    assert len(LISTED) > 20


def test_each_place_that_refuses_has_a_line() -> None:
    listed = Counter(code for code, *_ in LISTED)
    missing = {code: number - listed[code] for code, number in _refusals().items() if listed[code] < number}
    assert missing == {}
    assert set(listed) <= set(CODES)


def test_no_example_is_listed_twice() -> None:
    examples = [example for _, example, *_ in LISTED]
    assert len(set(examples)) == len(examples)


@pytest.mark.parametrize(("code", "example", "why", "instead"), LISTED)
def test_examples_are_refused_as_the_list_says(code: str, example: str, why: str, instead: str) -> None:
    with pytest.raises(TrendweaveError) as refused:
        trendweave.query(example)
    assert code in [problem.code for problem in refused.value.problems]
    assert all(problem.hint for problem in refused.value.problems)
    assert why
    assert instead
