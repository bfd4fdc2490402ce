"""Situations and their matches."""
