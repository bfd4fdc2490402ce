"""Times as people have them, numbers since 1970 in some unit or text, read as timestamps."""
