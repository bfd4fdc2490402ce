"""Many programs as one: a pass over events that serves all queries of a workload."""
