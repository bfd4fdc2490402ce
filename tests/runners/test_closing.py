"""When windows close, and when rows are let go."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.rows.closing import Closing

sliding = hs.integers(1, 12).flatmap(
    lambda slide: hs.builds(Closing, hs.integers(slide, 40), hs.just(slide)),
)
moving = hs.builds(Closing, hs.integers(0, 40), hs.just(0), hs.integers(1, 40))
times = hs.lists(hs.integers(-60, 60), min_size=1, max_size=8).map(np.array)


@given(sliding | moving, times, hs.integers(-60, 60))
@examples(500)
def test_what_is_due_lies_ahead_and_everything_goes_in_the_end(
    closing: Closing, steps: np.ndarray, watermark: int
) -> None:
    """From timer to timer, as a stream does it: each is later than the watermark, and the last one leaves nothing."""
    steps = steps[steps >= watermark]
    closed: int | None = None
    seen: list[int] = []
    for _ in range(400):
        if not steps.size:
            break
        due = closing.due(int(steps.min()), int(steps.max()), closed)
        assert due > (watermark if closed is None else closed)
        first, last = closing.windows(closed, due)
        if closed is not None:
            seen += range(first, last + 1)
        closed = due
        steps = steps[steps // closing.pane >= closing.first_kept_pane(due)]
    assert not steps.size
    assert len(seen) == len(set(seen)), "a window closes once"


@given(sliding, times)
@examples(200)
def test_the_next_window_to_close_is_the_first_that_holds_a_row(closing: Closing, steps: np.ndarray) -> None:
    ends = [
        number * closing.slide + closing.length
        for step in steps.tolist()
        for number in range(-200, 200)
        if number * closing.slide <= step < number * closing.slide + closing.length
    ]
    assert closing.due(int(steps.min()), int(steps.max()), None) == min(ends)
