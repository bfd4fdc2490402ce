"""How far Spark is, for those who wait."""
