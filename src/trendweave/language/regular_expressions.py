r"""Regular expressions of RLIKE: what Java, which Spark uses, and RE2, which Arrow uses, read alike.

Characters, `.`, classes such as `[a-z_]` and `[^0-9]`, `\d \w \s` and their opposites, groups, `|`, `*`, `+`, `?`,
`{2,5}`, `^` and `$`, which are the beginning and the end of the text. Where the two engines would differ in small
things (which characters `.` and `\s` leave out, whether `$` is also before a last line break), each is told what is
meant in its own words. What only one of them knows is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

Engine: TypeAlias = Literal["java", "re2"]

_TOKEN = re.compile(
    r"""(?P<escape>\\.)
      | (?P<class>\[\^?(?:\\.|[^\]\\])+\])
      | (?P<open>\((?:\?:)?(?!\?))
      | (?P<close>\))
      | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
      | (?P<place>[\^$])
      | (?P<or>\|)
      | (?P<any>\.)
      | (?P<character>[^\\\[\](){}*+?^$|.])""",
    re.VERBOSE | re.DOTALL,
)
#: RE2 repeats no part more often, parts in parts included.
_MOST_REPEATS = 1_000
_PUNCTUATION = frozenset(r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~ """)
_CONTROL = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f"}
#: Of RE2: what Java takes for blanks, and what a dot does not match.
_BLANKS = r"\t\n\x0b\f\r "
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"


def find_problem(pattern: str) -> str | None:
    """Find what is wrong with a regular expression, or read differently by different engines.

    Args:
        pattern: The expression.

    Returns:
        What is wrong, as a phrase; None where nothing is.
    """
    depth, repeats = 0, 1
    repeatable = False
    for kind, text in _tokens(pattern):
        problem = _problem_of(kind, text, repeatable)
        if problem is not None:
            return problem
        repeats *= max([1, *map(int, re.findall(r"\d+", text))]) if kind == "repeat" else 1
        if repeats > _MOST_REPEATS:
            return f"its numbers of repetitions make more than {_MOST_REPEATS:,} together"
        depth += {"open": 1, "close": -1}.get(kind, 0)
        if depth < 0:
            return "a ) closes no group"
        repeatable = kind in ("escape", "class", "close", "any", "character")
    return "a ( is never closed" if depth else None


def translate(pattern: str, engine: Engine) -> str:
    """Write a sound regular expression for one of the engines.

    Args:
        pattern: The expression; `find_problem` has found nothing.
        engine: Who reads it.

    Returns:
        The expression in the engine's words.
    """
    return "".join(_translated(kind, text, engine) for kind, text in _tokens(pattern))


def _tokens(pattern: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            yield "unknown", pattern[at:]
            return
        yield str(found.lastgroup), found[0]
        at = found.end()


def _problem_of(kind: str, text: str, repeatable: bool) -> str | None:
    match kind:
        case "escape":
            return None if _is_known(text[1]) else f"{text} means different things to Java and RE2"
        case "class":
            return _problem_of_class(text)
        case "repeat" if not repeatable:
            return f"{text} repeats nothing that can be repeated"
        case "repeat":
            numbers = [int(number) for number in re.findall(r"\d+", text)]
            if any(number > _MOST_REPEATS for number in numbers) or numbers != sorted(numbers):
                return f"{text} is no range of numbers up to {_MOST_REPEATS:,}"
        case "unknown":
            return f"{text[:10]} means different things to Java and RE2"
    return None


def _is_known(letter: str) -> bool:
    return letter in "dDwWsS" or letter in _CONTROL or letter in _PUNCTUATION


def _problem_of_class(text: str) -> str | None:
    inner = text[1:-1].removeprefix("^")
    parts = re.findall(r"\\.|.", inner, re.DOTALL)
    for part in parts:
        if part in ("\\D", "\\W", "\\S") or (len(part) == 2 and not _is_known(part[1])):
            return f"{part} in {text} means different things to Java and RE2"
        if part == "[":
            return f"[ in {text} means different things to Java and RE2; write \\["
    if "&&" in inner:
        return f"&& in {text} means different things to Java and RE2"
    for place, part in enumerate(parts[1:-1], 1):
        if part != "-":
            continue
        ends = [_character(parts[place - 1]), _character(parts[place + 1])]
        if None in ends or ends[0] > ends[1] or (place > 1 and parts[place - 2] == "-"):  # type: ignore[operator]
            return f"a - in {text} is no range of characters; write \\-"
    return None


def _character(part: str) -> str | None:
    """The one character that a part of a class stands for."""
    if part.startswith("\\"):
        return None if part[1] in "dws" else {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(part[1], part[1])
    return part


def _translated(kind: str, text: str, engine: Engine) -> str:
    if text == "$":
        return r"\z"
    if engine == "java":
        return text
    match kind:
        case "any":
            return f"[^{_LINE_ENDS}]"
        case "escape" if text[1] in "sS":
            return f"[{'^' if text[1] == 'S' else ''}{_BLANKS}]"
        case "escape" if text[1] == " ":
            return " "
        case "class":
            return "".join(
                _BLANKS if part == r"\s" else " " if part == r"\ " else part
                for part in re.findall(r"\\.|.", text, re.DOTALL)
            )
    return text
