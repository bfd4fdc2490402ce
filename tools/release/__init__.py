"""What is released, tried as a user would: `python -m tools.release` builds it, installs it elsewhere and runs it."""
