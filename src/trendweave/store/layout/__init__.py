"""Where stored events lie: file systems, folders of Parquet, Delta tables, and how events are written."""
