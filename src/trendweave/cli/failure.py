"""How a command ends that cannot go on."""

from __future__ import annotations


class Failure(Exception):
    """Ends a command with its message and exit code 1; it never leaves the command line.

    What is wrong with a query or its events is a `TrendweaveError`. This is for what goes wrong around them, such as a
    Spark that does not start.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        """Say what went wrong.

        Args:
            message: What it was.
            hint: The hint, where there is one.
        """
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)
