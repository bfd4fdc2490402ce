"""Compiled code that is kept: told apart by what it was made of, never by where its source lies.

`sources` and `machine` say what it was made of, `folders` where it lies, `files` reads and writes it, `cache` keeps and
loads it for Numba, `packs` hands it on to other machines of the same kind. Numba has no public way to do this; what is
used of its inner parts was tried with Numba 0.68, and the package asks for a version below 0.69. Nothing is imported
here, as the parser keeps its tables in `files` and runs without Numba.
"""
