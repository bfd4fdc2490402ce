"""A run that is watched: after two seconds a bar shows how far it is, how fast it goes, and how long it will take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic

from trendweave.progress.displays import Display, Seen, find_display
from trendweave.progress.reporting import Tracker, listening

#: Seconds before a bar is shown, and between two looks.
PATIENCE, _PAUSE = 2.0, 0.25
#: No bar is shown in any run of a process where this variable of the environment says "off" or "0".
VARIABLE = "TRENDWEAVE_PROGRESS"


def choose_display(wanted: bool | None) -> Callable[[], Display] | None:
    """The bar of a run; None where there is to be none.

    Args:
        wanted: What the caller has said; None leaves it to the environment.
    """
    if wanted is False or (wanted is None and os.environ.get(VARIABLE, "").lower() in ("0", "off", "false", "no")):
        return None
    return find_display()


@contextmanager
def watching(
    wanted: bool | None,
    what: str,
    events: int,
    estimate: Callable[[], float | None] = lambda: None,
    patience: float | None = None,
) -> Iterator[None]:
    """Show a bar as long as the block runs, if it runs for long.

    Args:
        wanted: Whether there may be a bar; None: where somebody looks.
        what: What is being done.
        events: How many events it is done with.
        estimate: How many seconds it will take, asked once and in another thread, for work that tells nothing.
        patience: Seconds before the bar is shown; two unless given.
    """
    display = choose_display(wanted)
    if display is None:
        yield
        return
    ended, wait = Event(), PATIENCE if patience is None else patience
    with listening() as tracker:
        watch = _Watch(tracker, what, events, estimate)
        thread = Thread(target=_show, args=(watch, display, ended, wait), name="trendweave-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _show(watch: _Watch, make: Callable[[], Display], ended: Event, patience: float) -> None:
    """A bar that cannot be drawn must not end the run that it tells of."""
    if ended.wait(patience):
        return
    with suppress(Exception):
        display = make()
        try:
            while not ended.is_set():
                display.update(watch.look())
                ended.wait(_PAUSE)
        finally:
            display.close()


class _Watch:
    """Looks at a run from another thread."""

    def __init__(self, tracker: Tracker, what: str, events: int, estimate: Callable[[], float | None]) -> None:
        self._tracker, self._what, self._events, self._estimate = tracker, what, events, estimate
        self._begun = monotonic()
        self._guess: float | None = None
        self._guessed = False

    def look(self) -> Seen:
        elapsed = monotonic() - self._begun
        share, about = self._tracker.done, False
        if share is None and self._tracker.counted:
            # An estimate of the whole run tells nothing of what follows its counted parts.
            return Seen(f"{self._what}, making rows of the result", None, "", None, elapsed)
        if share is None:
            seconds = self._ask()
            if seconds is not None and seconds > 0:
                about = True
                # What has passed its estimate may end at any time, or take long.
                share = elapsed / seconds if elapsed < seconds else None
        left = elapsed * (1 - share) / share if share else None
        rate = f"{write_rate(share * self._events / elapsed)} events/s" if share and elapsed else ""
        return Seen(self._what, share, rate, left, elapsed, about)

    def _ask(self) -> float | None:
        """The estimate, made once; where none can be made, nothing is known."""
        if self._tracker.expected is not None:
            return self._tracker.expected
        if not self._guessed:
            self._guessed = True
            with suppress(Exception):
                self._guess = self._estimate()
        return self._guess


def write_rate(number: float) -> str:
    """A number of things per second, to two or three digits."""
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{name}"
    return f"{number:.3g}"
