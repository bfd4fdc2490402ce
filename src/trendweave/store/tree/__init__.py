"""Blocks of all files in one tree, and numbers that are added without an error."""
