// Trends with conditions between events: a block of threads per window of a segment looks at all pairs of its vertices.
//
// A vertex is a row read as a state; vertices are ordered by row. Threads take a tile of vertices, one each. What earlier
// tiles add is summed from shared memory, chunk by chunk. Inside a tile its warps take turns: the 32 vertices of a warp
// hand their numbers on one after the other, then all warps after it add them.

#define CHUNK 128
#define SLOTS 4
#define NOT_THERE (-2)
#define BEFORE_ALL (-9223372036854775807ll - 1)
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
    int states;
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

// So many earlier vertices, in shared memory.
template <int SIZE>
struct __align__(16) Sources {
    int code[SLOTS][SIZE];
    Number number[NUMBERS][SIZE];
    long long tick[SIZE];
    int row[SIZE];
    int state[SIZE];
};

struct __align__(16) Four {
    int a, b, c, d;
};

struct __align__(16) Two {
    Number a, b;
};

template <class Place>
__device__ inline void publish(Place& place, int at, const Query& query, const Vertices& vertex) {
    for (int slot = 0; slot < query.staged; slot++) place.code[slot][at] = query.codes[slot * query.rows + vertex.row];
    place.tick[at] = vertex.tick;
    place.row[at] = vertex.row;
    place.state[at] = vertex.state;
}

// Bits of those of the up to 32 vertices from `at` on, of the `found` ones, whose code is inside a range.
template <class Place>
__device__ unsigned keep_inside(unsigned found, const Place& place, int at, int slot, const Range& range) {
    unsigned kept = 0;
#pragma unroll 8
    for (int i = 0; i < 32; i += 4) {
        Four codes = *(const Four*)&place.code[slot][at + i];
        kept |= (unsigned)(inside(codes.a, range) && codes.a != range.hole) << i;
        kept |= (unsigned)(inside(codes.b, range) && codes.b != range.hole) << (i + 1);
        kept |= (unsigned)(inside(codes.c, range) && codes.c != range.hole) << (i + 2);
        kept |= (unsigned)(inside(codes.d, range) && codes.d != range.hole) << (i + 3);
    }
    return found & kept;
}

// Bits of those of the vertices [at, at + count), at most 32, from which a transition may be taken to a later one. What
// lies beyond `count` is looked at, and left out.
template <class Place>
__device__ unsigned find_leading(int t, const Place& place, int at, int count, const Query& query,
                                 const Vertices& later) {
    unsigned found = 0xffffffffu >> (32 - count);
    if (query.states > 1) {
        unsigned kept = 0;
        int source = query.source[t];
#pragma unroll 8
        for (int i = 0; i < 32; i++) kept |= (unsigned)(place.state[at + i] == source) << i;
        found &= kept;
    }
    if (query.guard[t] >= 0 || query.contiguous) {
        long long earliest = query.guard[t] < 0 ? BEFORE_ALL : query.guards[query.guard[t] * query.rows + later.row];
        if (query.contiguous) earliest = max(earliest, later.tick - 1);
        for (int i = 0; i < count; i++)
            if (place.tick[at + i] < earliest) found &= ~(1u << i);
    }
    for (int j = query.first_test[t]; found && j < query.first_test[t + 1]; j++) {
        const int* test = query.tests + 3 * j;
        Range range = range_of(test[2], query.codes[test[1] * query.rows + later.row]);
        if (test[0] < SLOTS) {
            found = keep_inside(found, place, at, test[0], range);
            continue;
        }
        for (unsigned left = found; left; left &= left - 1) {
            int i = __ffs((int)left) - 1;
            int code = query.codes[test[0] * query.rows + place.row[at + i]];
            if (!inside(code, range) || code == range.hole) found &= ~(1u << i);
        }
    }
    if (query.pair[t] >= 0) {
        const int* pair = query.pairs + 4 * query.pair[t];
        const unsigned char* answers = query.answers + pair[2] + query.codes[pair[1] * query.rows + later.row];
        for (unsigned left = found; left; left &= left - 1) {
            int i = __ffs((int)left) - 1;
            long long value = query.codes[pair[0] * query.rows + place.row[at + i]];
            if (!answers[value * pair[3]]) found &= ~(1u << i);
        }
    }
    return found;
}

// What the only transition of the only state asks of a code or two.
struct Asked {
    Range first, second;
};

__device__ inline Asked ask(int way, const Query& query, const Vertices& later) {
    Asked asked;
    const int* test = query.tests;
    asked.first = range_of(test[2], query.codes[test[1] * query.rows + later.row]);
    asked.second = asked.first;
    if (way > 1) asked.second = range_of(test[5], query.codes[test[4] * query.rows + later.row]);
    return asked;
}

