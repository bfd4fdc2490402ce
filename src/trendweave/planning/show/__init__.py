"""Plans for people to read: text, drawings, JSON."""
