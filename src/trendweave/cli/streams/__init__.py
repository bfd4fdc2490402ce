"""`trendweave stream`: a query, or many, on a stream of files or of Kafka."""
