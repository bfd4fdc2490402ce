"""Many queries at once."""
