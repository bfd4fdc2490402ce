"""Any table as sorted, coded rows: times, windows, segments, and what was dropped on the way."""
