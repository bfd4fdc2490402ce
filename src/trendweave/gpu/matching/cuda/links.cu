// Which targets can follow each source. A warp looks at one source and at PER_LANE * 32 targets at a time; ahead of this
// text stand COLUMNS (arrays as parameters), TAKE(i) (the values of source i) and ACCEPTS(j) (whether target j can
// follow it).

#define WHOLE_WARP 0xffffffffu
#define PER_LANE 8

// All of them: pairs are appended in any order. `used` counts them also beyond `room`.
extern "C" __global__ void link_all(COLUMNS const int* __restrict__ low, const int* __restrict__ high, int sources,
                                    int step, unsigned long long room, unsigned long long* used, int* from, int* to) {
    int source = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = threadIdx.x % 32;
    if (source >= sources) return;
    long long begin = low[source] + (long long)blockIdx.y * step;
    int end = high[source] < begin + step ? high[source] : (int)(begin + step);
    if (begin >= end) return;
    TAKE(source)
    for (long long place = begin; place < end; place += 32 * PER_LANE) {
        unsigned mine = 0;
#pragma unroll
        for (int part = 0; part < PER_LANE; part++) {
            long long here = place + 32 * part + lane;
            if (here < end && ACCEPTS(here)) mine |= 1u << part;
        }
        if (!__any_sync(WHOLE_WARP, mine != 0)) continue;
        for (int part = 0; part < PER_LANE; part++) {
            unsigned votes = __ballot_sync(WHOLE_WARP, (mine >> part) & 1u);
            if (!votes) continue;
            unsigned long long at = 0;
            if (lane == 0) at = atomicAdd(used, (unsigned long long)__popc(votes));
            at = __shfl_sync(WHOLE_WARP, at, 0) + __popc(votes & ((1u << lane) - 1u));
            if (((mine >> part) & 1u) && at < room) {
                from[at] = source;
                to[at] = (int)(place + 32 * part + lane);
            }
        }
    }
}

// The first of them, or -1.
extern "C" __global__ void link_first(COLUMNS const int* __restrict__ low, const int* __restrict__ high, int sources,
                                      int* __restrict__ first) {
    int source = (int)(((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = threadIdx.x % 32;
    if (source >= sources) return;
    int end = high[source], found = -1;
    TAKE(source)
    for (long long place = low[source]; place < end && found < 0; place += 32 * PER_LANE) {
        unsigned mine = 0;
#pragma unroll
        for (int part = 0; part < PER_LANE; part++) {
            long long here = place + 32 * part + lane;
            if (here < end && ACCEPTS(here)) mine |= 1u << part;
        }
        if (!__any_sync(WHOLE_WARP, mine != 0)) continue;
        for (int part = 0; part < PER_LANE && found < 0; part++) {
            unsigned votes = __ballot_sync(WHOLE_WARP, (mine >> part) & 1u);
            if (votes) found = (int)(place + 32 * part + __ffs(votes) - 1);
        }
    }
    if (lane == 0) first[source] = found;
}
