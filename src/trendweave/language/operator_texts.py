"""The texts that operators take -> syntax trees: a condition, or a list of aggregates."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, UnexpectedInput, v_args
from lark.exceptions import VisitError
from lark.tree import Meta

from trendweave.errors import LanguageError, Problem, TrendweaveError, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.functions import AGGREGATES
from trendweave.language.parameters import find_missing
from trendweave.language.parser import check_text
from trendweave.language.syntax_errors import describe_syntax_error
from trendweave.language.tree_builder import TreeBuilder


@v_args(meta=True)
class _Builder(TreeBuilder):
    _has_variables = False

    def operator_condition(self, meta: Meta, children: list[Any]) -> st.Expression:
        return cast("st.Expression", children[0])

    def operator_outputs(self, meta: Meta, children: list[Any]) -> tuple[st.Output, ...]:
        for output in children:
            self._expect_aggregates(output.value, AGGREGATES)
        return tuple(children)


def read_condition(text: str) -> st.Expression:
    """A condition such as `price > 10 AND NOT broken`, or `abs(left.x - right.x) <= 0.1`.

    Raises:
        LanguageError: The text cannot be read.
    """
    return cast("st.Expression", _read(text, "operator_condition"))


def read_literal(text: str) -> st.Expression | None:
    """A literal such as `3`, `'text'` or `10 minutes`; None where a text is something else."""
    try:
        found = read_condition(text)
    except TrendweaveError:
        return None
    return found if isinstance(found, st.Literal | st.TimestampLiteral | st.DateLiteral | st.Duration) else None


def read_outputs(text: str) -> tuple[st.Output, ...]:
    """Outputs such as `AVG(price) AS mean, COUNT(*)`.

    Raises:
        LanguageError: The text cannot be read.
    """
    return cast("tuple[st.Output, ...]", _read(text, "operator_outputs"))


def _read(text: str, start: str) -> Any:
    check_text(text)
    builder = _Builder()
    try:
        found = builder.transform(_grammar().parse(text, start=start))
    except UnexpectedInput as error:
        raise LanguageError([describe_syntax_error(error, text, "trends")], text) from None
    except VisitError as error:
        if isinstance(error.orig_exc, LanguageError):
            raise LanguageError(error.orig_exc.problems, text) from None
        raise error.orig_exc from None  # of a signal's handler, too
    raise_problems([_of_columns(problem) for problem in builder.problems], text)
    for node in found if isinstance(found, tuple) else (found,):
        hint = "operators take values: write the value itself"
        raise_problems([replace(problem, hint=hint) for problem in find_missing(node)], text)
    return found


def _of_columns(problem: Problem) -> Problem:
    """Aggregates of trends are of variables; here they are of columns."""
    if problem.code != "TW213":
        return problem
    message = problem.message.replace("one attribute of a variable", "one column")
    hint = re.sub(r"\bS\.", "", problem.hint).replace("COUNT(S)", "COUNT(price)")
    return replace(problem, message=message, hint=hint)


@cache
def _grammar() -> Lark:
    room = files("trendweave.language")
    rules = "\n".join(room.joinpath(f"{name}.lark").read_text(encoding="utf-8") for name in ("grammar", "operators"))
    return Lark(rules, parser="lalr", start=["operator_condition", "operator_outputs"], propagate_positions=True)
