"""Queries run on what is read of a store."""
