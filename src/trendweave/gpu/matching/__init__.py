"""Sequential matching on a card: which later events can follow an event, found for all events at once."""
