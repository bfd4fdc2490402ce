"""Conditions on one row or on a pair of rows as compiled scalar code, for loops over pairs and for graphics cards.

The meaning is that of `expressions.arrow`; a test holds them together. An expression becomes a list of small steps
(`steps`, `meaning`), and these are written out as Python for Numba and as CUDA C (`written`).
"""
