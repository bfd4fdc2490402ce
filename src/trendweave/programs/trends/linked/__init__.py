"""Lists of trends whose links are found first, for all events at once: by compiled loops, or on a card."""
