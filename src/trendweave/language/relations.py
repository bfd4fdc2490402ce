"""The names of Allen's thirteen relations, in the order in which they appear while one interval moves over another."""

from __future__ import annotations

RELATIONS: tuple[str, ...] = (
    "before", "meets", "overlaps", "finished-by", "contains", "starts", "equals",
    "started-by", "during", "finishes", "overlapped-by", "met-by", "after",
)  # fmt: skip
