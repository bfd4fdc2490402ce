"""Nodes and arrows: templates, workloads and chains of operators as drawings."""
