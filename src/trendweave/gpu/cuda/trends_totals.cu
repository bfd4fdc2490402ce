// Trends without conditions between events: the past of a row is one vector, the totals per state, and a piece of rows is
// a matrix that takes such a vector to the next one. State number `states` is the empty past.
//
// A vector has NUMBERS * (states + 1) numbers; number k of state s stands at k * (states + 1) + s. A matrix is one vector
// per state in which the past may have ended.

#define NEW_TICK (1u << 31)

// Whether each row may be read as each state (bit s), and whether it begins a tick. Letters are words of 8 bytes, or
// one byte per row.
extern "C" __global__ void pack_states(const unsigned char* letters, int letter_bytes, long long words,
                                       const long long* tick, const bool* outside, const int* variable, int states,
                                       long long rows, unsigned* packed) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    unsigned found = row == 0 || tick[row] != tick[row - 1] ? NEW_TICK : 0;
    if (outside == 0 || !outside[row])
        for (int state = 0; state < states; state++) {
            long long at = row * words + (variable[state] >> 6);
            unsigned long long letter = letter_bytes == 1 ? letters[at] : ((const unsigned long long*)letters)[at];
            found |= (unsigned)(letter >> (variable[state] & 63) & 1) << state;
        }
    packed[row] = found;
}

struct Steps {
    int states;
    const int* source_from;
    const int* sources;
    const unsigned* value_states;
};

__device__ Number before(const Steps& steps, int state, const Number* total, int number) {
    int wide = (steps.states + 1) * number;
    Number sum = ZERO;
    for (int j = steps.source_from[state]; j < steps.source_from[state + 1]; j++)
        sum = add(sum, total[(wide + steps.sources[j]) * blockDim.x]);
    return sum;
}

// What one row, read as a state, adds: to the totals at once if nothing else happens at its time.
__device__ void add_row(const Steps& steps, int state, long long row, long long rows, const Number* values,
                        const Number* total, Number* target, Modulus modulus) {
    Number count = settle(before(steps, state, total, 0), modulus);
#if KIND == 2
    if (count != ZERO && (steps.value_states[0] >> state & 1)) count = add(count, values[row]);
#endif
#pragma unroll
    for (int k = 1; k < NUMBERS; k++) {
        Number sum = before(steps, state, total, k);
        if (steps.value_states[k - 1] >> state & 1)
            sum = add(settle(sum, modulus), multiply(count, values[(k - 1) * rows + row], modulus));
        Number* at = target + (k * (steps.states + 1) + state) * blockDim.x;
        *at = settle(add(*at, settle(sum, modulus)), modulus);
    }
    target += state * blockDim.x;
    *target = settle(add(*target, count), modulus);
}

__device__ void add_changes(unsigned touched, int states, Number* total, Number* change, Modulus modulus) {
    for (; touched; touched &= touched - 1) {
        int state = __ffs((int)touched) - 1;
        for (int k = 0; k < NUMBERS; k++) {
            int at = (k * (states + 1) + state) * blockDim.x;
            total[at] = settle(add(total[at], change[at]), modulus);
            change[at] = ZERO;
        }
    }
}

// One thread per piece and past: `bases` is states + 1, or 1 for pieces that nothing comes before.
extern "C" __global__ void sum_pieces(const long long* piece_start, const long long* piece_end, long long pieces,
                                      int bases, const unsigned* packed, long long rows, int states,
                                      const int* source_from, const int* sources, const Number* values,
                                      const unsigned* value_states, unsigned long long prime, double inverse,
                                      Number* out) {
    extern __shared__ unsigned long long shared_words[];
    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= pieces * bases) return;
    Modulus modulus = {prime, inverse};
    Steps steps = {states, source_from, sources, value_states};
    int length = NUMBERS * (states + 1);
    Number* total = (Number*)shared_words + threadIdx.x;
    Number* change = total + length * blockDim.x;
    for (int i = 0; i < length; i++) total[i * blockDim.x] = change[i * blockDim.x] = ZERO;
    int basis = bases == 1 ? states : (int)(thread % bases);
    total[basis * blockDim.x] = ONE;
    long long row = piece_start[thread / bases], end = piece_end[thread / bases];
    unsigned next = row < end ? packed[row] : 0;
    unsigned touched = 0;
    while (row < end) {
        unsigned here = next & ~NEW_TICK;
        next = row + 1 < end ? packed[row + 1] : NEW_TICK;
        if (!touched && (next & NEW_TICK) && !(here & (here - 1))) {
            if (here) add_row(steps, __ffs((int)here) - 1, row, rows, values, total, total, modulus);
        } else {
            touched |= here;
            for (; here; here &= here - 1)
                add_row(steps, __ffs((int)here) - 1, row, rows, values, total, change, modulus);
            if (next & NEW_TICK) {
                add_changes(touched, states, total, change, modulus);
                touched = 0;
            }
        }
        row++;
    }
    for (int i = 0; i < length; i++) out[thread * length + i] = total[i * blockDim.x];
}

