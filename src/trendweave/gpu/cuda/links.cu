// The first row that each probe meets in its range, or -1. A warp looks at one probe and at PER_LANE * 32 rows at a time.
// The same stands before this text as before joins.cu.

#define WHOLE_WARP 0xffffffffu
#define PER_LANE 8

extern "C" __global__ void link_first(long long probes, const long long* __restrict__ low,
                                      const long long* __restrict__ high, long long* __restrict__ first PARAMETERS) {
    long long probe = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (probe >= probes) return;
    long long end = high[probe], found = -1;
    for (long long place = low[probe]; place < end && found < 0; place += 32 * PER_LANE) {
        unsigned mine = 0;
#pragma unroll
        for (int part = 0; part < PER_LANE; part++) {
            long long row = place + 32 * part + lane;
            if (row < end && PAIR(probe, row)) mine |= 1u << part;
        }
        if (!__any_sync(WHOLE_WARP, mine != 0)) continue;
        for (int part = 0; part < PER_LANE && found < 0; part++) {
            unsigned votes = __ballot_sync(WHOLE_WARP, (mine >> part) & 1u);
            if (votes) found = place + 32 * part + __ffs(votes) - 1;
        }
    }
    if (lane == 0) first[probe] = found;
}
