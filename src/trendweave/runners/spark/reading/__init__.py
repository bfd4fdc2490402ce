"""Parquet files that tasks read themselves, row group by row group, without rows in the JVM."""