// Bits of those of the vertices [0, end), at most 32, that may come directly before the vertex. With `way` 1 or 2 there
// is one transition, and `only` has what it asks for. Transitions between the same two states exclude each other.
template <class Place>
__device__ unsigned find_before(const Place& place, int end, const Query& query, int way, const Asked& only,
                                const Vertices& later) {
    unsigned found = 0;
    if (end == 0) return 0;
    if (way == 1)
        for (int i = 0; i < end; i++) found |= (unsigned)inside(place.code[0][i], only.first) << i;
    else if (way == 2)
        for (int i = 0; i < end; i++)
            found |= (unsigned)(inside(place.code[0][i], only.first) && inside(place.code[1][i], only.second)) << i;
    else
        for (int t = query.incoming[later.state]; t < query.incoming[later.state + 1]; t++)
            found |= find_leading(t, place, 0, end, query, later);
    return found;
}

template <class Place>
__device__ inline void add_one(const Place& place, int at, Number* sums) {
    for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], place.number[k][at]);
}

// The sum over those of the vertices [0, end) that may come directly before the vertex.
template <class Place>
__device__ inline void add_all(const Place& place, int end, const Query& query, int way, const Asked& only,
                               const Vertices& later, Number* sums) {
    if (way > 0) {
        Number more[NUMBERS];  // a second sum: the next addition need not wait for the last one
        for (int k = 0; k < NUMBERS; k++) more[k] = ZERO;
        int i = 0;
#pragma unroll 4
        for (; i + 4 <= end; i += 4) {
            Four codes = *(const Four*)&place.code[0][i];
            bool a = inside(codes.a, only.first), b = inside(codes.b, only.first);
            bool c = inside(codes.c, only.first), d = inside(codes.d, only.first);
            if (way == 2) {
                Four others = *(const Four*)&place.code[1][i];
                a = a && inside(others.a, only.second);
                b = b && inside(others.b, only.second);
                c = c && inside(others.c, only.second);
                d = d && inside(others.d, only.second);
            }
#pragma unroll
            for (int k = 0; k < NUMBERS; k++) {
                Two first = *(const Two*)&place.number[k][i], second = *(const Two*)&place.number[k][i + 2];
                if (a) sums[k] = add(sums[k], first.a);
                if (b) more[k] = add(more[k], first.b);
                if (c) sums[k] = add(sums[k], second.a);
                if (d) more[k] = add(more[k], second.b);
            }
        }
        for (; i < end; i++)
            if (inside(place.code[0][i], only.first) && (way == 1 || inside(place.code[1][i], only.second)))
                add_one(place, i, sums);
        for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], more[k]);
        return;
    }
    for (int t = query.incoming[later.state]; t < query.incoming[later.state + 1]; t++)
        for (int at = 0; at < end; at += 32) {
            unsigned found = find_leading(t, place, at, min(end - at, 32), query, later);
            if (!found) continue;
#pragma unroll 8
            for (int i = 0; i < 32; i++)
                if (found >> i & 1) add_one(place, at + i, sums);
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

// One block per entry of `which`; numbers of the vertices of a window stand from scratch_start on, apart from those of
// other windows. `way` is 1 or 2 for one state that follows itself under so many comparisons of the first columns and
// nothing else, else 0.
//
// Long windows are cut into spans [span_first, span_last) of vertices. What comes before a span is summed by many blocks
// first (`across`): blockIdx.x says which of its vertices, blockIdx.y which of the `slices` of earlier ones, and
// `partial` takes the sums. Then one block goes over the span. Without spans span_first is below 0.
extern "C" __global__ void sum_over_edges(
    const int* which, const long long* vertex_start, const long long* vertex_end, const long long* scratch_start,
    const long long* window, const int* vertex_row, const unsigned char* vertex_state, const long long* tick,
    long long rows, const int* codes, const long long* guards, const long long* start_guards,
    const long long* final_guards, const int* incoming, const int* source, const int* guard, const int* first_test,
    const int* pair, const int* tests, const int* pairs, const unsigned char* answers, const int* starts,
    const int* finals, int states, int staged, int contiguous, int way, const Number* values, const unsigned* value_states,
    unsigned long long prime, double inverse, Number* numbers, long long length, Number* results, long long span_first,
    long long span_last, int across, int slices, Number* partial) {
    __shared__ Sources<CHUNK> sources;
    __shared__ Sources<32> turns[2];
    __shared__ Number ended[NUMBERS][32];
    __shared__ int last_begin[2];  // where the last tick of a turn begins
    Modulus modulus = {prime, inverse};
    Query query = {rows, vertex_row, vertex_state, tick, codes, guards, incoming, source, guard, first_test, pair, tests,
                   pairs, answers, states, staged, contiguous};
    int problem = which[across ? 0 : blockIdx.x];
    long long first = vertex_start[problem], last = vertex_end[problem], here = window[problem];
    Number* own_numbers = numbers + (scratch_start[problem] - first);
    bool in_span = span_first >= 0;
    long long begin = in_span ? span_first : first, until = in_span ? span_last : last;
    if (across) {
        begin += (long long)blockIdx.x * blockDim.x;
        until = min(until, begin + blockDim.x);
    }
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    Number total[NUMBERS];
    for (int k = 0; k < NUMBERS; k++) total[k] = ZERO;

    for (long long tile = begin; tile < until; tile += blockDim.x) {
        long long mine = tile + threadIdx.x;
        bool live = mine < until;
        Vertices vertex = {0, 0, 0};
        Number sums[NUMBERS], own[NUMBERS];
        Finish finish;
        Asked only;
        bool ends = false;
        for (int k = 0; k < NUMBERS; k++) sums[k] = own[k] = ZERO;
        if (live) {
            vertex.row = vertex_row[mine];
            vertex.state = vertex_state[mine];
            vertex.tick = tick[vertex.row];
            int start_guard = starts[vertex.state], final_guard = finals[vertex.state];
            finish.begins = start_guard != NOT_THERE &&
                            (start_guard < 0 || here >= start_guards[start_guard * rows + vertex.row]);
            ends = final_guard != NOT_THERE &&
                   (final_guard < 0 || here <= final_guards[final_guard * rows + vertex.row]);
            for (int k = 0; k < (KIND == 2 ? 1 : SUMS); k++) {
                finish.value[k] = values[k * rows + vertex.row];
                finish.counts[k] = value_states[k] >> vertex.state & 1;
            }
            if (way > 0) only = ask(way, query, vertex);
        }

        // Vertices before a border: those of the first tick after it come before later ticks alone.
        long long border = across ? span_first : tile, lowest = across || !in_span ? first : span_first;
        long long first_tick = tick[vertex_row[border]], clear = border;
        while (clear > lowest && tick[vertex_row[clear - 1]] == first_tick) clear--;
        long long from = lowest, to = border;
        if (across) {
            long long chunks = (border - first + CHUNK - 1) / CHUNK, each = (chunks + slices - 1) / slices * CHUNK;
            from = first + blockIdx.y * each;
            to = min(border, from + each);
        } else if (contiguous) {
            for (from = clear; from > lowest && tick[vertex_row[from - 1]] >= first_tick - 1;) from--;
        }
        for (long long chunk = from; chunk < to; chunk += CHUNK) {
            int count = to - chunk < CHUNK ? (int)(to - chunk) : CHUNK;
            __syncthreads();
            for (int i = threadIdx.x; i < count; i += blockDim.x) {
                Vertices earlier = {vertex_row[chunk + i], vertex_state[chunk + i], 0};
                earlier.tick = tick[earlier.row];
                publish(sources, i, query, earlier);
                for (int k = 0; k < NUMBERS; k++) sources.number[k][i] = own_numbers[k * length + chunk + i];
            }
            __syncthreads();
            if (!live) continue;
            long long reach = vertex.tick > first_tick ? border : clear;
            int end = reach - chunk < count ? (int)(reach - chunk) : count;
            if (end > 0) add_all(sources, end, query, way, only, vertex, sums);
            for (int k = 0; k < NUMBERS; k++) sums[k] = settle_if_large(sums[k], modulus);
        }
        if (across) {
            if (live)
                for (int k = 0; k < NUMBERS; k++)
                    partial[((long long)k * slices + blockIdx.y) * (span_last - span_first) + mine - span_first] =
                        settle(sums[k], modulus);
            return;
        }
        if (live && partial)
            for (int k = 0; k < NUMBERS; k++)
                for (int slice = 0; slice < slices; slice++)
                    sums[k] = add(sums[k], partial[((long long)k * slices + slice) * (span_last - span_first) + mine -
                                                   span_first]);

        // Which vertices of the warp come before the tick of this one: those of earlier lanes up to where it begins.
        long long tick_before = __shfl_up_sync(0xffffffffu, vertex.tick, 1);
        unsigned begins = __ballot_sync(0xffffffffu, live && (lane == 0 || vertex.tick != tick_before));
        int tick_lane = live ? 31 - __clz((int)(begins & (0xffffffffu >> (31 - lane)))) : 0;
        for (int turn = 0; turn < warps && tile + 32 * turn < until; turn++) {
            Sources<32>& at = turns[turn & 1];
            int count = until - tile - 32 * turn < 32 ? (int)(until - tile - 32 * turn) : 32;
            if (warp == turn) {
                if (live) publish(at, lane, query, vertex);
                if (lane == count - 1) last_begin[turn & 1] = tick_lane;
                __syncwarp();
                unsigned before = find_before(at, tick_lane, query, way, only, vertex);
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
                        own_numbers[k * length + mine] = own[k];
                    }
            }
            __syncthreads();
            if (warp > turn && live) {
                int end = at.tick[count - 1] < vertex.tick ? count : last_begin[turn & 1];
                add_all(at, end, query, way, only, vertex, sums);
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
        Number* result = results + (long long)problem * NUMBERS + threadIdx.x;
        Number sum = in_span ? *result : ZERO;
        for (int i = 0; i < warps; i++) sum = add(sum, ended[threadIdx.x][i]);
        *result = settle(sum, modulus);
    }
}
