// Where values stand in a sorted stretch.

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
