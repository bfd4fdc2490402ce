"""The page knows the words of the language."""

from __future__ import annotations

import re
from pathlib import Path

import trendweave.language
from trendweave.serve.samples import list_words


def test_every_word_of_the_grammars_is_known() -> None:
    words: set[str] = set()
    for grammar in Path(trendweave.language.__file__).parent.glob("*.lark"):
        for pattern in re.findall(r"^[A-Z_]+\.\d: /(.*)/i$", grammar.read_text(), re.MULTILINE):
            words |= set(re.findall(r"[A-Z]{2,}", pattern.split("(?")[0]))
    assert {"RETURN", "SHORTEST", "SITUATIONS", "START"} <= words, "the grammars are written in another way"

    told = list_words()
    known = {word for clause in told["clauses"] for word in re.split(r"[ -]", clause)}
    assert words - known - {*told["words"], *told["aggregates"]} == set()
