"""One meaning of a row expression: in Arrow columns, in Spark SQL, as compiled scalars. Tests hold them together."""
