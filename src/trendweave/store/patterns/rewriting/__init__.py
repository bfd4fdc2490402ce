"""What every trend must contain, as conditions that indexes understand."""
