"""What runs in worker processes: reading events, checking and planning queries, running them, replaying streams."""
