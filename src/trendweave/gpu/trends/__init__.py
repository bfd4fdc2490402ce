"""Trends aggregated on a graphics card: `entry.py` is the twin of the entry of the kernels for processors."""
