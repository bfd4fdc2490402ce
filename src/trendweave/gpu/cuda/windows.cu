// Sums over stretches of rows: running totals that never round, and their differences.
//
// Floats are whole numbers of the lowest bit that any of them has. Totals are words of 64 bits (narrow), of 128 bits
// (wide); they wrap around, and the difference of two of them is exact wherever the sum between them fits.

typedef unsigned long long Narrow;
typedef unsigned __int128 Wide;

#define THREADS 256
#define EACH 8
#define BLOCK_ROWS (THREADS * EACH)

__device__ __forceinline__ bool is_finite(double value) {
    return (__double_as_longlong(value) >> 52 & 0x7ff) != 0x7ff;
}

// A finite float is its mantissa times 2 to the power of its exponent, less 1075; exponents begin at 1.
__device__ __forceinline__ Narrow take_apart(double value, int* exponent) {
    long long bits = __double_as_longlong(value);
    int written = bits >> 52 & 0x7ff;
    Narrow mantissa = bits & 0xfffffffffffffLL;
    *exponent = written ? written : 1;
    return written ? mantissa | 1ULL << 52 : mantissa;
}

__device__ __forceinline__ Narrow moved(Narrow mantissa, int shift) {
    if (shift >= 0) return shift < 64 ? mantissa << shift : 0;
    return shift > -64 ? mantissa >> -shift : 0;
}

struct Nothing {};

template <class Sum> struct Whole {
    __device__ static __forceinline__ Sum read(long long value, int) { return (Sum)(__int128)value; }
};
template <class Sum> struct Fixed;
template <> struct Fixed<Narrow> {
    __device__ static __forceinline__ Narrow read(double value, int lowest) {
        if (!is_finite(value)) return 0;
        int exponent;
        Narrow mantissa = take_apart(value, &exponent), whole = moved(mantissa, exponent - lowest);
        return value < 0 ? 0 - whole : whole;
    }
};
template <> struct Fixed<Wide> {
    __device__ static __forceinline__ Wide read(double value, int lowest) {
        if (!is_finite(value)) return 0;
        int exponent;
        Narrow mantissa = take_apart(value, &exponent);
        int shift = exponent - lowest;
        Wide whole = shift < 0 ? (Wide)moved(mantissa, shift) : shift < 128 ? (Wide)mantissa << shift : 0;
        return value < 0 ? 0 - whole : whole;
    }
};
__device__ __forceinline__ Narrow shifted_up(Narrow value, int step) {
    return __shfl_up_sync(0xffffffffu, value, step);
}
__device__ __forceinline__ Wide shifted_up(Wide value, int step) {
    Narrow lower = __shfl_up_sync(0xffffffffu, (Narrow)value, step);
    Narrow upper = __shfl_up_sync(0xffffffffu, (Narrow)(value >> 64), step);
    return (Wide)upper << 64 | lower;
}

// The sum of the values of all threads before this one, and of all; `parts` has room for one per warp.
template <class Sum>
__device__ __forceinline__ Sum sum_before(Sum own, Sum* parts, Sum* all) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    Sum sum = own;
    for (int step = 1; step < 32; step <<= 1) {
        Sum other = shifted_up(sum, step);
        if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == 31) parts[warp] = sum;
    __syncthreads();
    Sum before = 0, total = 0;
    for (int other = 0; other < warps; other++) {
        if (other < warp) before += parts[other];
        total += parts[other];
    }
    *all = total;
    return before + sum - own;
}

