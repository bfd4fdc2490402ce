// Trends with conditions between events: a block of threads per window of a segment looks at all pairs of its vertices.
//
// A vertex is a row read as a state; vertices are ordered by row. Threads take a tile of vertices, one each. What earlier
// tiles add is summed from shared memory, chunk by chunk. Inside a tile its warps take turns: the 32 vertices of a warp
// hand their numbers on one after the other, then all warps after it add them.

#define CHUNK 128
#define SLOTS 4
#define NOT_THERE (-2)
#define NEVER_LOW (-2147483647 - 1)

struct Vertices {
    int row;
    int state;
    long long tick;
};

// Columns are laid out one after the other, `rows` long each. Comparisons look at one of the first columns of codes in
// the earlier row; those of slots below SLOTS are staged.
struct Query {
    long long rows;
    const int* vertex_row;
    const unsigned char* vertex_state;
    const long long* tick;
    const int* codes;
    const long long* guards;
    const int* incoming;     // transitions of state s: incoming[s] to incoming[s + 1]
    const int* source;       // per transition
    const int* guard;        // per transition, -1: none
    const int* first_test;   // per transition, and one more
    const int* pair;         // per transition, -1: none
    const int* tests;        // per test: column of the earlier row, of the later row, operator
    const int* pairs;        // per pair test: columns of the earlier and the later row, place, width
    const unsigned char* answers;
    int staged;              // columns that are staged
    int contiguous;
};

// Codes that compare true are those with (unsigned)(code - low) <= span, but for `hole`. NULL is below 0, low is not.
struct Range {
    int low;
    unsigned span;
    int hole;
};

__device__ inline Range range_of(int how, int code) {
    Range none = {NEVER_LOW, 0u, -1};
    if (code < 0 || (how == 0 && code == 0)) return none;
    if (how == 0) return {0, (unsigned)(code - 1), -1};
    if (how == 1) return {0, (unsigned)code, -1};
    if (how == 2) return {code + 1, (unsigned)(2147483647 - code - 1), -1};
    if (how == 3) return {code, (unsigned)(2147483647 - code), -1};
    if (how == 4) return {code, 0u, -1};
    return {0, 2147483647u, code};
}

__device__ inline bool inside(int code, const Range& range) { return (unsigned)(code - range.low) <= range.span; }

struct Sources {
    int code[SLOTS][CHUNK];
    Number number[NUMBERS][CHUNK];
    long long tick[CHUNK];
    int row[CHUNK];
    int state[CHUNK];
};

struct Turn {
    int code[SLOTS][32];
    Number number[NUMBERS][32];
    long long tick[32];
    int row[32];
    int state[32];
};

template <class Place>
__device__ inline void publish(Place& place, int at, const Query& query, const Vertices& vertex) {
    for (int slot = 0; slot < query.staged; slot++) place.code[slot][at] = query.codes[slot * query.rows + vertex.row];
    place.tick[at] = vertex.tick;
    place.row[at] = vertex.row;
    place.state[at] = vertex.state;
}

// Whether a transition may be taken from the vertex at a place, whatever their order in time.
template <class Place>
__device__ bool leads(int t, const Place& place, int at, const Query& query, const Vertices& later) {
    if (query.contiguous && place.tick[at] < later.tick - 1) return false;
    if (query.guard[t] >= 0 && place.tick[at] < query.guards[query.guard[t] * query.rows + later.row]) return false;
    for (int j = query.first_test[t]; j < query.first_test[t + 1]; j++) {
        const int* test = query.tests + 3 * j;
        int code = test[0] < SLOTS ? place.code[test[0]][at] : query.codes[test[0] * query.rows + place.row[at]];
        Range range = range_of(test[2], query.codes[test[1] * query.rows + later.row]);
        if (!inside(code, range) || code == range.hole) return false;
    }
    if (query.pair[t] < 0) return true;
    const int* pair = query.pairs + 4 * query.pair[t];
    long long line = (long long)query.codes[pair[0] * query.rows + place.row[at]] * pair[3];
    return query.answers[pair[2] + line + query.codes[pair[1] * query.rows + later.row]];
}

