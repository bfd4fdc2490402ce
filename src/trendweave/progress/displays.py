"""Bars: on a terminal by rich, in a notebook as HTML, and by tqdm where the caller uses it already."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from trendweave.consoles import make_console


@dataclass(frozen=True, slots=True)
class Seen:
    """How far a run is.

    Attributes:
        what: What is being done.
        share: The share of it that is done, from 0 to 1; None where nobody knows.
        rate: How much is done in a second, in words.
        left: Seconds that are left; None where nobody knows.
        elapsed: Seconds since it began.
        about: Whether share and time left are estimates.
    """

    what: str
    share: float | None
    rate: str
    left: float | None
    elapsed: float
    about: bool = False

    @property
    def text(self) -> str:
        """All but the bar, as one line."""
        so_far = f"{write_seconds(self.elapsed)} so far"
        if self.left is not None:
            so_far = f"{'about ' * self.about}{write_seconds(self.left)} left"
        elif self.about:
            so_far += ", longer than was estimated"
        return ", ".join(part for part in (so_far, self.rate) if part)


class Display(Protocol):
    """Something that shows a bar."""

    def update(self, seen: Seen) -> None:
        """Show how far it is now."""

    def close(self) -> None:
        """Take the bar away."""


def write_seconds(seconds: float) -> str:
    """A length of time, as people read it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


#: Nothing that others write goes through the bar, and no further thread draws it.
_PLAIN: dict[str, Any] = {
    "transient": True,
    "auto_refresh": False,
    "redirect_stdout": False,
    "redirect_stderr": False,
}


class RichBar:
    """A bar on the terminal's standard error, which disappears in the end."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[told]}", markup=False),
        )
        self._bar = Progress(*columns, console=make_console(errors=True), **_PLAIN)
        self._task = self._bar.add_task("", total=None, told="")
        self._bar.start()

    def update(self, seen: Seen) -> None:
        share = 0 if seen.share is None else seen.share * 100
        # Rich takes a total of None for one that stays as it is.
        self._bar.tasks[0].total = None if seen.share is None else 100
        self._bar.update(self._task, description=seen.what, completed=share, told=seen.text)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.stop()


class NotebookBar:
    """A bar in the output of a notebook's cell, which is emptied in the end."""

    def __init__(self) -> None:
        self._shown: Any = import_module("IPython.display")  # publishes no types
        self._handle: Any = self._shown.display(self._shown.HTML(""), display_id=True)

    def update(self, seen: Seen) -> None:
        value = "" if seen.share is None else f' value="{seen.share:.3f}"'
        bar = f'<progress max="1"{value} style="width: 260px; vertical-align: middle"></progress>'
        self._handle.update(self._shown.HTML(f"<div>{seen.what} {bar} {seen.text}</div>"))

    def close(self) -> None:
        self._handle.update(self._shown.HTML(""))


class TqdmBar:
    """A bar of tqdm, for those who have imported it, in their style."""

    _KNOWN, _UNKNOWN = "{desc} {percentage:3.0f}%|{bar}| {postfix}", "{desc} {postfix}"

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=100, leave=False, bar_format=self._KNOWN)

    def update(self, seen: Seen) -> None:
        self._bar.set_description_str(seen.what, refresh=False)
        self._bar.bar_format = self._UNKNOWN if seen.share is None else self._KNOWN
        self._bar.n = round(100 * (seen.share or 0))
        self._bar.set_postfix_str(seen.text, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def find_display() -> type[RichBar | NotebookBar | TqdmBar] | None:
    """The bar that suits where this process writes to; None where nobody looks."""
    notebook = is_notebook()
    if not notebook and not _is_terminal():
        return None
    if "tqdm" in sys.modules:
        return TqdmBar
    return NotebookBar if notebook else RichBar


def is_notebook() -> bool:
    """Whether this runs in a kernel of a notebook; nothing is imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        # There is no standard error, or it was closed.
        return False
