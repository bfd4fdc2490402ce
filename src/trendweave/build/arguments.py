"""What builders are given, checked: a wrong Python type is one of our errors, with the call that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from trendweave.errors import ArgumentError, Problem
from trendweave.language import syntax_tree as st
from trendweave.language.durations import make_duration

_Kind = TypeVar("_Kind")


def refuse(what: str, value: object, wanted: str, hint: str) -> ArgumentError:
    """The error for an argument of a wrong type; `what` is the call and the argument, as in "limit: count"."""
    return ArgumentError([Problem("TW116", f"{what} is {wanted}, not {type(value).__name__}", hint)])


def check_text(value: Any, what: str, hint: str = "give its name as a string") -> str:
    """The value, where it is a string that is not empty."""
    if not isinstance(value, str):
        raise refuse(what, value, "a string", hint)
    if not value:
        raise ArgumentError([Problem("TW116", f"{what} is empty", hint)])
    return value


def check_optional_text(value: Any, what: str) -> str | None:
    """The value, where it is a string or None."""
    return None if value is None else check_text(value, what)


def check_number(value: Any, what: str) -> int:
    """The value as a whole number; numpy's are taken as well."""
    item = getattr(value, "item", None)
    number = value if item is None else item()
    if isinstance(number, bool) or not isinstance(number, int):
        raise refuse(what, value, "a whole number", "give an int")
    return number


def check_flag(value: Any, what: str) -> bool:
    """The value, where it is True or False."""
    if not isinstance(value, bool):
        raise refuse(what, value, "True or False", "give a bool")
    return value


def check_all(values: Any, kind: type[_Kind] | tuple[type[_Kind], ...], what: str, hint: str) -> tuple[_Kind, ...]:
    """The values, where all are of one of the kinds. One alone, where several are wanted, is refused."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise refuse(what, values, "a list", hint)
    items = tuple(values)
    for item in items:
        if not isinstance(item, kind):
            raise ArgumentError([Problem("TW116", f"{what} holds something of type {type(item).__name__}", hint)])
    return items


def read_attribute(parts: tuple[Any, ...], what: str) -> st.Attribute:
    """`S.price` split at its dots; a name that has a dot of its own is given in parts."""
    names = tuple(check_text(part, what, 'write for example "S.price"') for part in parts)
    return st.Attribute(names if len(names) > 1 else tuple(names[0].split(".")))


def read_attributes(values: Any, what: str) -> tuple[st.Attribute, ...]:
    """A list of dotted names."""
    names: tuple[str, ...] = check_all(values, str, what, f'give a list of names, as in {what}=["company"]')
    return tuple(read_attribute((name,), what) for name in names)


def read_length(length: Any, what: str, problems: list[Problem], may_be_zero: bool = False) -> st.Duration | None:
    """A length of time: `"10 minutes"` or a timedelta. One that has no meaning adds a problem."""
    if length is None:
        return None
    tree = getattr(length, "tree", None)
    if isinstance(tree, st.Parameter):
        return st.LengthParameter(None, tree.name)
    if isinstance(length, timedelta):
        return make_duration(str(length // timedelta(microseconds=1)), "microsecond", None, problems, may_be_zero)
    if not isinstance(length, str):
        raise refuse(what, length, "a duration", "give a string such as '10 minutes', or a timedelta")
    parts = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*(.*?)\s*", length, re.DOTALL)
    if parts is None:
        problems.append(Problem("TW107", f"{length!r} is not a duration", "write for example '10 minutes'"))
        return None
    return make_duration(parts[1], parts[2] or None, None, problems, may_be_zero)
