"""Compiled loops over rows and blocks: arrays in, arrays out.

A function here calls only those of its own file, as Numba keeps compiled code by file.
"""
