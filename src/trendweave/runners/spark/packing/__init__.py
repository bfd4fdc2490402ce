"""Events of a stream -> pieces of prepared rows, before they are shuffled."""
