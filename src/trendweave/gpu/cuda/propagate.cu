// Trends with conditions between events: a block of threads per window of a segment looks at all pairs of its vertices.
//
// A vertex is a row read as a state; vertices are ordered by row. Threads take a tile of vertices, one each. What earlier
// tiles add is summed from shared memory, chunk by chunk. Inside a tile its warps take turns: the 32 vertices of a warp
// hand their numbers on one after the other, then all warps after it add them.
//
// Before this text STAGED and CONTIGUOUS are defined: how many columns of codes of earlier vertices lie in shared memory,
// and whether one vertex follows another at the next tick alone.

#define CHUNK 128
#define SLOTS (STAGED ? STAGED : 1)

// Columns are laid out one after the other, `rows` long each.
struct Columns {
    long long rows;
    const int* codes;
    const long long* guards;        // the earliest tick of what a row may follow
    const long long* start_guards;  // the first window in which trends may begin with a row
    const long long* final_guards;  // the last window in which they may end with it
    const unsigned char* answers;   // of pairs of values, one table after the other
    const long long* answers_from;
    const long long* answers_width;
};

struct Vertex {
    int row;
    int state;
    long long tick;
};

// So many earlier vertices, in shared memory.
template <int SIZE>
struct __align__(16) Sources {
    int code[SLOTS][SIZE];
    int state[SIZE];
    Number number[NUMBERS][SIZE];
    long long tick[SIZE];
    int row[SIZE];
};

// One of them in registers: what most conditions ask for.
struct Source {
    int state;
    int code[SLOTS];
};

struct __align__(16) Four {
    int a, b, c, d;
};

struct __align__(16) Two {
    Number a, b;
};

template <class Place>
__device__ inline void publish(Place& place, int at, const Columns& columns, const Vertex& vertex) {
    for (int k = 0; k < STAGED; k++) place.code[k][at] = columns.codes[k * columns.rows + vertex.row];
    place.tick[at] = vertex.tick;
    place.row[at] = vertex.row;
    place.state[at] = vertex.state;
}

// Bounds of codes of earlier vertices, from the code of a later one. NULL is below 0, and meets no comparison.
__device__ inline unsigned below(int code) { return code < 0 ? 0u : (unsigned)code; }
__device__ inline unsigned up_to(int code) { return code < 0 ? 0u : (unsigned)code + 1; }
__device__ inline int above(int code) { return code < 0 ? 2147483647 : code; }
__device__ inline int beginning_with(int code) { return code < 0 ? 2147483647 : code - 1; }
__device__ inline int same_as(int code) { return code < 0 ? -2147483647 - 1 : code; }

template <class Place>
__device__ inline void add_one(const Place& place, int at, Number* sums) {
    for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], place.number[k][at]);
}

// Those of the vertices [0, end) that a vertex follows by a step: their sum is added, or their bits are found, of up to
// 32. Steps between the same two states exclude each other.
template <bool ADD, class Step, class Place, class Asked>
__device__ inline unsigned take(const Place& place, int end, int source, const Columns& columns, const Asked& asked,
                                Number* sums) {
    if (!ADD) {
        unsigned found = 0;
        for (int i = 0; i < end; i++) {
            Source one;
            one.state = place.state[i];
            for (int k = 0; k < STAGED; k++) one.code[k] = place.code[k][i];
            found |= (unsigned)Step::leads(one, place, i, source, columns, asked) << i;
        }
        return found;
    }
    Number more[NUMBERS];  // a second sum: the next addition need not wait for the last one
    for (int k = 0; k < NUMBERS; k++) more[k] = ZERO;
    int i = 0;
#pragma unroll 4
    for (; i + 4 <= end; i += 4) {
        Source first, second, third, fourth;
        Four states = *(const Four*)&place.state[i];
        first.state = states.a, second.state = states.b, third.state = states.c, fourth.state = states.d;
#pragma unroll
        for (int k = 0; k < STAGED; k++) {
            Four codes = *(const Four*)&place.code[k][i];
            first.code[k] = codes.a, second.code[k] = codes.b, third.code[k] = codes.c, fourth.code[k] = codes.d;
        }
        bool a = Step::leads(first, place, i, source, columns, asked);
        bool b = Step::leads(second, place, i + 1, source, columns, asked);
        bool c = Step::leads(third, place, i + 2, source, columns, asked);
        bool d = Step::leads(fourth, place, i + 3, source, columns, asked);
#pragma unroll
        for (int k = 0; k < NUMBERS; k++) {
            Two one = *(const Two*)&place.number[k][i], other = *(const Two*)&place.number[k][i + 2];
            if (a) sums[k] = add(sums[k], one.a);
            if (b) more[k] = add(more[k], one.b);
            if (c) sums[k] = add(sums[k], other.a);
            if (d) more[k] = add(more[k], other.b);
        }
    }
    for (; i < end; i++) {
        Source one;
        one.state = place.state[i];
        for (int k = 0; k < STAGED; k++) one.code[k] = place.code[k][i];
        if (Step::leads(one, place, i, source, columns, asked)) add_one(place, i, sums);
    }
    for (int k = 0; k < NUMBERS; k++) sums[k] = add(sums[k], more[k]);
    return 0;
}

