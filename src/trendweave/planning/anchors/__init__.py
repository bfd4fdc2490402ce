"""Conditions on an event and earlier ones of its trend that need not be neighbours (`C.x >= A.x + 5`)."""
