"""Named workloads, run by one command: `python -m benchmarks`."""
