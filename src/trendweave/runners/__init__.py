"""Where the data lives: each runner evaluates scalar expressions with its own engine and calls the same kernels."""
