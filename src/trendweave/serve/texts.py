"""Which texts can be sent at all."""

from __future__ import annotations


def can_be_sent(text: str) -> bool:
    """Whether it has no half of a pair of surrogates, as JSON may hold, and names of files that are no Unicode have."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
