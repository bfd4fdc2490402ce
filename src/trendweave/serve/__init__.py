"""A page to try queries on, served from this machine: `trendweave serve`.

The server itself only answers requests. All that reads events, plans or computes is done by worker processes, which are
ended when they take too long, take too much memory, or when nobody waits for them any longer.
"""
