"""Operators as programs: filters, windowed aggregation and windowed joins."""
