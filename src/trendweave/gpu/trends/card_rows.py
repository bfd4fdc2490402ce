"""Rows on a card: what every pass reads of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trendweave.gpu.card import Card
from trendweave.gpu.sending import send
from trendweave.gpu.trends.numbers import Kind, kernel_text
from trendweave.kernels import Rows, Template

#: The bit of `packed` that says that a row begins a tick.
NEW_TICK = np.uint32(1 << 31)
_THREADS = 256


@dataclass(frozen=True, slots=True)
class CardRows:
    """Arrays on the card: the tick of each row; as which states it may be read (bits), and whether it begins a tick."""

    tick: Any
    packed: Any


def put_rows(card: Card, rows: Rows, template: Template) -> CardRows:
    """Copy rows to the card. Rows in no window are read as nothing."""
    count, states = rows.tick.size, len(template.state_variable)
    outside = rows.window_first > rows.window_last
    tick, packed = send(card, rows.tick, np.int64), card.xp.empty(count, np.uint32)
    few = rows.letters.shape[1] == 1 and max(template.state_variable, default=0) < 8
    letters = send(card, rows.letters.reshape(-1), np.uint8 if few else np.uint64)
    arguments = (
        *(letters, np.int32(letters.dtype.itemsize), np.int64(rows.letters.shape[1]), tick),
        card.put(outside) if outside.any() else None,
        *(card.put(np.asarray(template.state_variable, np.int32)), np.int32(states), np.int64(count), packed),
    )
    text = kernel_text("trends_totals", Kind.FLOAT, 0)
    card.launch(text, "pack_states", -(-count // _THREADS), _THREADS, arguments)
    return CardRows(tick, packed)