// What the plan says: what a vertex asks of those before it, which of them it follows, where trends begin and end.
@PLAN@

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
// other windows.
//
// Long windows are cut into spans [span_first, span_last) of vertices. What comes before a span is summed by many blocks
// first (`across`): blockIdx.x says which of its vertices, blockIdx.y which of the `slices` of earlier ones, and
// `partial` takes the sums. Then one block goes over the span. Without spans span_first is below 0.
extern "C" __global__ void propagate(
    const int* which, const long long* vertex_start, const long long* vertex_end, const long long* scratch_start,
    const long long* window, const int* vertex_row, const unsigned char* vertex_state, const long long* tick,
    long long rows, const int* codes, const long long* guards, const long long* start_guards,
    const long long* final_guards, const unsigned char* answers, const long long* answers_from,
    const long long* answers_width, const Number* values, const unsigned* value_states, unsigned long long prime,
    double inverse, Number* numbers, long long length, Number* results, long long span_first, long long span_last,
    int across, int slices, Number* partial) {
    __shared__ Sources<CHUNK> sources;
    __shared__ Sources<32> turns[2];
    __shared__ Number ended[NUMBERS][32];
    __shared__ int last_begin[2];  // where the last tick of a turn begins
    Modulus modulus = {prime, inverse};
    Columns columns = {rows, codes, guards, start_guards, final_guards, answers, answers_from, answers_width};
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
        Vertex vertex = {0, 0, 0};
        Number sums[NUMBERS], own[NUMBERS];
        Finish finish;
        Asked asked;
        bool ends = false;
        for (int k = 0; k < NUMBERS; k++) sums[k] = own[k] = ZERO;
        if (live) {
            vertex.row = vertex_row[mine];
            vertex.state = vertex_state[mine];
            vertex.tick = tick[vertex.row];
            finish.begins = may_begin(vertex, here, columns);
            ends = may_end(vertex, here, columns);
            asked = ask(vertex, columns);
            for (int k = 0; k < (KIND == 2 ? 1 : SUMS); k++) {
                finish.value[k] = values[k * rows + vertex.row];
                finish.counts[k] = value_states[k] >> vertex.state & 1;
            }
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
        } else if (CONTIGUOUS) {
            for (from = clear; from > lowest && tick[vertex_row[from - 1]] >= first_tick - 1;) from--;
        }
        for (long long chunk = from; chunk < to; chunk += CHUNK) {
            int count = to - chunk < CHUNK ? (int)(to - chunk) : CHUNK;
            __syncthreads();
            for (int i = threadIdx.x; i < count; i += blockDim.x) {
                Vertex earlier = {vertex_row[chunk + i], vertex_state[chunk + i], 0};
                earlier.tick = tick[earlier.row];
                publish(sources, i, columns, earlier);
                for (int k = 0; k < NUMBERS; k++) sources.number[k][i] = own_numbers[k * length + chunk + i];
            }
            __syncthreads();
            if (!live) continue;
            long long reach = vertex.tick > first_tick ? border : clear;
            int end = reach - chunk < count ? (int)(reach - chunk) : count;
            if (end > 0) follow<true>(sources, end, vertex.state, columns, asked, sums);
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
                if (live) publish(at, lane, columns, vertex);
                if (lane == count - 1) last_begin[turn & 1] = tick_lane;
                __syncwarp();
                unsigned before = follow<false>(at, tick_lane, vertex.state, columns, asked, sums);
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
                follow<true>(at, end, vertex.state, columns, asked, sums);
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