// Whether the vertex at a place may come directly before another one. Transitions between the same two states exclude
// each other.
template <class Place>
__device__ bool precedes(const Place& place, int at, const Query& query, const Vertices& later) {
    for (int t = query.incoming[later.state]; t < query.incoming[later.state + 1]; t++)
        if (query.source[t] == place.state[at] && leads(t, place, at, query, later)) return true;
    return false;
}

// The transition from a state to itself and its ranges, where there is nothing else.
struct OnlyRanges {
    Range first, second;
};

// Bits of those of the 32 vertices of a turn that may come directly before the vertex.
__device__ unsigned find_before(const Turn& turn, int count, const Query& query, int way, const OnlyRanges& only,
                                const Vertices& later) {
    unsigned found = 0;
    for (int i = 0; i < count; i++) {
        bool follows = turn.tick[i] < later.tick;
        if (way == 0)
            follows = follows && precedes(turn, i, query, later);
        else
            follows = follows && inside(turn.code[0][i], only.first) && (way == 1 || inside(turn.code[1][i], only.second));
        found |= (unsigned)follows << i;
    }
    return found;
}

// The sum over sources [0, end) of a chunk.
__device__ inline void add_chunk(const Sources& sources, int end, const Query& query, int way, const OnlyRanges& only,
                                 const Vertices& later, Number* sums) {
    if (way == 1) {
#pragma unroll 8
        for (int i = 0; i < end; i++)
            if (inside(sources.code[0][i], only.first))
                for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], sources.number[k][i]);
    } else if (way == 2) {
#pragma unroll 8
        for (int i = 0; i < end; i++)
            if (inside(sources.code[0][i], only.first) && inside(sources.code[1][i], only.second))
                for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], sources.number[k][i]);
    } else {
        for (int i = 0; i < end; i++)
            if (precedes(sources, i, query, later))
                for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], sources.number[k][i]);
    }
}

// A vertex's own numbers from the sum over those before it.
struct Finish {
    bool begins;
    Number value[SUMS ? SUMS : 1];
    bool counts[SUMS ? SUMS : 1];
};

__device__ inline void finish_vertex(const Finish& how, const Number* sums, Number* own, Modulus modulus) {
    Number count = how.begins ? add(sums[0], ONE) : sums[0];
    count = settle(count, modulus);
#if KIND == 2
    if (count != ZERO && how.counts[0]) count = add(count, how.value[0]);
#endif
    own[0] = count;
#pragma unroll
    for (int k = 1; k < NUMBERS; k++) {
        Number sum = settle(sums[k], modulus);
        if (how.counts[k - 1]) sum = settle(add(sum, multiply(count, how.value[k - 1], modulus)), modulus);
        own[k] = sum;
    }
}

