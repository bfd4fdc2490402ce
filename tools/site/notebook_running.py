"""Notebooks are kept without what they gave; for the site they are run."""

from __future__ import annotations

import tempfile


def run_notebook(text: str) -> str:
    """The same notebook with what its cells give.

    Args:
        text: The file of the notebook.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(text, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return nbformat.writes(notebook)
