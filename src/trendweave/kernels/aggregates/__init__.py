"""Aggregates over all trends: entry.py is the way in, passes.py tells which loops run."""
