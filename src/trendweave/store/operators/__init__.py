"""Operators on stored events."""
