"""Spark as a place to run: batch and streams. The only room of the library that imports pyspark."""
