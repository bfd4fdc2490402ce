"""What is asked of matches as a whole: conditions on them, and which of them are taken."""
