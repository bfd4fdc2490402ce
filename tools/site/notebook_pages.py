"""Notebooks as pages: their words, their code, and what it gave when it was run last."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

#: What a page can show of an output, the best of them first.
_SHOWN = ("image/svg+xml", "text/html", "image/png", "text/plain")


def write_notebook(text: str) -> str:
    """A notebook as a page.

    Args:
        text: The file of the notebook.
    """
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = _join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(f"```python\n{source}\n```")
            parts += (shown for output in cell["outputs"] for shown in _write_output(output))
    return "\n\n".join(parts) + "\n"


def _write_output(output: Mapping[str, Any]) -> Iterator[str]:
    if output["output_type"] == "stream" and output["name"] == "stdout":
        yield f"```text\n{_join(output['text']).rstrip()}\n```"
    elif output["output_type"] in ("execute_result", "display_data"):
        kind = next((kind for kind in _SHOWN if kind in output["data"]), None)
        if kind is not None:
            yield _write_data(kind, _join(output["data"][kind]))


def _write_data(kind: str, data: str) -> str:
    match kind:
        case "text/plain":
            return f"```text\n{data}\n```"
        case "image/png":
            return f'<img alt="what the cell above shows" src="data:image/png;base64,{data.strip()}">'
        case _:
            # A blank line would end the drawing for a reader of Markdown.
            dense = re.sub(r"\n\s*\n", "\n", data).strip()
            return f'<div class="notebook-output">{dense}</div>'


def _join(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
