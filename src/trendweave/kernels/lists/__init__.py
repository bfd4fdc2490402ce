"""Lists of trends: the graph of successors, one count over its edges, one walk, and what chooses among trends."""
