"""Named queries: what a rule is, and how rules are read from Python, folders and files."""
