"""Tests in environments with other versions of Spark, pandas and Python, and a table of what they can do."""
