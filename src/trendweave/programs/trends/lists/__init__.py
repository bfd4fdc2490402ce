"""Trends one by one: the graph of successors, its count and walk, and what chooses among trends."""