template <class Sum, class Read, class Value>
__device__ __forceinline__ void sum_block(const Value* values, const unsigned char* valid, long long count, int lowest, Sum* sums) {
    __shared__ Sum parts[THREADS / 32];
    Sum own = 0, all;
    long long first = (long long)blockIdx.x * BLOCK_ROWS;
#pragma unroll
    for (int item = 0; item < EACH; item++) {
        long long row = first + item * THREADS + threadIdx.x;
        if (row < count && (!valid || valid[row])) own += Read::read(values[row], lowest);
    }
    sum_before(own, parts, &all);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

// Each sum becomes that of all before it. One block.
template <class Sum>
__device__ __forceinline__ void sum_sums(Sum* sums, long long count) {
    __shared__ Sum parts[32];
    Sum before = 0;
    for (long long first = 0; first < count; first += blockDim.x) {
        long long place = first + threadIdx.x;
        Sum own = place < count ? sums[place] : 0, all;
        Sum earlier = sum_before(own, parts, &all);
        if (place < count) sums[place] = before + earlier;
        before += all;
    }
}

template <class Sum, class Read, class Value>
__device__ __forceinline__ void total_rows(const Value* values, const unsigned char* valid, long long count, int lowest, const Sum* sums, Sum* totals) {
    // One place more for each thread, so that its values lie in another bank than those of its neighbours.
    __shared__ Sum kept[BLOCK_ROWS + THREADS];
    __shared__ Sum parts[THREADS / 32];
    long long first = (long long)blockIdx.x * BLOCK_ROWS;
#pragma unroll
    for (int item = 0; item < EACH; item++) {
        int place = item * THREADS + threadIdx.x;
        long long row = first + place;
        Sum value = 0;
        if (row < count && (!valid || valid[row])) value = Read::read(values[row], lowest);
        kept[place + place / EACH] = value;
    }
    __syncthreads();
    Sum own = 0, all;
    for (int item = 0; item < EACH; item++) own += kept[threadIdx.x * (EACH + 1) + item];
    Sum running = sums[blockIdx.x] + sum_before(own, parts, &all);
    for (int item = 0; item < EACH; item++) {
        running += kept[threadIdx.x * (EACH + 1) + item];
        kept[threadIdx.x * (EACH + 1) + item] = running;
    }
    __syncthreads();
    for (int item = 0; item < EACH; item++) {
        int place = item * THREADS + threadIdx.x;
        if (first + place < count) totals[first + place + 1] = kept[place + place / EACH];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) totals[0] = 0;
}

#define TOTALS(name, Sum, Read, Value)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS) sum_##name(                                              \
        const Value* values, const unsigned char* valid, long long count, int lowest, Sum* sums) {       \
        sum_block<Sum, Read>(values, valid, count, lowest, sums);                                            \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS) total_##name(                                            \
        const Value* values, const unsigned char* valid, long long count, int lowest, const Sum* sums,   \
        Sum* totals) {                                                                                             \
        total_rows<Sum, Read>(values, valid, count, lowest, sums, totals);                                   \
    }
TOTALS(flags_narrow, Narrow, Whole<Narrow>, unsigned char)
TOTALS(whole_narrow, Narrow, Whole<Narrow>, long long)
TOTALS(whole_wide, Wide, Whole<Wide>, long long)
TOTALS(float_narrow, Narrow, Fixed<Narrow>, float)
TOTALS(float_wide, Wide, Fixed<Wide>, float)
TOTALS(double_narrow, Narrow, Fixed<Narrow>, double)
TOTALS(double_wide, Wide, Fixed<Wide>, double)

extern "C" __global__ void sum_sums_narrow(Narrow* sums, long long count) { sum_sums(sums, count); }
extern "C" __global__ void sum_sums_wide(Wide* sums, long long count) { sum_sums(sums, count); }

