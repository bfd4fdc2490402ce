"""Rows folded into summaries, so that they can be forgotten: `extend` adds rows, `finish` reads trends."""

from trendweave.kernels.folding.algebra import Algebra, Measured, make_algebra
from trendweave.kernels.folding.slowly import extend, finish
from trendweave.kernels.folding.summaries import Summaries, concat_summaries, no_summaries

__all__ = ["Algebra", "Measured", "Summaries", "concat_summaries", "extend", "finish", "make_algebra", "no_summaries"]
