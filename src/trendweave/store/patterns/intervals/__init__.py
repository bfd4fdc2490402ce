"""Stretches of time in which trends can lie."""