// One block per entry of `which`. `way` is 1 or 2 for one state that follows itself under so many comparisons of the
// first columns and nothing else, else 0.
extern "C" __global__ void sum_over_edges(
    const int* which, const long long* vertex_start, const long long* vertex_end, const long long* window,
    const int* vertex_row, const unsigned char* vertex_state, const long long* tick, long long rows, const int* codes,
    const long long* guards, const long long* start_guards, const long long* final_guards, const int* incoming,
    const int* source, const int* guard, const int* first_test, const int* pair, const int* tests, const int* pairs,
    const unsigned char* answers, const int* starts, const int* finals, int staged, int contiguous, int way,
    const Number* values, const unsigned* value_states, unsigned long long prime, double inverse, Number* numbers,
    long long vertices, Number* results) {
    __shared__ Sources sources;
    __shared__ Turn turns[2];
    __shared__ Number ended[NUMBERS][32];
    Modulus modulus = {prime, inverse};
    Query query = {rows, vertex_row, vertex_state, tick, codes, guards, incoming, source, guard, first_test, pair, tests,
                   pairs, answers, staged, contiguous};
    int problem = which[blockIdx.x];
    long long first = vertex_start[problem], last = vertex_end[problem], here = window[problem];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    Number total[NUMBERS];
    for (int k = 0; k < NUMBERS; k++) total[k] = ZERO;

    for (long long tile = first; tile < last; tile += blockDim.x) {
        long long mine = tile + threadIdx.x;
        bool live = mine < last;
        Vertices vertex = {0, 0, 0};
        Number sums[NUMBERS], own[NUMBERS];
        Finish finish;
        OnlyRanges only;
        bool ends = false;
        for (int k = 0; k < NUMBERS; k++) sums[k] = own[k] = ZERO;
        if (live) {
            vertex.row = vertex_row[mine];
            vertex.state = vertex_state[mine];
            vertex.tick = tick[vertex.row];
            int begin = starts[vertex.state], end = finals[vertex.state];
            finish.begins = begin != NOT_THERE && (begin < 0 || here >= start_guards[begin * rows + vertex.row]);
            ends = end != NOT_THERE && (end < 0 || here <= final_guards[end * rows + vertex.row]);
            for (int k = 0; k < (KIND == 2 ? 1 : SUMS); k++) {
                finish.value[k] = values[k * rows + vertex.row];
                finish.counts[k] = value_states[k] >> vertex.state & 1;
            }
            if (way > 0) only.first = range_of(tests[2], codes[tests[1] * rows + vertex.row]);
            if (way > 1) only.second = range_of(tests[5], codes[tests[4] * rows + vertex.row]);
        }

        // Vertices before the tile: those of its first tick come before its later ticks alone.
        long long first_tick = tick[vertex_row[tile]], clear = tile;
        while (clear > first && tick[vertex_row[clear - 1]] == first_tick) clear--;
        long long from = first;
        if (contiguous)
            for (from = clear; from > first && tick[vertex_row[from - 1]] >= first_tick - 1;) from--;
        for (long long chunk = from; chunk < tile; chunk += CHUNK) {
            int count = tile - chunk < CHUNK ? (int)(tile - chunk) : CHUNK;
            __syncthreads();
            for (int i = threadIdx.x; i < count; i += blockDim.x) {
                Vertices earlier = {vertex_row[chunk + i], vertex_state[chunk + i], 0};
                earlier.tick = tick[earlier.row];
                publish(sources, i, query, earlier);
                for (int k = 0; k < NUMBERS; k++) sources.number[k][i] = numbers[k * vertices + chunk + i];
            }
            __syncthreads();
            if (!live) continue;
            long long reach = vertex.tick > first_tick ? tile : clear;
            int end = reach - chunk < count ? (int)(reach - chunk) : count;
            add_chunk(sources, end, query, way, only, vertex, sums);
            for (int k = 0; k < NUMBERS; k++) sums[k] = settle_if_large(sums[k], modulus);
        }

        for (int turn = 0; turn < warps && tile + 32 * turn < last; turn++) {
            Turn& at = turns[turn & 1];
            int count = last - tile - 32 * turn < 32 ? (int)(last - tile - 32 * turn) : 32;
            if (warp == turn) {
                if (live) publish(at, lane, query, vertex);
                __syncwarp();
                unsigned before = live ? find_before(at, count, query, way, only, vertex) : 0;
                for (int i = 0; i < count; i++) {
                    if (lane == i) finish_vertex(finish, sums, own, modulus);
                    for (int k = 0; k < NUMBERS; k++) {
                        Number number = __shfl_sync(0xffffffffu, own[k], i);
                        if (before >> i & 1) sums[k] = add(sums[k], number);
                    }
                }
                if (live)
                    for (int k = 0; k < NUMBERS; k++) {
                        at.number[k][lane] = own[k];
                        numbers[k * vertices + mine] = own[k];
                    }
            }
            __syncthreads();
            if (warp > turn && live) {
                unsigned before = find_before(at, count, query, way, only, vertex);
                for (int i = 0; i < count; i++)
                    if (before >> i & 1)
                        for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], at.number[k][i]);
                for (int k = 0; k < NUMBERS; k++) sums[k] = settle_if_large(sums[k], modulus);
            }
        }
        if (ends)
            for (int k = 0; k < NUMBERS; k++) total[k] = settle_if_large(add(total[k], own[k]), modulus);
    }

    for (int k = 0; k < NUMBERS; k++) {
        total[k] = settle(total[k], modulus);
        for (int step = 16; step > 0; step >>= 1)
            total[k] = add(total[k], __shfl_xor_sync(0xffffffffu, total[k], step));
        if (lane == 0) ended[k][warp] = settle(total[k], modulus);
    }
    __syncthreads();
    if (threadIdx.x < NUMBERS) {
        Number sum = ZERO;
        for (int i = 0; i < warps; i++) sum = add(sum, ended[threadIdx.x][i]);
        results[(long long)problem * NUMBERS + threadIdx.x] = settle(sum, modulus);
    }
}
