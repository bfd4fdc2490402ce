// Probes with few rows near them, one thread each: how many of these are pairs, and then these. PARAMETERS and PAIR as
// in joins.cu, chunks as in bands.cu; infinity stands for what is always looked at, behind the values of its chunk.

// Does something with each `row` whose value lies between the two bounds, where both are in the range.
#define NEARBY(DO)                                                                                           \
    long long from = low[probe], to = high[probe];                                                           \
    double lowest = least[probe], highest = most[probe];                                                     \
    for (long long chunk = from >> bits; from < to && chunk << bits < to; chunk++) {                         \
        long long last = finite[chunk], place = find_place(values, chunk << bits, last, lowest, false);      \
        for (; place < last && values[place] <= highest; place++) {                                          \
            long long row = members[place];                                                                  \
            DO                                                                                               \
        }                                                                                                    \
        for (place = last; ways == 2 && place < present[chunk]; place++) {                                   \
            long long row = members[place];                                                                  \
            DO                                                                                               \
        }                                                                                                    \
    }
#define IS_PAIR row >= from && row < to && PAIR(probe, row)

// Gives up where a probe has more rows near it than `limit`, and tells so.
extern "C" __global__ void count_near(const double* values, const long long* members, const long long* finite,
                                      const long long* present, int bits, int ways, const long long* low,
                                      const long long* high, const double* least, const double* most, long long probes,
                                      int limit, int* counts, int* many PARAMETERS) {
    long long probe = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (probe >= probes) return;
    int count = 0, seen = 0;
    NEARBY(
        if (++seen > limit) {
            counts[probe] = 0;
            *many = 1;
            return;
        }
        if (IS_PAIR) count++;
    )
    counts[probe] = count;
}

extern "C" __global__ void fill_near(const double* values, const long long* members, const long long* finite,
                                     const long long* present, int bits, int ways, const long long* low,
                                     const long long* high, const double* least, const double* most, long long probes,
                                     const int* counts, const long long* ends, long long* probe_found,
                                     long long* other_found PARAMETERS) {
    long long probe = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (probe >= probes || counts[probe] == 0) return;
    long long own = ends[probe] - counts[probe];
    NEARBY(
        if (IS_PAIR) {
            probe_found[own] = probe;
            other_found[own] = row;
            own++;
        }
    )
}
