"""`python -m trendweave`."""

from trendweave.cli import main

main()
