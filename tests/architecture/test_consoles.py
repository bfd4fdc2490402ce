"""Consoles are made in one place, so that none changes what it prints."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "trendweave"
#: Calls that read codes of emoji unless they are told not to, and the argument that tells them.
_READ_CODES = {"Console": None, "from_markup": "emoji", "TextColumn": "markup"}


def test_no_other_console_is_made() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in PACKAGE.rglob("*.py")
        if "__pycache__" not in file.parts and file != PACKAGE / "consoles.py"
        for name in calls_that_read_codes(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_planted_consoles_are_found() -> None:
    planted = "rich.console.Console()\nText.from_markup(a)\nTextColumn(b)\nTextColumn(b, markup=False)\n"
    assert calls_that_read_codes(planted) == ["Console", "from_markup", "TextColumn"]


def calls_that_read_codes(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in _READ_CODES and _READ_CODES[name] not in [given.arg for given in node.keywords if given.arg]:
            found.append(name)
    return found
