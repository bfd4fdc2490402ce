"""Operators and trends on a graphics card, by CuPy. Nothing here is imported unless a card is asked for."""
