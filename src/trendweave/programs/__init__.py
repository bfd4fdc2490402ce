"""A plan bound to the columns of some events: the same object in every place."""
