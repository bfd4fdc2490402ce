"""Stored events on Spark: tasks that read row groups or write files themselves, and sinks of streams."""
