"""What is no query at all: something that is no text, or the path of a file where the text of a query belongs."""

from __future__ import annotations

import os
import re

from trendweave.errors import ArgumentError, LanguageError, Problem

#: Without spaces, which every query has.
_PATH = re.compile(r"[^\s()]+\.(?:tw|txt|sql|json|ya?ml)|[^\s()]*[/\\][^\s()]*", re.IGNORECASE)


def check_is_text(given: object) -> None:
    """Refuse what is no text.

    Args:
        given: What stands for the text of a query.

    Raises:
        ArgumentError: It is no text.
    """
    if isinstance(given, str):
        return
    hint = "give its text, such as 'RETURN COUNT(*) PATTERN A+'"
    if isinstance(given, os.PathLike):
        hint = "read the file: trendweave.query(path.read_text()), or trendweave.workload(path)"
    raise ArgumentError([Problem("TW116", f"a query is a text, not {type(given).__name__}", hint)])


def find_path(text: str) -> LanguageError | None:
    """The error of a text that cannot be read as a query, where it looks like the path of a file; else None.

    Args:
        text: The text.
    """
    path = text.strip()
    if _PATH.fullmatch(path) is None:
        return None
    hint = f"read the file: trendweave.query(Path({path!r}).read_text()), or trendweave.workload({path!r})"
    return LanguageError([Problem("TW101", f"{path} looks like the path of a file, not like a query", hint)])
