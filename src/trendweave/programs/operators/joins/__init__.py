"""The windowed join: each event meets the events of the other side's active window."""
