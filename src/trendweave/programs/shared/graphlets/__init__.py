"""Many aggregates without edge predicates in one automaton: one sort, one numbering of times, one kernel call."""
