"""Errors as a page shows them: each with its place, and with the carets that a terminal would show."""

from __future__ import annotations

from trendweave.errors import Problem, TrendweaveError
from trendweave.serve.worker.job import Message
from trendweave.serve.worker.own_words import in_own_words

_MOST = 50


def tell_problems(error: TrendweaveError) -> Message:
    """All problems, or the first ones of very many."""
    return {
        "event": "problems",
        "stage": error.stage,
        "count": len(error.problems),
        "problems": [_tell(in_own_words(problem), error.source) for problem in error.problems[:_MOST]],
    }


def _tell(problem: Problem, source: str | None) -> Message:
    return {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "line": problem.line,
        "column": problem.column,
        "length": problem.length,
        "query": problem.query,
        "shown": problem.render(source),
    }
