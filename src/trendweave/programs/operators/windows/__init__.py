"""Windowed aggregation: windows of time and windows of events, per key."""
