// Values sorted in chunks: where in each chunk that a range touches those between two values begin and end.

// 32 bits in the order of values, of which close ones may have the same: those of a short float, as far as a value lies
// from another one, since what is far from 0 and near each other has its digits at the end. Infinity and NaN stand last.
__device__ __forceinline__ unsigned first_digits(double value, double from) {
    if (value != value) return 0xffffffffu;
    double most = 3.4028234663852886e38, apart = value - from;
    if (fabs(value) <= 1.7976931348623157e308) apart = apart > most ? most : apart < -most ? -most : apart;
    unsigned bits = __float_as_uint((float)apart + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Chunk, first digits, place in the chunk: each row has its own.
extern "C" __global__ void make_keys(const double* values, long long count, int bits, unsigned long long* keys) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    double from = fabs(values[0]) <= 1.7976931348623157e308 ? values[0] : 0.0;
    unsigned long long chunk = row >> bits, place = row & ((1LL << bits) - 1);
    keys[row] = ((chunk << 32 | first_digits(values[row], from)) << bits) | place;
}

extern "C" __global__ void read_keys(const unsigned long long* keys, const double* values, long long count, int bits,
                                     double* ordered, long long* members) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    long long place = keys[at] & ((1ULL << bits) - 1), row = (at >> bits << bits) + place;
    members[at] = row, ordered[at] = values[row];
}

// Few values with the same first digits are put in order; `check_order` tells of many that are not.
extern "C" __global__ void order_same_digits(const unsigned long long* keys, long long count, int bits, int most,
                                             double* ordered, long long* members) {
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (first >= count) return;
    unsigned long long digits = keys[first] >> bits;
    if (first > 0 && keys[first - 1] >> bits == digits) return;
    long long last = first + 1;
    while (last < count && last - first <= most && keys[last] >> bits == digits) last++;
    if (last - first > most) return;
    for (long long place = first + 1; place < last; place++) {
        double value = ordered[place];
        long long row = members[place], free = place;
        for (; free > first && ordered[free - 1] > value; free--) {
            ordered[free] = ordered[free - 1], members[free] = members[free - 1];
        }
        ordered[free] = value, members[free] = row;
    }
}

extern "C" __global__ void check_order(const double* ordered, long long count, long long size, int* wrong) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at > 0 && at < count && at % size && ordered[at - 1] > ordered[at]) *wrong = 1;
}

// Per chunk, the place behind the last finite value, and behind the last number.
extern "C" __global__ void count_numbers(const double* ordered, long long count, long long size, long long chunks,
                                         long long* finite, long long* present) {
    long long chunk = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (chunk >= chunks) return;
    long long begin = chunk * size, end = begin + size < count ? begin + size : count;
    finite[chunk] = find_place(ordered, begin, end, 1.7976931348623157e308, true);
    present[chunk] = find_place(ordered, finite[chunk], end, __longlong_as_double(0x7ff0000000000000LL), true);
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
