"""Two source trees against each other, call by call: `python -m benchmarks --compare OTHER_TREE [NAME ...]`."""
