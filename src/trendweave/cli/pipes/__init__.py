"""`trendweave pipe`: operators on files of events, or on stored events."""