// vector = vector * matrix
__device__ void apply(Number* vector, Number* next, const Number* matrix, int states, Modulus modulus) {
    int wide = states + 1, length = NUMBERS * wide;
    for (int k = 0; k < NUMBERS; k++)
        for (int j = 0; j < wide; j++) {
            Number sum = ZERO;
            for (int i = 0; i < wide; i++) {
                sum = add(sum, multiply(vector[(k * wide + i) * blockDim.x], matrix[i * length + j], modulus));
                if (k > 0)
                    sum = add(sum, multiply(vector[i * blockDim.x], matrix[i * length + k * wide + j], modulus));
            }
            next[(k * wide + j) * blockDim.x] = settle(sum, modulus);
        }
    for (int i = 0; i < length; i++) vector[i * blockDim.x] = next[i * blockDim.x];
}

// The products of each `fan` matrices: one thread per product and past.
extern "C" __global__ void join_pieces(const Number* matrices, long long count, int fan, int states,
                                       unsigned long long prime, double inverse, Number* out) {
    extern __shared__ unsigned long long shared_words[];
    int wide = states + 1, length = NUMBERS * wide;
    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long group = thread / wide;
    if (group * fan >= count) return;
    Modulus modulus = {prime, inverse};
    Number* vector = (Number*)shared_words + threadIdx.x;
    Number* next = vector + length * blockDim.x;
    for (int i = 0; i < length; i++) vector[i * blockDim.x] = ZERO;
    vector[(thread % wide) * blockDim.x] = ONE;
    for (long long piece = group * fan; piece < count && piece < (group + 1) * fan; piece++)
        apply(vector, next, matrices + piece * wide * length, states, modulus);
    for (int i = 0; i < length; i++) out[thread * length + i] = vector[i * blockDim.x];
}

// The totals of all windows, each made of the pieces [first_piece, end_piece). Level l, which begins at matrix
// level_start[l], has the products of fan**l pieces each.
extern "C" __global__ void sum_windows(const Number* matrices, const long long* level_start, int levels, int fan,
                                       const long long* first_piece, const long long* end_piece, long long windows,
                                       int states, unsigned final_states, unsigned long long prime, double inverse,
                                       Number* results) {
    extern __shared__ unsigned long long shared_words[];
    int wide = states + 1, length = NUMBERS * wide;
    long long window = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (window >= windows) return;
    Modulus modulus = {prime, inverse};
    Number* vector = (Number*)shared_words + threadIdx.x;
    Number* next = vector + length * blockDim.x;
    for (int i = 0; i < length; i++) vector[i * blockDim.x] = ZERO;
    vector[states * blockDim.x] = ONE;
    long long piece = first_piece[window], end = end_piece[window];
    while (piece < end) {
        int level = 0;
        long long width = 1;
        while (level + 1 < levels && piece % (width * fan) == 0 && piece + width * fan <= end) {
            level++;
            width *= fan;
        }
        apply(vector, next, matrices + (level_start[level] + piece / width) * wide * length, states, modulus);
        piece += width;
    }
    for (int k = 0; k < NUMBERS; k++) {
        Number sum = ZERO;
        for (int state = 0; state < states; state++)
            if (final_states >> state & 1) sum = add(sum, vector[(k * wide + state) * blockDim.x]);
        results[window * NUMBERS + k] = settle(sum, modulus);
    }
}

// The totals of windows that are one piece each, from their vectors.
extern "C" __global__ void read_vectors(const Number* vectors, long long windows, int states, unsigned final_states,
                                        unsigned long long prime, double inverse, Number* results) {
    long long window = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (window >= windows) return;
    Modulus modulus = {prime, inverse};
    for (int k = 0; k < NUMBERS; k++) {
        Number sum = ZERO;
        for (int state = 0; state < states; state++)
            if (final_states >> state & 1) sum = add(sum, vectors[(window * NUMBERS + k) * (states + 1) + state]);
        results[window * NUMBERS + k] = settle(sum, modulus);
    }
}
