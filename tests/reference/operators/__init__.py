"""Operators on event streams as they are defined, slowly: plain Python over lists of dictionaries.

They follow Definitions 2.7 to 2.18 of the thesis on event processing, with the rules of this project for NULL, ties,
keys and windows, and judge the engine; nothing of it is used here. Times are whole steps of the time column.
"""
