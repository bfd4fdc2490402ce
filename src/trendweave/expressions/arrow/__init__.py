"""Row expressions on Arrow columns."""
