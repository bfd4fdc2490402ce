"""Aggregates over all trends: entry.py is the way in, propagate.py the idea."""
