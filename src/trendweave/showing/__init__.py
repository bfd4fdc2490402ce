"""Pictures of whatever users hold: `plot` draws it, `show` sets rows and a picture beside each other."""

from trendweave.showing.plotting import ShownResult, plot, show, time_line_of

__all__ = ["ShownResult", "plot", "show", "time_line_of"]
