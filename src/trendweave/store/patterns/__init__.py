"""Pattern queries over stored events: which stretches of time can hold a trend at all, and what it costs to find out."""
