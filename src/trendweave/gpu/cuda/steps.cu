// Plans of many steps: what each asks for lies in tables, so that vertices of all states are gone over together.
//
// Defined before this text: INCOMING, the steps into state s are INCOMING[s] to INCOMING[s + 1]; STEPS, per step its
// source, its guard or -1, where its tests begin, the number of its pair test or -1, and the columns of that test; TESTS,
// per test the column of the earlier row, the comparison, the column of the later one. MOST_TESTS, GUARDED and PAIRED say
// what any step asks for.

// Codes that compare true are those with (unsigned)(code - low) <= span, but for `hole`. NULL is below 0, low is not.
struct Range {
    int low;
    unsigned span;
    int hole;
};

__device__ inline Range range_of(int how, int code) {
    if (code < 0 || (how == 0 && code == 0)) return {-2147483647 - 1, 0u, -1};
    if (how == 0) return {0, (unsigned)(code - 1), -1};
    if (how == 1) return {0, (unsigned)code, -1};
    if (how == 2) return {code + 1, (unsigned)(2147483647 - code - 1), -1};
    if (how == 3) return {code, (unsigned)(2147483647 - code), -1};
    if (how == 4) return {code, 0u, -1};
    return {0, 2147483647u, code};
}

struct Asked {
    Vertex vertex;
    int source;
    long long since;
    Range range[MOST_TESTS ? MOST_TESTS : 1];
    int column[MOST_TESTS ? MOST_TESTS : 1];
    const unsigned char* answers;
    long long width;
    int value;
};

__device__ inline Asked ask(const Vertex& vertex, const Columns& columns) {
    Asked asked;
    asked.vertex = vertex;
    return asked;
}

__device__ inline void ask_step(int t, const Columns& columns, Asked& asked) {
    const int* step = STEPS + 6 * t;
    const int row = asked.vertex.row;
    asked.source = step[0];
    asked.since = CONTIGUOUS ? asked.vertex.tick - 1 : -9223372036854775807ll - 1;
    if (GUARDED && step[1] >= 0) asked.since = max(asked.since, columns.guards[step[1] * columns.rows + row]);
#pragma unroll
    for (int k = 0; k < MOST_TESTS; k++) {
        const int* test = TESTS + 3 * (step[2] + k);
        bool asks = step[2] + k < step[6 + 2];
        asked.range[k] = {-2147483647 - 1, 4294967295u, -1};
        asked.column[k] = asks ? test[0] : 0;
        if (asks) asked.range[k] = range_of(test[1], columns.codes[test[2] * columns.rows + row]);
    }
    asked.answers = 0;
    if (PAIRED && step[3] >= 0) {
        asked.answers = columns.answers + columns.answers_from[step[3]] + columns.codes[step[5] * columns.rows + row];
        asked.width = columns.answers_width[step[3]];
        asked.value = step[4];
    }
}

struct Step {
    template <class Place>
    __device__ static inline bool leads(const Source& one, const Place& place, int i, const Columns& columns,
                                        const Asked& asked) {
        bool holds = one.state == asked.source;
        if (GUARDED || CONTIGUOUS) holds = holds && place.tick[i] >= asked.since;
#pragma unroll
        for (int k = 0; k < MOST_TESTS; k++) {
            int column = asked.column[k];
            int code = ALL_STAGED || column < STAGED ? place.code[column][i]
                                                     : columns.codes[column * columns.rows + place.row[i]];
            holds = holds && (unsigned)(code - asked.range[k].low) <= asked.range[k].span && code != asked.range[k].hole;
        }
        if (PAIRED && holds && asked.answers)
            holds = asked.answers[columns.codes[asked.value * columns.rows + place.row[i]] * asked.width];
        return holds;
    }
};

template <bool ADD, class Place>
__device__ inline unsigned follow(const Place& place, int end, const Columns& columns, Asked& asked, Number* sums) {
    unsigned found = 0;
    int state = asked.vertex.state;
    for (int t = INCOMING[state]; t < INCOMING[state + 1]; t++) {
        ask_step(t, columns, asked);
        found |= take<ADD, Step>(place, end, columns, asked, sums);
    }
    return found;
}
