// Columns on the card: bits to bytes and back, and rows that are kept moved together, in order.

// Rows of one block here, of filters and of all that moves rows by a mask: a mask has one bit per row, lowest first.
#define BLOCK_ROWS 2048
#define BLOCK_WORDS (BLOCK_ROWS / 32)

extern "C" __global__ void unpack_bits(const unsigned char* bits, int shift, long long count, unsigned char* bytes) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    long long bit = row + shift;
    bytes[row] = bits[bit >> 3] >> (bit & 7) & 1;
}

extern "C" __global__ void pack_bytes(const unsigned char* bytes, long long count, unsigned* words) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned word = __ballot_sync(0xffffffffu, row < count && bytes[row]);
    if (threadIdx.x % 32 == 0 && row < count) words[row / 32] = word;
}

// How many bits each block of a mask has.
extern "C" __global__ void count_bits(const unsigned* mask, long long words, long long* counts) {
    long long word = (long long)blockIdx.x * BLOCK_WORDS + threadIdx.x;
    __shared__ int parts[BLOCK_WORDS / 32];
    int own = word < words ? __popc(mask[word]) : 0;
    for (int step = 16; step; step >>= 1) own += __shfl_down_sync(0xffffffffu, own, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int part = 0; part < BLOCK_WORDS / 32; part++) all += parts[part];
        counts[blockIdx.x] = all;
    }
}

// Where the kept rows of a block go, for each word of its mask. `ends` are running totals of the counts of blocks.
__device__ __forceinline__ void find_places(const unsigned* mask, const long long* ends, long long words, int* before,
                                            unsigned* kept, long long* first) {
    int word = threadIdx.x;
    if (word < BLOCK_WORDS) {
        long long place = (long long)blockIdx.x * BLOCK_WORDS + word;
        kept[word] = place < words ? mask[place] : 0;
        int own = __popc(kept[word]), sum = own;
        for (int step = 1; step < 32; step <<= 1) {
            int other = __shfl_up_sync(0xffffffffu, sum, step);
            if (word % 32 >= step) sum += other;
        }
        before[word] = sum;
        if (word == 0) *first = blockIdx.x ? ends[blockIdx.x - 1] : 0;
    }
    __syncthreads();
    int earlier = 0;
    if (word < BLOCK_WORDS) {
        for (int warp = 1; warp <= word / 32; warp++) earlier += before[warp * 32 - 1];
        earlier += before[word] - __popc(kept[word]);
    }
    __syncthreads();
    if (word < BLOCK_WORDS) before[word] = earlier;
    __syncthreads();
}

template <class Type>
__device__ __forceinline__ void move(const unsigned* mask, const long long* ends, long long words, const Type* given,
                                     Type* found) {
    __shared__ int before[BLOCK_WORDS];
    __shared__ unsigned kept[BLOCK_WORDS];
    __shared__ long long first;
    find_places(mask, ends, words, before, kept, &first);
    for (int row = threadIdx.x; row < BLOCK_ROWS; row += blockDim.x) {
        unsigned word = kept[row / 32], bit = 1u << row % 32;
        if (word & bit)
            found[first + before[row / 32] + __popc(word & (bit - 1))] = given[(long long)blockIdx.x * BLOCK_ROWS + row];
    }
}

extern "C" __global__ void move_1(const unsigned* mask, const long long* ends, long long words,
                                  const unsigned char* given, unsigned char* found) {
    move(mask, ends, words, given, found);
}
extern "C" __global__ void move_2(const unsigned* mask, const long long* ends, long long words,
                                  const unsigned short* given, unsigned short* found) {
    move(mask, ends, words, given, found);
}
extern "C" __global__ void move_4(const unsigned* mask, const long long* ends, long long words, const unsigned* given,
                                  unsigned* found) {
    move(mask, ends, words, given, found);
}
extern "C" __global__ void move_8(const unsigned* mask, const long long* ends, long long words,
                                  const unsigned long long* given, unsigned long long* found) {
    move(mask, ends, words, given, found);
}

// The numbers of the rows that are kept.
extern "C" __global__ void kept_rows(const unsigned* mask, const long long* ends, long long words, long long* found) {
    __shared__ int before[BLOCK_WORDS];
    __shared__ unsigned kept[BLOCK_WORDS];
    __shared__ long long first;
    find_places(mask, ends, words, before, kept, &first);
    for (int row = threadIdx.x; row < BLOCK_ROWS; row += blockDim.x) {
        unsigned word = kept[row / 32], bit = 1u << row % 32;
        if (word & bit)
            found[first + before[row / 32] + __popc(word & (bit - 1))] = (long long)blockIdx.x * BLOCK_ROWS + row;
    }
}
