"""`trendweave warm-up`: compile before the first query asks for it."""

from __future__ import annotations


def warm_up() -> None:
    """Compile all that queries need, for this machine, and keep it: for images, and for machines that are set up."""
    from trendweave import warm_up

    print(warm_up())
