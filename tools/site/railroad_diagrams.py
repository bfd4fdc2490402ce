"""Railroad diagrams of the grammar that the parser reads, one per rule."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lark
import railroad
from lark import Lark, Token, Tree

GRAMMARS = Path(__file__).parents[2] / "src" / "trendweave" / "language"
#: Terminals that are written in another way than they are called; of several ways each is shown.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "AFTER_MATCH": ("AFTER MATCH SKIP",),
    "PAST_LAST": ("PAST LAST EVENT",),
    "TO_NEXT": ("TO NEXT EVENT",),
    "PER_START": ("LONGEST PER START", "SHORTEST PER START"),
    "PREV_OF": ("PREV",),
    "END_OF": ("FIRST", "LAST"),
    "STRATEGY": ("skip-till-any-match", "skip-till-next-match", "contiguous"),
    "_BRACKETS": ("[]",),
}
#: Terminals that stand for many texts, in words.
KINDS = {
    "INTEGER": "integer",
    "DECIMAL": "decimal number",
    "STRING": "'text'",
    "NAME": "word",
    "QUOTED_NAME": "`any name`",
    "RELATION": "relation",
    "PARAMETER": "$name",
}
#: Rules that would be called as another one is, without the sign that they make no tree of their own.
RENAMED = {"_inverse": "condition_part", "_told": "told_list"}


@dataclass(frozen=True)
class Diagram:
    """A rule, without the signs that say how trees are built, and its drawing."""

    rule: str
    svg: str


def draw_grammar(name: str) -> list[Diagram]:
    """Diagrams of the rules of a grammar file, in its order."""
    tree = _read(GRAMMARS / name)
    literals = {token: value for file in sorted(GRAMMARS.glob("*.lark")) for token, value in _literals(_read(file))}
    drawn = []
    for item in tree.children:
        if isinstance(item, Tree) and item.data == "rule":
            rule, _, body = item.children
            drawn.append(Diagram(_plain(str(rule)), _write(_Drawing(literals).draw(body))))
    return drawn


def _read(path: Path) -> Tree[Any]:
    path_of_grammars = Path(lark.__file__).parent / "grammars" / "lark.lark"
    grammar = Lark.open(str(path_of_grammars), parser="lalr", maybe_placeholders=False)
    # Lark's own description of its grammars does not know this word; what comes after it is a rule.
    return grammar.parse(path.read_text(encoding="utf-8").replace("%extend ", ""))


def _literals(tree: Tree[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Terminals that are nothing but texts, such as PLUS, with these texts."""
    for item in tree.children:
        if isinstance(item, Tree) and item.data == "token":
            texts = [
                str(leaf) for leaf in item.children[-1].scan_values(lambda leaf: leaf.type in ("STRING", "REGEXP"))
            ]
            if all(text.startswith('"') for text in texts):
                yield str(item.children[0]), tuple(text[1:-1] for text in texts)


def _plain(rule: str) -> str:
    return RENAMED.get(rule) or rule.lstrip("?!_")


@dataclass(frozen=True)
class _Drawing:
    literals: dict[str, tuple[str, ...]]

    def draw(self, node: Any) -> Any:
        """A part of a rule."""
        if isinstance(node, Token):
            return self._draw_name(str(node), node.type)
        parts = node.children
        match str(node.data):
            case "expansions":
                return railroad.Choice(0, *(self.draw(part) for part in parts))
            case "expansion":
                return self._draw_sequence(parts)
            case "expr":
                return self._draw_repeated(parts)
            case "maybe":
                return railroad.Optional(self.draw(parts[0]))
            case _:  # alias, value, literal, name: what they hold first
                return self.draw(parts[0])

    def _draw_name(self, text: str, kind: str) -> Any:
        if kind == "STRING":
            return railroad.Terminal(text[1:-1])
        if kind == "RULE":
            return railroad.NonTerminal(_plain(text).replace("_", " "), href=f"#{_plain(text)}")
        if text in KINDS:
            return railroad.Terminal(KINDS[text])
        ways = SPELLINGS.get(text) or self.literals.get(text) or (text.replace("_", " "),)
        drawn = [railroad.Terminal(way) for way in ways]
        return drawn[0] if len(drawn) == 1 else railroad.Choice(0, *drawn)

    def _draw_sequence(self, parts: Sequence[Any]) -> Any:
        """`x ("," x)*` is one or more x with commas between them."""
        drawn: list[Any] = []
        for number, part in enumerate(parts):
            before = parts[number - 1] if number else None
            separators = _find_separators(before, part)
            if separators is None:
                drawn.append(self.draw(part))
            else:
                drawn[-1] = railroad.OneOrMore(drawn[-1], self._draw_sequence(separators) if separators else None)
        return drawn[0] if len(drawn) == 1 else railroad.Sequence(*drawn)

    def _draw_repeated(self, parts: Sequence[Any]) -> Any:
        inner = self.draw(parts[0])
        match str(parts[1]) if len(parts) > 1 else "":
            case "?":
                return railroad.Optional(inner)
            case "*":
                return railroad.ZeroOrMore(inner)
            case "+":
                return railroad.OneOrMore(inner)
        return inner


def _find_separators(before: Any, part: Any) -> list[Any] | None:
    """What stands between repetitions of `before`, where `part` is such a repetition; else None."""
    if before is None or not isinstance(part, Tree) or part.data != "expr" or part.children[1:] != ["*"]:
        return None
    inner = part.children[0]
    while isinstance(inner, Tree) and inner.data in ("alias", "expansions") and len(inner.children) == 1:
        inner = inner.children[0]
    if not isinstance(inner, Tree) or inner.data != "expansion" or inner.children[-1] != before:
        return None
    return list(inner.children[:-1])


def _write(drawn: Any) -> str:
    """The drawing as SVG for a page, which says how it looks."""
    out = io.StringIO()
    railroad.Diagram(drawn, type="simple").writeSvg(out.write)
    # The library writes the text of a link twice; and a blank line would end the drawing for a reader of Markdown.
    once = re.sub(r"(<text [^>]*>[^<]*</text>)\1", r"\1", out.getvalue())
    return re.sub(r"\n\s*\n", "\n", once.replace("xlink:href", "href")).strip()
