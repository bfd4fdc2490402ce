"""Pattern queries over stored events: which stretches of time can hold a trend, and what it costs to know."""
