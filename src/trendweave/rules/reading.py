"""Whatever a workload may be made of -> rules. All that is wrong with all of them is told together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from trendweave.errors import LanguageError, Problem, TrendweaveError, near_names, raise_together
from trendweave.queries import Query
from trendweave.queries import query as parse_query
from trendweave.rules.files import read_path
from trendweave.rules.rule import Rule, find_wrong_names, unreadable

_WAYS = (
    "give a mapping from names to queries, queries, (name, query) pairs, or the path of a folder, a .tw, a .json or a "
    ".yaml file"
)
_FIELDS = ("query", "version", "description")


#: A rule as it was given: its name (None where its place among the others names it), and what `make_rule` takes.
Written: TypeAlias = tuple[Any, dict[str, Any]]


def read_rules(source: Any, check: Callable[[tuple[Rule, ...]], object] | None = None) -> tuple[Rule, ...]:
    """Read, check and plan all rules.

    Args:
        source: As for `trendweave.workload`.
        check: Called where some rules cannot be read, with the others: what it raises is told as well.

    Returns:
        The rules in order.

    Raises:
        TrendweaveError: All problems of all rules together, each with the name of its query.
    """
    if isinstance(source, str | os.PathLike):
        source = read_path(Path(_check_path(os.fspath(source))))
    errors: list[TrendweaveError] = []
    written = [
        (f"q{number}" if name is None else name, given)
        for number, (name, given) in enumerate(_write_down(source, errors), 1)
    ]
    wrong = find_wrong_names(name for name, _ in written)
    errors += wrong
    rules = []
    for name, given in written:
        try:
            rules.append(make_rule(name, **given))
        except TrendweaveError as error:
            errors.append(error.about(str(name)))
    if errors and rules and not wrong and check is not None:
        try:
            check(tuple(rules))
        except TrendweaveError as error:
            errors.append(error)
    raise_together(errors)
    return tuple(rules)


def make_rule(name: str, query: Any, version: Any = None, description: Any = None) -> Rule:
    """A rule of a query, or of the text of one.

    Args:
        name: Its name.
        query: A `Query`, or its text.
        version: A text or a whole number, or None.
        description: A text, or None.

    Raises:
        TrendweaveError: The text is no query, or one of the others has a wrong type.
    """
    if not isinstance(query, Query | str):
        raise unreadable(f"a query is a text or a trendweave.Query, not {type(query).__name__}", _WAYS)
    made = query if isinstance(query, Query) else parse_query(query)
    return Rule(name, made, _read_version(version), _read_description(description))


def _check_path(path: str | bytes) -> str:
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if "\n" in path or "RETURN" in path.upper().split() or "PATTERN" in path.upper().split():
        raise unreadable("a text alone is the path of a folder or a file, and this is a query", _WAYS)
    return path


def _write_down(source: Any, errors: list[TrendweaveError]) -> Iterator[Written]:
    """Every rule of the source, with whatever stands where its query should."""
    if isinstance(source, Query):
        yield None, {"query": source}
    elif isinstance(source, Mapping):
        for name, given in source.items():
            yield from _write_one(name, given, errors)
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        for given in source:
            if isinstance(given, tuple | list) and len(given) == 2:
                yield from _write_one(given[0], given[1], errors)
            elif isinstance(given, Mapping) and "name" in given:
                rest = {key: value for key, value in given.items() if key != "name"}
                yield from _write_one(given["name"], rest, errors)
            else:
                yield from _write_one(None, given, errors)
    else:
        raise unreadable(f"a workload cannot be made of {type(source).__name__}", _WAYS)


def _write_one(name: Any, given: Any, errors: list[TrendweaveError]) -> Iterator[Written]:
    if isinstance(given, Rule):
        yield given.name if name is None else name, {field: getattr(given, field) for field in _FIELDS}
    elif isinstance(given, Mapping):
        unknown = [key for key in given if key not in _FIELDS]
        fields = _FIELDS if name is not None else ("name", *_FIELDS)
        for key in unknown:
            hint = near_names(str(key), fields) or f"a rule has {', '.join(fields)}"
            errors.append(LanguageError([Problem("TW171", f"a rule has no {key}", hint)]).about(str(name)))
        if "query" in given:
            yield name, {field: given[field] for field in _FIELDS if field in given}
        elif not unknown:
            errors.append(unreadable("a rule has no query", "give its text as query").about(str(name)))
    else:
        yield name, {"query": given}


def _read_version(version: Any) -> str | None:
    if version is None or isinstance(version, str):
        return version
    if isinstance(version, int) and not isinstance(version, bool):
        return str(version)
    message = f"a version is a text or a whole number, not {version!r}"
    raise unreadable(message, "put it in quotes, as 1.10 and 1.1 are one number")


def _read_description(description: Any) -> str | None:
    if description is None or isinstance(description, str):
        return description
    raise unreadable(f"a description is a text, not {description!r}", "put it in quotes")
