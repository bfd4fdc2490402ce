"""What queries of a workload share: plans, and what is computed together."""
