// Pairs of rows in which a condition holds: each probe meets a range of rows of the other side.
//
// `test` stands before this text, and these macros, which name what it reads: PARAMETERS (columns of both sides),
// PROBE_DECLARE and PROBE_LOAD (values of some probes in registers), TILE_DECLARE and TILE_LOAD (rows of the other side
// in shared memory), PAIR_IN_TILE and PAIR (the test of two rows), PROBES (how many probes a thread has).

#define THREADS 128
#define TILE 256
#define FAR 0x7fffffffffffffffLL

__device__ __forceinline__ int clamped(long long place, int most) {
    return place < 0 ? 0 : place > most ? most : (int)place;
}

// How many rows each probe meets, by chunks of the rows that the probes of a block reach together.
extern "C" __global__ void __launch_bounds__(THREADS)
count_pairs(long long probes, const long long* low, const long long* high, long long size, int chunks,
            long long* begins, unsigned* counts PARAMETERS) {
    TILE_DECLARE
    PROBE_DECLARE
    __shared__ long long least_low, most_low, least_high, most_high;
    if (threadIdx.x == 0) least_low = FAR, most_low = -1, least_high = FAR, most_high = -1;
    __syncthreads();
    long long first_probe = (long long)blockIdx.x * THREADS * PROBES + threadIdx.x;
    unsigned found[PROBES];
    long long from[PROBES], to[PROBES];
#pragma unroll
    for (int r = 0; r < PROBES; r++) {
        long long probe = first_probe + r * THREADS;
        bool there = probe < probes;
        if (!there) probe = probes - 1;
        from[r] = low[probe], to[r] = high[probe], found[r] = 0;
        PROBE_LOAD(r, probe)
        if (there) {
            atomicMax(&most_low, from[r]);
            atomicMin(&least_high, to[r]);
            if (from[r] < to[r]) {
                atomicMin(&least_low, from[r]);
                atomicMax(&most_high, to[r]);
            }
        }
    }
    __syncthreads();
    long long begin = most_high < 0 ? 0 : least_low, first = begin + blockIdx.y * size;
    long long last = first + size < most_high ? first + size : most_high;
    if (blockIdx.y == 0 && threadIdx.x == 0) begins[blockIdx.x] = begin;
    for (long long tile = first; tile < last; tile += TILE) {
        int filled = last - tile < TILE ? (int)(last - tile) : TILE;
        __syncthreads();
        for (int place = threadIdx.x; place < filled; place += THREADS) {
            long long row = tile + place;
            TILE_LOAD(place, row)
        }
        __syncthreads();
        if (tile >= most_low && tile + filled <= least_high) {
#pragma unroll 2
            for (int j = 0; j < filled; j++) {
#pragma unroll
                for (int r = 0; r < PROBES; r++) found[r] += PAIR_IN_TILE(r, j);
            }
        } else {
#pragma unroll
            for (int r = 0; r < PROBES; r++) {
                int end = clamped(to[r] - tile, filled);
                for (int j = clamped(from[r] - tile, filled); j < end; j++) found[r] += PAIR_IN_TILE(r, j);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < PROBES; r++) {
        long long probe = first_probe + r * THREADS;
        if (probe < probes) counts[probe * chunks + blockIdx.y] = found[r];
    }
}

// The pairs of those chunks in which a probe meets some row, one warp each, in order.
extern "C" __global__ void fill_pairs(const long long* entries, long long entry_count, const long long* ends,
                                      const long long* low, const long long* high, long long size, int chunks,
                                      const long long* begins, const unsigned* counts, long long* probe_found,
                                      long long* other_found PARAMETERS) {
    long long number = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (number >= entry_count) return;
    long long entry = entries[number], probe = entry / chunks;
    long long first = begins[probe / (THREADS * PROBES)] + entry % chunks * size, last = first + size;
    if (first < low[probe]) first = low[probe];
    if (last > high[probe]) last = high[probe];
    long long place = ends[number] - counts[entry];
    for (long long tile = first; tile < last; tile += 32) {
        long long row = tile + lane;
        bool holds = row < last && PAIR(probe, row);
        unsigned word = __ballot_sync(0xffffffffu, holds);
        if (holds) {
            long long own = place + __popc(word & ((1u << lane) - 1));
            probe_found[own] = probe, other_found[own] = row;
        }
        place += __popc(word);
    }
}

// Short ranges at many places, one thread each: how many of their rows are pairs, and then these.
extern "C" __global__ void count_short(long long probes, const long long* low, const long long* high,
                                       long long* counts PARAMETERS) {
    long long probe = (long long)blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    if (probe >= probes) return;
    for (long long row = low[probe]; row < high[probe]; row++)
        if (PAIR(probe, row)) count++;
    counts[probe] = count;
}

extern "C" __global__ void fill_short(long long probes, const long long* low, const long long* high,
                                      const long long* counts, const long long* ends, long long* probe_found,
                                      long long* other_found PARAMETERS) {
    long long probe = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (probe >= probes || counts[probe] == 0) return;
    long long own = ends[probe] - counts[probe];
    for (long long row = low[probe]; row < high[probe]; row++) {
        if (PAIR(probe, row)) {
            probe_found[own] = probe, other_found[own] = row;
            own++;
        }
    }
}
