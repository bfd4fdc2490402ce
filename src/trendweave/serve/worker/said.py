"""What the package says on standard error while a job runs, told to the page as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

_OWN = "trendweave: "


class Said:
    """A standard error whose lines of the package go to the page, too, up to their first comma: what stands behind it,
    such as where something is kept, is for the one at the terminal."""

    def __init__(self, stream: TextIO, tell: Callable[[str], None]) -> None:
        self._stream, self._tell = stream, tell

    def write(self, text: str) -> int:
        """Pass on what is written."""
        if text.startswith(_OWN):
            self._tell(text.removeprefix(_OWN).partition(",")[0].strip())
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
