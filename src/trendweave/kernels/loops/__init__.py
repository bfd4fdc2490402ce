"""Loops written from the plan: Python text for exactly what a query asks, interpreted or compiled."""
