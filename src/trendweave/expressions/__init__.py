"""One meaning of a row expression, on two engines: Arrow columns and Spark SQL. A test holds them together."""
