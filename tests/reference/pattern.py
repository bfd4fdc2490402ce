"""Patterns as regular expressions over variables (semantics, "Patterns" and "Negation").

Two independent ways to ask about the language of a pattern: `words` writes it out as a set, cut at a length, which is
exponential on purpose; `readings` and `begins` ask about one given word. Each is the textbook definition of every
operator and nothing else, and the self-tests hold them against each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

Word = tuple[str, ...]


@dataclass(frozen=True)
class Event:
    """`Type variable`; a variable left out is named after the type. Without a type (`ANY variable`) any event is it."""

    type: str | None
    variable: str | None = None

    @property
    def name(self) -> str:
        return (self.type or "ANY") if self.variable is None else self.variable


@dataclass(frozen=True)
class Seq:
    """`SEQ(X, Y, ...)`: one after the other. The only place where a Not may stand."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Repeat:
    """`X+`, `X*`, `X?`, `X{low,high}`; `high=None` means without limit."""

    body: Pattern
    low: int
    high: int | None


@dataclass(frozen=True)
class Or:
    """`(X OR Y)`: either of them."""

    alternatives: tuple[Pattern, ...]


@dataclass(frozen=True)
class And:
    """`X AND Y`, at the top of a pattern only, for COUNT(*) only. It has no words of its own."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Not:
    """`NOT X`, a direct part of a Seq. It reads no event of the trend; it guards the gap it stands in."""

    body: Pattern


Pattern = Event | Seq | Repeat | Or | And | Not


def seq(*parts: Pattern) -> Seq:
    return Seq(parts)


def plus(body: Pattern) -> Repeat:
    return Repeat(body, 1, None)


def star(body: Pattern) -> Repeat:
    return Repeat(body, 0, None)


def option(body: Pattern) -> Repeat:
    return Repeat(body, 0, 1)


def bounds(body: Pattern, low: int, high: int | None) -> Repeat:
    return Repeat(body, low, high)


def either(*alternatives: Pattern) -> Or:
    return Or(alternatives)


# ---------------------------------------------------------------------------------------------------------------- text


def text(pattern: Pattern) -> str:
    """The pattern in the query language, e.g. `SEQ(A a+, NOT B b, C c{2,5})`."""
    match pattern:
        case Event(type=type_, variable=None):
            return type_ or "ANY"
        case Event(type=type_, variable=variable):
            return f"{type_ or 'ANY'} {variable}"
        case Seq(parts=parts):
            return f"SEQ({', '.join(text(part) for part in parts)})"
        case Or(alternatives=alternatives):
            return f"({' OR '.join(text(alternative) for alternative in alternatives)})"
        case And(left=left, right=right):
            return f"{text(left)} AND {text(right)}"
        case Not(body=Repeat() as body):
            return f"NOT ({text(body)})"
        case Not(body=body):
            return f"NOT {text(body)}"
        case Repeat(body=Event() | Or() as body):
            return text(body) + _repeat_mark(pattern)
        case Repeat(body=body):
            return f"({text(body)}){_repeat_mark(pattern)}"
    raise TypeError(pattern)


def _repeat_mark(repeat: Repeat) -> str:
    marks = {(1, None): "+", (0, None): "*", (0, 1): "?"}
    high = "" if repeat.high is None else str(repeat.high)
    return marks.get((repeat.low, repeat.high), f"{{{repeat.low},{high}}}")


# --------------------------------------------------------------------------------------------------------------- words


@lru_cache(maxsize=4096)
def words(pattern: Pattern, max_length: int) -> frozenset[Word]:
    """Every word over variables that the pattern spells, up to `max_length` letters. A NOT spells the empty word."""
    match pattern:
        case Event():
            return frozenset([(pattern.name,)] if max_length >= 1 else [])
        case Not() | Seq(parts=()):
            return frozenset([()])
        case Seq(parts=(*before, last)):
            return frozenset(
                left + right
                for left in words(Seq(tuple(before)), max_length)
                for right in words(last, max_length - len(left))
            )
        case Or(alternatives=alternatives):
            return frozenset(word for alternative in alternatives for word in words(alternative, max_length))
        case Repeat(body=body):
            return frozenset(
                word for times in _repetitions(pattern, max_length) for word in words(Seq((body,) * times), max_length)
            )
    raise TypeError(f"{pattern} has no words")


def _repetitions(repeat: Repeat, max_length: int) -> range:
    """How often to write the body out.

    `low + max_length` times is always enough: a word of `max_length` letters has at most that many repetitions that
    spell a letter, and of those that spell none (they may add NOTs, never letters) no more than `low` are ever needed.
    """
    most = repeat.low + max_length
    return range(repeat.low, (most if repeat.high is None else min(most, repeat.high)) + 1)


# ------------------------------------------------------------------------------------------------------------ readings

Guard = tuple[int, "Pattern"]
"""A NOT met while reading: its place (how many letters of the word come before it) and the pattern it forbids."""


def readings(pattern: Pattern, word: Word) -> frozenset[frozenset[Guard]]:
    """Every way to read exactly this word, each as the NOTs it meets. Empty: the pattern does not spell the word."""
    return frozenset(guards for length, guards in _partial_readings(pattern, word) if length == len(word))


@lru_cache(maxsize=65536)
def _partial_readings(pattern: Pattern, word: Word) -> frozenset[tuple[int, frozenset[Guard]]]:
    """Every way in which the pattern can read a beginning of the word: how many letters, and the NOTs met."""
    match pattern:
        case Event():
            return frozenset([(1, frozenset())] if word[:1] == (pattern.name,) else [])
        case Not(body=body):
            return frozenset([(0, frozenset([(0, body)]))])
        case Seq(parts=()):
            return frozenset([(0, frozenset())])
        case Seq(parts=(*before, last)):
            return frozenset(
                (left + right, left_guards | {(left + place, body) for place, body in right_guards})
                for left, left_guards in _partial_readings(Seq(tuple(before)), word)
                for right, right_guards in _partial_readings(last, word[left:])
            )
        case Or(alternatives=alternatives):
            return frozenset(
                reading for alternative in alternatives for reading in _partial_readings(alternative, word)
            )
        case Repeat(body=body):
            return frozenset(
                reading
                for times in _repetitions(pattern, len(word))
                for reading in _partial_readings(Seq((body,) * times), word)
            )
    raise TypeError(f"{pattern} has no words")


@lru_cache(maxsize=65536)
def begins(pattern: Pattern, word: Word) -> bool:
    """Is this word the beginning of some word of the pattern, of whatever length? (NOTs play no part.)

    It says which variables the template can read next: `v` can follow `word` iff `begins(pattern, word + (v,))`.
    """
    match pattern:
        case Event():
            return word in [(), (pattern.name,)]
        case Not() | Seq(parts=()):
            return word == ()
        case Seq(parts=(*before, last)):
            return begins(Seq(tuple(before)), word) or any(
                begins(last, word[length:]) for length, _ in _partial_readings(Seq(tuple(before)), word)
            )
        case Or(alternatives=alternatives):
            return any(begins(alternative, word) for alternative in alternatives)
        case Repeat(body=body):
            return any(begins(Seq((body,) * times), word) for times in _repetitions(pattern, len(word)))
    raise TypeError(f"{pattern} has no words")


# ------------------------------------------------------------------------------------------------ variables, neighbours


def leaves(pattern: Pattern, negated: bool = False) -> Iterator[tuple[Event, bool]]:
    """Every place of the pattern that names a type, and whether it stands under a NOT."""
    match pattern:
        case Event():
            yield pattern, negated
        case Not(body=body):
            yield from leaves(body, True)
        case Repeat(body=body):
            yield from leaves(body, negated)
        case Seq(parts=parts) | Or(alternatives=parts):
            for part in parts:
                yield from leaves(part, negated)
        case And(left=left, right=right):
            yield from leaves(left, negated)
            yield from leaves(right, negated)


@lru_cache(maxsize=4096)
def variable_types(pattern: Pattern) -> dict[str, str]:
    """The variables that events of a trend are read as, each with its type. Those under a NOT are left out."""
    return {leaf.name: leaf.type for leaf, negated in leaves(pattern) if not negated}


def is_of(row_type: str, type_: str | None) -> bool:
    """An event is of its own type, and of any."""
    return type_ is None or row_type == type_


def negated_parts(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern under each NOT, those inside another NOT included."""
    match pattern:
        case Not(body=body):
            yield body
            yield from negated_parts(body)
        case Repeat(body=body):
            yield from negated_parts(body)
        case Seq(parts=parts) | Or(alternatives=parts):
            for part in parts:
                yield from negated_parts(part)
        case And(left=left, right=right):
            yield from negated_parts(left)
            yield from negated_parts(right)


