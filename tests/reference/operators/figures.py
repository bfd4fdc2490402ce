"""The streams of Figures 2.1 to 2.6 of the thesis, as far as its text tells them; the pictures themselves are lost.

Section 2.3.2 names the times of the stream, t, t+1, t+3, t+6 and t+7, of which v > 3 drops the first and the fourth.
They fit what is said of Figure 2.2 (the third tumbling window of two time units is empty) and of Figure 2.4 (seven
sliding windows). Section 2.3.4 names v = 7 at t+1 and v = 5 at t+3. The other three values are made up: 2 and 1 for
those that are dropped, 4 for the last one. Of the second stream of Figure 2.5 the text has v = 6 at t+4 alone.
"""

from __future__ import annotations

from .events import Event


def stream(t: int) -> list[Event]:
    """The stream of Figures 2.1 to 2.5."""
    return [{"time": t + after, "v": v} for after, v in ((0, 2), (1, 7), (3, 5), (6, 1), (7, 4))]


def second_stream(t: int) -> list[Event]:
    """What is known of the second stream of Figure 2.5."""
    return [{"time": t + 4, "v": 6}]


#: Figure 2.6: the symbol trace.
TRACE: list[Event] = [
    {"time": time, "type": name[0].upper(), "name": name}
    for time, name in enumerate(("a1", "b1", "a2", "c1", "b2", "c2"))
]

#: Figure 2.6: the matches of AB*C. It has a1 c2 twice and lacks a2 c2; "the number of matches increases to 9".
MATCHES = {
    "contiguous": {"a2 c1"},
    "skip-till-next": {"a2 c1", "a1 b1 c1"},
    "skip-till-any": {
        *("a2 c1", "a1 b1 c1", "a1 b1 c2", "a1 c1", "a1 c2", "a1 b1 b2 c2", "a1 b2 c2", "a2 c2", "a2 b2 c2"),
    },
}
