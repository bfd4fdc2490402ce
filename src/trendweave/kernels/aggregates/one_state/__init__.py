"""Loops for the most common template: one state that repeats (`S+`)."""
