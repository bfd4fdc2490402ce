"""Queries on a store by Spark's tasks: the driver plans from indexes, tasks read row groups straight into Arrow."""