def neighbours(pattern: Pattern) -> set[tuple[str, str]]:
    """The pairs of variables that can stand directly one after the other: in a trend, or in a match of a NOT."""
    return {pair for part in matched_parts(pattern) for pair in _adjacent(part)}


def _adjacent(pattern: Pattern) -> set[tuple[str, str]]:
    match pattern:
        case Event() | Not():
            return set()
        case Or(alternatives=alternatives):
            return {pair for alternative in alternatives for pair in _adjacent(alternative)}
        case Repeat(body=body, high=high):
            again = {(u, v) for u in _ends(body) for v in _starts(body)} if high is None or high >= 2 else set()
            return _adjacent(body) | again
        case Seq(parts=()):
            return set()
        case Seq(parts=(*before, last)):
            head = Seq(tuple(before))
            return _adjacent(head) | _adjacent(last) | {(u, v) for u in _ends(head) for v in _starts(last)}
    raise TypeError(pattern)


def matched_parts(pattern: Pattern) -> list[Pattern]:
    """The patterns with matches of their own: the trend's (of a conjunction, either side's) and that of every NOT."""
    return [
        operand
        for part in [pattern, *negated_parts(pattern)]
        for operand in ([part.left, part.right] if isinstance(part, And) else [part])
    ]


def can_follow_all(pattern: Pattern, variable: str, others: frozenset[str]) -> bool:
    """Can an event of the variable have events of all the others before it, in a trend or in a match of a NOT?"""
    return any(others in _seen_before(part, variable, others)[1] for part in matched_parts(pattern))


