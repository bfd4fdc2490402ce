"""Many aggregates in one automaton: one sort, one numbering of times, one kernel call."""
