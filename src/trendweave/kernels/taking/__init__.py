"""Trends that AFTER MATCH SKIP and PER START take, found without looking at the others."""
