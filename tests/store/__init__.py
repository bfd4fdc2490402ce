"""Stored events: files, indexes and questions, against slow twins and with things broken on purpose."""
