"""Numbers to tables, in types settled before anything runs."""
