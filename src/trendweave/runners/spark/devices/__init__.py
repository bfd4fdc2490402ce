"""Devices of tasks: the card that Spark gave them."""
