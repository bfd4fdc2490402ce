"""Patterns as automata: determinised, trimmed, intersected and made small, before they become templates."""
