"""What it costs to read, and which indexes are worth asking."""