@lru_cache(maxsize=4096)
def _seen_before(
    pattern: Pattern, variable: str, others: frozenset[str]
) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Which of the others a word of the pattern can hold, and which it can hold before one of its `variable`s."""
    nothing: frozenset[str] = frozenset()
    match pattern:
        case Event():
            before = frozenset([nothing]) if pattern.name == variable else frozenset()
            return frozenset([others & {pattern.name}]), before
        case Not() | Seq(parts=()):
            return frozenset([nothing]), frozenset()
        case Seq(parts=(*head, last)):
            seen, before = _seen_before(Seq(tuple(head)), variable, others)
            seen_last, before_last = _seen_before(last, variable, others)
            return (
                frozenset(a | b for a in seen for b in seen_last),
                before | {a | b for a in seen for b in before_last},
            )
        case Or(alternatives=alternatives):
            both = [_seen_before(alternative, variable, others) for alternative in alternatives]
            return frozenset().union(*(seen for seen, _ in both)), frozenset().union(*(before for _, before in both))
        case Repeat(body=body):
            # One repetition for each of the others and one for the variable: more can bring nothing new.
            every = [
                _seen_before(Seq((body,) * times), variable, others) for times in _repetitions(pattern, len(others) + 1)
            ]
            return frozenset().union(*(seen for seen, _ in every)), frozenset().union(*(before for _, before in every))
    raise TypeError(pattern)


def can_be_empty(pattern: Pattern) -> bool:
    return () in words(pattern, 0)


def can_begin_with_not(pattern: Pattern) -> bool:
    """Is there a reading in which a NOT has no event before it?"""
    return can_end_with_not(_reversed(pattern))


def can_end_with_not(pattern: Pattern) -> bool:
    """Is there a reading in which a NOT has no event after it?"""
    match pattern:
        case Not():
            return True
        case Event() | Seq(parts=()):
            return False
        case Seq(parts=(*before, last)):
            return can_end_with_not(last) or (can_be_empty(last) and can_end_with_not(Seq(tuple(before))))
        case Or(alternatives=alternatives):
            return any(map(can_end_with_not, alternatives))
        case Repeat(body=body, high=high):
            return high != 0 and can_end_with_not(body)
        case And(left=left, right=right):
            return can_end_with_not(left) or can_end_with_not(right)
    raise TypeError(pattern)


def _starts(pattern: Pattern) -> set[str]:
    """The variables a word of the pattern can begin with."""
    return {name for name in variable_types(pattern) if begins(pattern, (name,))}


def _ends(pattern: Pattern) -> set[str]:
    """The variables a word of the pattern can end with."""
    return _starts(_reversed(pattern))


def _reversed(pattern: Pattern) -> Pattern:
    match pattern:
        case Seq(parts=parts):
            return Seq(tuple(_reversed(part) for part in reversed(parts)))
        case Or(alternatives=alternatives):
            return Or(tuple(_reversed(alternative) for alternative in alternatives))
        case Repeat(body=body, low=low, high=high):
            return Repeat(_reversed(body), low, high)
    return pattern
