"""Fixtures are data: a query a line, what is expected of it indented below; `#` begins a comment."""

from __future__ import annotations

from pathlib import Path


def read_fixture(path: Path) -> list[tuple[str, list[str]]]:
    cases: list[tuple[str, list[str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("  "):
            cases[-1][1].append(line[2:])
        else:
            cases.append((line, []))
    return cases
