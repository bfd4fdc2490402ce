"""What stands in, on older versions of Spark, for what they lack."""
