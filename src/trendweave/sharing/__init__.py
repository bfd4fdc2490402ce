"""Many plans -> one: which queries of a workload are computed together, and how."""
