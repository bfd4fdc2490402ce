"""Rows folded into summaries, so that they can be forgotten: `extend` adds rows, `finish` reads trends."""

from trendweave.kernels.folding.algebra import Algebra, Measured, make_algebra
from trendweave.kernels.folding.extending import extend
from trendweave.kernels.folding.finishing import finish
from trendweave.kernels.folding.summaries import Summaries, concat_summaries, no_summaries

__all__ = ["Algebra", "Measured", "Summaries", "concat_summaries", "extend", "finish", "make_algebra", "no_summaries"]
