"""One file per topic; each registers its workloads with `benchmarks.registry.workload` and is found by itself."""
