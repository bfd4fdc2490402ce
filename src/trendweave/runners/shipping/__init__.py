"""What a cluster needs of this package, as one file, and how tasks tell that it is there."""
