"""Operators as programs: filters, aggregates in windows, joins of windows, and chains of operators."""
