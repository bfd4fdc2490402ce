"""Aggregates over windows of stored events, from the tree, from rows, or from both."""
