"""Kinds of tables that events come in, and that rows go back as."""
