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

extern "C" __global__ void find_in_chunks(const double* values, const long long* finite, long long size,
                                          const long long* low, const long long* high, const double* least,
                                          const double* most, long long probes, int each, long long* begins,
                                          long long* lengths) {
    long long run = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (run >= probes * each) return;
    long long probe = run / each, chunk = low[probe] / size + run % each, begin = chunk * size;
    begins[run] = 0, lengths[run] = 0;
    if (low[probe] >= high[probe] || begin >= high[probe]) return;
    long long first = find_place(values, begin, finite[chunk], least[probe], false);
    begins[run] = first;
    lengths[run] = find_place(values, first, finite[chunk], most[probe], true) - first;
}
