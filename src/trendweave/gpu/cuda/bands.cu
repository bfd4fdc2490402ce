// Values sorted in chunks: where in each chunk that a range touches those between two values begin and end.

// The first place from which on values are not below a bound, or, with `above`, are above it.
__device__ __forceinline__ long long find_place(const double* values, long long low, long long high, double bound,
                                                bool above) {
    while (low < high) {
        long long middle = (low + high) >> 1;
        if (above ? values[middle] <= bound : values[middle] < bound) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Infinity stands for what is always looked at, and has runs of its own behind those of values.
extern "C" __global__ void find_in_chunks(const double* values, const long long* finite, const long long* present,
                                          long long size, const long long* low, const long long* high,
                                          const double* least, const double* most, long long probes, int each, int ways,
                                          long long* begins, long long* lengths) {
    long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= probes * each) return;
    long long probe = number / each, chunk = low[probe] / size + number % each, begin = chunk * size;
    long long run = number * ways;
    for (int way = 0; way < ways; way++) begins[run + way] = 0, lengths[run + way] = 0;
    if (low[probe] >= high[probe] || begin >= high[probe]) return;
    long long first = find_place(values, begin, finite[chunk], least[probe], false);
    begins[run] = first;
    lengths[run] = find_place(values, first, finite[chunk], most[probe], true) - first;
    if (ways == 2) begins[run + 1] = finite[chunk], lengths[run + 1] = present[chunk] - finite[chunk];
}

// Pairs stand in the order of probes; the few of each are brought into the order of rows. Tells of a probe with many.
extern "C" __global__ void order_few(const long long* probe, long long* other, long long count, int most, int* many) {
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (first >= count || (first > 0 && probe[first - 1] == probe[first])) return;
    long long last = first + 1;
    while (last < count && probe[last] == probe[first] && last - first <= most) last++;
    if (last - first > most) {
        *many = 1;
        return;
    }
    for (long long place = first + 1; place < last; place++) {
        long long row = other[place], free = place;
        for (; free > first && other[free - 1] > row; free--) other[free] = other[free - 1];
        other[free] = row;
    }
}
