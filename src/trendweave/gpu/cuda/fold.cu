// Trends without conditions between events: the past of a row is one vector, the totals per state, and a piece of rows is
// a matrix that takes such a vector to the next one. State number STATES, which is defined before this text, is the empty
// past.
//
// A vector has NUMBERS * WIDE numbers; number k of state s stands at k * WIDE + s. A matrix is one vector per state in
// which the past may have ended.

#define WIDE (STATES + 1)
#define LENGTH (NUMBERS * WIDE)
#define NEW_TICK (1u << 31)

// One of the numbers of a vector, in registers where the plan names each state.
struct Totals {
    Number of[WIDE];
};

// What one row, read as a state, adds, from the sum of what it may follow: to the totals at once if nothing else happens
// at its time.
__device__ inline void add_vertex(int state, const Number* before, long long row, long long rows, const Number* values,
                                  const unsigned* value_states, Totals* target, Modulus modulus) {
    Number count = settle(before[0], modulus);
#if KIND == 2
    if (count != ZERO && (value_states[0] >> state & 1)) count = add(count, values[row]);
#endif
#pragma unroll
    for (int k = 1; k < NUMBERS; k++) {
        Number sum = before[k];
        if (value_states[k - 1] >> state & 1)
            sum = add(settle(sum, modulus), multiply(count, values[(k - 1) * rows + row], modulus));
        target[k].of[state] = settle(add(target[k].of[state], settle(sum, modulus)), modulus);
    }
    target[0].of[state] = settle(add(target[0].of[state], count), modulus);
}

// What the plan says: what a row adds, and the totals of states in which trends may end.
@PLAN@

__device__ inline void add_changes(unsigned touched, Totals* total, Totals* change, Modulus modulus) {
#pragma unroll
    for (int state = 0; state < STATES; state++)
        if (touched >> state & 1)
#pragma unroll
            for (int k = 0; k < NUMBERS; k++) {
                total[k].of[state] = settle(add(total[k].of[state], change[k].of[state]), modulus);
                change[k].of[state] = ZERO;
            }
}

// One thread per piece and past: `bases` is WIDE, or 1 for pieces that are windows, whose totals are found at once.
extern "C" __global__ void fold(const long long* piece_start, const long long* piece_end, long long pieces, int bases,
                                const unsigned* packed, long long rows, const Number* values,
                                const unsigned* value_states, unsigned long long prime, double inverse, Number* out) {
    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= pieces * bases) return;
    Modulus modulus = {prime, inverse};
    Totals total[NUMBERS], change[NUMBERS];
    int basis = bases == 1 ? STATES : (int)(thread % bases);
#pragma unroll
    for (int k = 0; k < NUMBERS; k++)
#pragma unroll
        for (int state = 0; state < WIDE; state++) {
            total[k].of[state] = k == 0 && state == basis ? ONE : ZERO;
            change[k].of[state] = ZERO;
        }
    long long row = piece_start[thread / bases], end = piece_end[thread / bases];
    unsigned next = row < end ? packed[row] : 0;
    unsigned touched = 0;
    while (row < end) {
        unsigned here = next & ~NEW_TICK;
        next = row + 1 < end ? packed[row + 1] : NEW_TICK;
        if (!touched && (next & NEW_TICK) && !(here & (here - 1))) {
            add_row(here, row, rows, values, value_states, total, total, modulus);
        } else {
            touched |= here;
            add_row(here, row, rows, values, value_states, total, change, modulus);
            if (next & NEW_TICK) {
                add_changes(touched, total, change, modulus);
                touched = 0;
            }
        }
        row++;
    }
#pragma unroll
    for (int k = 0; k < NUMBERS; k++) {
        if (bases == 1) out[thread * NUMBERS + k] = ended(total[k].of, 1, modulus);
        else
#pragma unroll
            for (int state = 0; state < WIDE; state++) out[thread * LENGTH + k * WIDE + state] = total[k].of[state];
    }
}

// vector = vector * matrix
__device__ void apply(Number* vector, Number* next, const Number* matrix, Modulus modulus) {
    for (int k = 0; k < NUMBERS; k++)
        for (int j = 0; j < WIDE; j++) {
            Number sum = ZERO;
            for (int i = 0; i < WIDE; i++) {
                sum = add(sum, multiply(vector[(k * WIDE + i) * blockDim.x], matrix[i * LENGTH + j], modulus));
                if (k > 0)
                    sum = add(sum, multiply(vector[i * blockDim.x], matrix[i * LENGTH + k * WIDE + j], modulus));
            }
            next[(k * WIDE + j) * blockDim.x] = settle(sum, modulus);
        }
    for (int i = 0; i < LENGTH; i++) vector[i * blockDim.x] = next[i * blockDim.x];
}

// The products of each `fan` matrices: one thread per product and past.
extern "C" __global__ void join_pieces(const Number* matrices, long long count, int fan, unsigned long long prime,
                                       double inverse, Number* out) {
    extern __shared__ unsigned long long shared_words[];
    long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long group = thread / WIDE;
    if (group * fan >= count) return;
    Modulus modulus = {prime, inverse};
    Number* vector = (Number*)shared_words + threadIdx.x;
    Number* next = vector + LENGTH * blockDim.x;
    for (int i = 0; i < LENGTH; i++) vector[i * blockDim.x] = ZERO;
    vector[(thread % WIDE) * blockDim.x] = ONE;
    for (long long piece = group * fan; piece < count && piece < (group + 1) * fan; piece++)
        apply(vector, next, matrices + piece * WIDE * LENGTH, modulus);
    for (int i = 0; i < LENGTH; i++) out[thread * LENGTH + i] = vector[i * blockDim.x];
}

// The totals of all windows, each made of the pieces [first_piece, end_piece). Level l, which begins at matrix
// level_start[l], has the products of fan**l pieces each.
extern "C" __global__ void sum_windows(const Number* matrices, const long long* level_start, int levels, int fan,
                                       const long long* first_piece, const long long* end_piece, long long windows,
                                       unsigned long long prime, double inverse, Number* results) {
    extern __shared__ unsigned long long shared_words[];
    long long window = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (window >= windows) return;
    Modulus modulus = {prime, inverse};
    Number* vector = (Number*)shared_words + threadIdx.x;
    Number* next = vector + LENGTH * blockDim.x;
    for (int i = 0; i < LENGTH; i++) vector[i * blockDim.x] = ZERO;
    vector[STATES * blockDim.x] = ONE;
    long long piece = first_piece[window], end = end_piece[window];
    while (piece < end) {
        int level = 0;
        long long width = 1;
        while (level + 1 < levels && piece % (width * fan) == 0 && piece + width * fan <= end) {
            level++;
            width *= fan;
        }
        apply(vector, next, matrices + (level_start[level] + piece / width) * WIDE * LENGTH, modulus);
        piece += width;
    }
    for (int k = 0; k < NUMBERS; k++)
        results[window * NUMBERS + k] = ended(vector + k * WIDE * blockDim.x, blockDim.x, modulus);
}
