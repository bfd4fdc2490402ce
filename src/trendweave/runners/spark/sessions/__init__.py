"""What is asked of the session of a user before anything runs on it."""
