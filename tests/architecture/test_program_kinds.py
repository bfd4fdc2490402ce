"""Hosts know programs, never kinds of queries: what they ask is a method of `Program` or `Steps`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "trendweave"
#: Files outside `programs/` that may ask for kinds.
ALLOWED: tuple[str, ...] = ()


def find_kinds(sources: list[str]) -> set[str]:
    """The classes that are programs or steps, by name."""
    bases = {
        node.name: {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    }
    kinds = {"Program", "Steps"}
    while more := {name for name, own in bases.items() if own & kinds} - kinds:
        kinds |= more
    return kinds


def find_questions(source: str, kinds: set[str]) -> Iterator[str]:
    """Where a source asks of what kind something is, by `isinstance`, `issubclass`, `type` or `match`."""
    for node in ast.walk(ast.parse(source)):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass"):
                asked = list(node.args[1:])
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            asked = list(node.comparators)
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        names = {one.id for part in asked for one in ast.walk(part) if isinstance(one, ast.Name)}
        names |= {one.attr for part in asked for one in ast.walk(part) if isinstance(one, ast.Attribute)}
        if found := names & kinds:
            yield f"line {getattr(node, 'lineno', 0)}: {', '.join(sorted(found))}"


KINDS = find_kinds([path.read_text(encoding="utf-8") for path in (PACKAGE / "programs").rglob("*.py")])


def test_nobody_but_programs_asks_for_kinds_of_programs() -> None:
    assert {"TrendAggregates", "IntervalMatches", "Shared", "WindowedSteps"} <= KINDS
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("programs/") and name not in ALLOWED:
            found += [f"{name}, {line}" for line in find_questions(path.read_text(encoding="utf-8"), KINDS)]
    assert not found


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ("isinstance(program, Shared)", True),
        ("isinstance(program, a.b.TrendLists | None)", True),
        ("type(program) is WindowJoin", True),
        ("match program:\n    case KeptEvents(plan=plan):\n        pass", True),
        ("isinstance(plan, IntervalPlan)", False),
        ("program.split()", False),
    ],
)
def test_questions_are_found(source: str, asks: bool) -> None:
    assert bool(list(find_questions(source, KINDS))) is asks
