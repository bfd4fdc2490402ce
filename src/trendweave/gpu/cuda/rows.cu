#define NEW_TICK (1u << 31)

// Whether each row may be read as each state (bit s), and whether it begins a tick. Letters are words of 8 bytes, or
// one byte per row.
extern "C" __global__ void pack_states(const unsigned char* letters, int letter_bytes, long long words,
                                       const long long* tick, const bool* outside, const int* variable, int states,
                                       long long rows, unsigned* packed) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    unsigned found = row == 0 || tick[row] != tick[row - 1] ? NEW_TICK : 0;
    if (outside == 0 || !outside[row])
        for (int state = 0; state < states; state++) {
            long long at = row * words + (variable[state] >> 6);
            unsigned long long letter = letter_bytes == 1 ? letters[at] : ((const unsigned long long*)letters)[at];
            found |= (unsigned)(letter >> (variable[state] & 63) & 1) << state;
        }
    packed[row] = found;
}
