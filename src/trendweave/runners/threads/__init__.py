"""All cores of this process: rows are dealt out, threads compute them, and results are put together.

Compiled kernels, Arrow and NumPy let go of Python's lock, so threads of one process work side by side.
"""
