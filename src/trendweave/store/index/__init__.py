"""What is kept beside a data file: blocks with their aggregates, and entries sorted by value."""
