"""The command line: a user of the public package, nothing more."""

from trendweave.cli.commands import main

__all__ = ["main"]
