"""`trendweave new`: a folder to begin with."""
