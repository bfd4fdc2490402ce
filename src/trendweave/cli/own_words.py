"""Errors in the words of the command line: the package speaks of arguments of Python, a command has options."""

from __future__ import annotations

import logging
import re
import shlex
from dataclasses import fields, replace

from rich.console import Console
from rich.logging import RichHandler

from trendweave import Options
from trendweave.cli.options import EventOptions, RuleOptions
from trendweave.consoles import make_console
from trendweave.errors import Problem, TrendweaveError

#: Arguments that are options of a command. All are called the same, with - for _.
_FIELDS = {field.name for options in (EventOptions, RuleOptions) for field in fields(options)}
_OPTIONS = {
    *(_FIELDS & set(Options.__annotations__)),
    *("time", "type", "watermark", "early", "buckets"),
    "within",
    "slide",
}
#: Arguments that only settings of Spark stand for.
_SETTINGS = {
    "chunks": "chunks",
    "rows_at_once": "rowsAtOnce",
    "max_rows_of_a_key": "maxRowsOfAKey",
    "bytes_in_memory": "bytesInMemory",
}
#: What is called in Python, and what a command does instead.
_CALLS = (
    (re.compile(r"read the file: trendweave\.query\(.*"), "leave -q out: trendweave reads the file itself"),
    (re.compile(r"give it one: query\.bind\(\w+=\.\.\.\)"), "give it one: --param NAME=VALUE"),
    (re.compile(r"query\.run\(path\) reads a file"), "--events of trendweave run reads a file"),
    (
        re.compile(r"open it, or use EventStore\.over"),
        "add events with trendweave store append, or use another path",
    ),
    (re.compile(r"give events: explain\(loop=True, events=\.\.\.\)"), "name a file of events with --schema"),
    (re.compile(r"EventStore\.create\(\.\.\.\) and append\(.*\)"), "trendweave store create and append"),
)
#: A column that an option names, and the columns that are called nearly so.
_MISSING, _NEAR = re.compile(r"there is no (?P<role>time|type) column "), re.compile(r"did you mean (?P<names>.+)\?")
_VALUE = r"""(?:"[^"]*"|'[^']*'|\([^)]*\)|\w[\w.]*)"""
_GIVEN = re.compile(rf"(?<![\w.\-=])(?P<name>[a-z_]+)=(?P<values>{_VALUE}(?: or {_VALUE}(?!=))*)?")
#: Names that are no words of English, where they stand alone.
_WORDS = "|".join(name for name in (*_OPTIONS, *_SETTINGS) if "_" in name)
_NAMED = re.compile(rf"(?<![\w.\-])(?P<name>{_WORDS})(?![\w=])")


class _OwnWords(logging.Formatter):
    """Messages in the words of the command line. Records stay as they are, as others may handle them too."""

    def format(self, record: logging.LogRecord) -> str:
        return translate(super().format(record))


def show_warnings() -> Console:
    """Show what the package warns of on stderr, in the words of the command line; the console that does."""
    errors = make_console(errors=True)
    handler = RichHandler(console=errors, show_time=False, show_path=False)
    handler.setFormatter(_OwnWords("%(message)s"))
    logger = logging.getLogger("trendweave")
    # Where several commands run in one process, the last one shows what is warned of.
    for before in [one for one in logger.handlers if isinstance(one.formatter, _OwnWords)]:
        logger.removeHandler(before)
    logger.addHandler(handler)
    return errors


def in_own_words(error: TrendweaveError) -> TrendweaveError:
    """The same error; what it says of arguments, it says of options."""
    return type(error)((_translate_problem(problem) for problem in error.problems), error.source)


def _translate_problem(problem: Problem) -> Problem:
    missing, near = _MISSING.match(problem.message), _NEAR.fullmatch(problem.hint)
    if problem.code == "TW302" and missing and near:
        names = " or ".join(map(shlex.quote, near["names"].split(" or ")))
        return replace(problem, hint=f"did you mean --{missing['role']} {names}?")
    return replace(problem, message=translate(problem.message), hint=translate(problem.hint))


def translate(text: str) -> str:
    """A message in which options of the command line stand for arguments of Python.

    >>> translate('ask for numbers="text" or "log2", or name it with time=')
    'ask for --numbers text or log2, or name it with --time'
    """
    for call, command in _CALLS:
        text = call.sub(command, text)
    return _NAMED.sub(_write_name, _GIVEN.sub(_write_given, text))


def _write_name(found: re.Match[str]) -> str:
    return _name_option(found["name"])


def _write_given(found: re.Match[str]) -> str:
    name, values = found["name"], found["values"]
    if name not in _OPTIONS and name not in _SETTINGS:
        return found[0]
    option = _name_option(name)
    if values is None:
        return option
    written = " or ".join(_write_value(value) for value in values.split(" or "))
    if written in ("True", "False"):
        return option
    return f"{option}={written}" if name in _SETTINGS else f"{option} {written}"


def _name_option(name: str) -> str:
    return f"--conf spark.trendweave.{_SETTINGS[name]}" if name in _SETTINGS else f"--{name.replace('_', '-')}"


def _write_value(value: str) -> str:
    if value == "None":
        return "''"
    if value.startswith("("):
        return " ".join(_write_value(part.strip()) for part in value[1:-1].split(","))
    return shlex.quote(value[1:-1]) if value[0] in "\"'" else value
