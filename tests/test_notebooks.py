"""The notebooks of the documentation run, show pictures where they say so, and are kept without what they gave."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbclient")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient")
pytest.importorskip("ipykernel", reason="notebooks need ipykernel")

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_kept_without_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem == "first_look" else pytest.mark.nightly) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_they_run_and_show_pictures(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=180, kernel_name="python3", resources=resources).execute()
    check_pictures(notebook)


@pytest.mark.nightly
def test_pages_of_the_site_show_what_they_give() -> None:
    from tools.site.notebook_pages import write_notebook
    from tools.site.notebook_running import run_notebook

    page = write_notebook(run_notebook(NOTEBOOKS[0].read_text(encoding="utf-8")))
    assert page.count("<svg") == len([cell for cell in read(NOTEBOOKS[0]).cells if cell.metadata.get("tags")])


def check_pictures(notebook: Any) -> None:
    drawn = [cell for cell in notebook.cells if "picture" in cell.metadata.get("tags", ())]
    assert drawn
    for cell in drawn:
        pages = [output.data.get("text/html", "") for output in cell.outputs if "data" in output]
        assert any("<svg" in page for page in pages), cell.source
        assert not any(re.search(r"<script|https?://", page) for page in pages)
