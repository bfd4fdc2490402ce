"""One meaning of a row expression, on Arrow columns, in Spark SQL and as compiled scalar code. Tests hold them together."""
