// A condition on each row. `test` stands before this text, and PARAMETERS and VALUES name what it reads.

extern "C" __global__ void __launch_bounds__(256) mask_rows(long long count, unsigned* mask PARAMETERS) {
    const int ITEMS = 8;
    int lane = threadIdx.x % 32;
    long long first = ((long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 32 * ITEMS;
    unsigned mine = 0;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        long long row = first + item * 32 + lane;
        bool holds = row < count && test(VALUES);
        unsigned word = __ballot_sync(0xffffffffu, holds);
        if (lane == item) mine = word;
    }
    if (lane < ITEMS && first + lane * 32 < count) mask[first / 32 + lane] = mine;
}
