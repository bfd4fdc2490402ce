"""The reference twin of interval queries: what such a query means, computed slowly and straight from the definitions.

Nothing here imports the package under test. Read in this order: query, conditions, situations, relations, matches,
results; then streams, which draws queries and inputs. DECISIONS.md says what was decided where the definition is
silent.

    from tests.reference.comparer import assert_same_rows
    from tests.reference.intervals.query import text
    from tests.reference.intervals.results import rows
    from tests.reference.intervals.streams import queries_and_events

    @given(queries_and_events())
    def test_the_engine_gives_the_rows_of_the_twin(drawn):
        query, events = drawn
        assert_same_rows(rows(query, events), engine(text(query), events), context=text(query))

Events are dicts with a numeric `time`; intervals (FROM INTERVALS) are dicts with `name`, `start` and `end`.
"""
