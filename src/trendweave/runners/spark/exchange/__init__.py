"""Rows change places as columns: tasks deal them out into buckets, Spark moves whole buckets, tasks gather them."""