// The lowest bit that some finite value has, the place above the highest one, and whether some value is not finite.
template <class Value>
__device__ __forceinline__ void find_bits(const Value* values, const unsigned char* valid, long long count, int* found) {
    int lowest = 4096, above = 0, infinite = 0;
    for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < count;
         row += (long long)gridDim.x * blockDim.x) {
        if (valid && !valid[row]) continue;
        double value = values[row];
        int exponent;
        Narrow mantissa = take_apart(value, &exponent);
        if (!is_finite(value)) infinite = 1;
        else if (mantissa) {
            lowest = min(lowest, exponent + __ffsll(mantissa) - 1);
            above = max(above, exponent + 64 - __clzll(mantissa));
        }
    }
    for (int step = 16; step; step >>= 1) {
        lowest = min(lowest, __shfl_down_sync(0xffffffffu, lowest, step));
        above = max(above, __shfl_down_sync(0xffffffffu, above, step));
        infinite |= __shfl_down_sync(0xffffffffu, infinite, step);
    }
    if (threadIdx.x % 32 == 0) {
        atomicMin(&found[0], lowest);
        atomicMax(&found[1], above);
        if (infinite) atomicOr(&found[2], 1);
    }
}
extern "C" __global__ void find_bits_float(const float* values, const unsigned char* valid, long long count, int* found) {
    find_bits(values, valid, count, found);
}
extern "C" __global__ void find_bits_double(const double* values, const unsigned char* valid, long long count,
                                            int* found) {
    find_bits(values, valid, count, found);
}

// Stretches: from low[i] up to high[i]; without arrays, `length` rows from first + i * slide on.
template <class Sum>
__device__ __forceinline__ Sum between(const Sum* totals, const long long* low, const long long* high, long long first,
                                       long long slide, long long length, long long place) {
    if (low) return totals[high[place]] - totals[low[place]];
    long long begin = first + place * slide;
    return totals[begin + length] - totals[begin];
}

__device__ __forceinline__ double power_of_two(int exponent) {
    return __longlong_as_double((long long)(exponent + 1023) << 52);
}

// A number of two words, times 2 to the power of `unit`, as the nearest float.
__device__ __forceinline__ double rounded(__int128 sum, int unit) {
    bool negative = sum < 0;
    Wide whole = negative ? 0 - (Wide)sum : (Wide)sum;
    Narrow upper = whole >> 64, lower = whole;
    double result = (double)lower;
    if (upper) {
        int zeros = __clzll(upper);
        Narrow top = zeros ? upper << zeros | lower >> (64 - zeros) : upper;
        // A bit below all that a float keeps stands for all bits that are gone.
        if (lower << zeros) top |= 1;
        result = (double)top * power_of_two(64 - zeros);
    }
    result *= power_of_two(unit);
    return negative ? -result : result;
}

__device__ __forceinline__ __int128 widened(Narrow sum) { return (long long)sum; }
__device__ __forceinline__ __int128 widened(Wide sum) { return (__int128)sum; }

#define STRETCHES                                                                                         \
    const long long *low, const long long *high, long long first, long long slide, long long length, long long count
#define TAKES(name, Sum)                                                                                           \
    extern "C" __global__ void round_##name(const Sum* totals, STRETCHES, int unit, double* found) {                                                       \
        long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;                                        \
        if (place >= count) return;                                                                                \
        Sum sum = between(totals, low, high, first, slide, length, place);                                         \
        found[place] = rounded(widened(sum), unit); \
    }                                                                                                              \
    extern "C" __global__ void words_##name(const Sum* totals, STRETCHES, __int128* found) {                       \
        long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;                                        \
        if (place < count) found[place] = widened(between(totals, low, high, first, slide, length, place));        \
    }
TAKES(narrow, Narrow)
TAKES(wide, Wide)

extern "C" __global__ void take_narrow(const Narrow* totals, STRETCHES, long long* found) {
    long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count) found[place] = (long long)between(totals, low, high, first, slide, length, place);
}

// Of stretches with 2**level rows or more, and fewer than twice that: the smaller (larger) of two values that each
// stand for 2**level rows.
extern "C" __global__ void pick_extremes(const long long* standing, int level, int largest, STRETCHES,
                                         long long* found) {
    long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= count) return;
    long long begin = low ? low[place] : first + place * slide, end = low ? high[place] : begin + length;
    if (end <= begin || 63 - __clzll(end - begin) != level) return;
    long long one = standing[begin], other = standing[end - (1LL << level)];
    found[place] = largest ? max(one, other) : min(one, other);
}
