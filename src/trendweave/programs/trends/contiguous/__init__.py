"""Contiguous trends by steps from row to row: lists of them, and their number."""
