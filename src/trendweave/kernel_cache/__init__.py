"""Kernels and their compiled code, which is kept: told apart by what it was made of, never by where its source lies.

`kernel` interprets loops or has them compiled, `cache` compiles them with Numba and loads what was compiled before,
`waiting` is for those who wait meanwhile, `files` keeps code, and tables of parsers, too. Nothing is imported here, as
the parser runs without Numba.
"""
