"""The reference twin: what a query means, computed slowly and straight from the definitions.

Nothing here imports the package under test. Read in this order: pattern, query, scalars, brute_force, results;
then comparer and streams, which tests use to hold the twin against the engine. `prefix_counters` is a second twin, for
streams whose trends are too many to be written down.
"""
