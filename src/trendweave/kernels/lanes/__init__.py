"""Sums in lanes: one number per value that a trend remembers of an earlier event."""
