"""The reference twin of workloads: how the papers share work among queries, and workloads of related queries."""
