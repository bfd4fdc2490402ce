// Columns on their way to the card: bits to bytes.

extern "C" __global__ void unpack_bits(const unsigned char* bits, int shift, long long count, unsigned char* bytes) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    long long bit = row + shift;
    bytes[row] = bits[bit >> 3] >> (bit & 7) & 1;
}
