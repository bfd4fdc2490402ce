"""Streams that forget events: numbers per key and pane of time instead of rows."""
