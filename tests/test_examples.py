"""Every query of the papers can be read, planned, explained and drawn, and has a line in the table of examples."""

from __future__ import annotations

from pathlib import Path

import pytest

import trendweave

FOLDER = Path(__file__).parent.parent / "examples" / "queries"
FILES = sorted(FOLDER.glob("*.tw"))


def test_all_five_papers_are_there() -> None:
    assert {path.stem.split("_")[0] for path in FILES} == {"greta", "aseq", "hamlet", "cet", "thesis"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example_queries(path: Path) -> None:
    query = trendweave.query(path.read_text(encoding="utf-8"))
    assert str(query) in query.explain().replace("\n  ", "\n")
    assert trendweave.query(str(query)) == query
    for state in query.plan.template.states:
        assert state.type in query.explain("mermaid")
        assert state.type in query.explain("dot")
    assert f"]({path.name})" in (FOLDER / "README.md").read_text(encoding="utf-8")
