"""Operators on Spark: what Spark SQL does itself is handed to it, the rest runs in tasks."""
