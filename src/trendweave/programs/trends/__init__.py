"""Trends, aggregated or listed."""
