"""Situations from conditions, and joins of situations."""
