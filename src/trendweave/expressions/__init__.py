"""One meaning of a row expression: on Arrow columns, in Spark SQL, as compiled scalar code. Tests hold them together."""
