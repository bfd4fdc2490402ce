"""How far a long run is: told on a terminal or in a notebook, and nowhere else."""

from trendweave.progress.reporting import count_parts_to_tell, expect, follow

__all__ = ["count_parts_to_tell", "expect", "follow"]
