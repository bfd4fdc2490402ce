"""Aggregates of many queries in one pass: `inputs.py` says what comes in and goes out, `entry.py` is the entry."""
