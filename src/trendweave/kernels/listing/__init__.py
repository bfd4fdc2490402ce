"""Trends one by one: graphs of events, and ways through them."""
