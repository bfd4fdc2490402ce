"""Trends whose events lie in situations."""
