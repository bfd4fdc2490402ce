"""Times as people have them, read as timestamps in Spark SQL."""
