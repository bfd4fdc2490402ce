// What trends carry. KIND and SUMS are defined before this text: KIND 0 are floats, KIND 1 residues modulo a prime below
// 2**50, KIND 2 the largest code of a value; a number of trends comes with SUMS sums of values.
#define NUMBERS (1 + SUMS)

#if KIND == 0
typedef double Number;
#define ZERO 0.0
#define ONE 1.0
#elif KIND == 1
typedef unsigned long long Number;
#define ZERO 0ull
#define ONE 1ull
#else
typedef long long Number;
#define ZERO (-9223372036854775807ll - 1)
#define ONE (-9223372036854775807ll)
#endif

struct Modulus {
    unsigned long long prime;
    double inverse;
};

__device__ inline Number add(Number a, Number b) {
#if KIND == 2
    return b > a ? b : a;
#else
    return a + b;
#endif
}

#if KIND == 1
// What is left of a number less so many times the prime; the quotient is off by one at most.
__device__ inline Number take_away(Number a, unsigned long long quotient, Modulus modulus) {
    long long rest = (long long)(a - quotient * modulus.prime);
    if (rest < 0) rest += (long long)modulus.prime;
    if (rest >= (long long)modulus.prime) rest -= (long long)modulus.prime;
    return (Number)rest;
}
#endif

// Residues are below 2**50: thousands of them are added before this is needed.
__device__ inline Number settle(Number a, Modulus modulus) {
#if KIND == 1
    return take_away(a, (unsigned long long)((double)a * modulus.inverse), modulus);
#else
    return a;
#endif
}

__device__ inline Number settle_if_large(Number a, Modulus modulus) {
#if KIND == 1
    if (a >> 62) return settle(a, modulus);
#endif
    return a;
}

// Nothing times infinity is nothing: what no trend reaches adds nothing. Of settled numbers.
__device__ inline Number multiply(Number a, Number b, Modulus modulus) {
#if KIND == 0
    return a == 0.0 || b == 0.0 ? 0.0 : a * b;
#elif KIND == 1
    return take_away(a * b, (unsigned long long)((double)a * (double)b * modulus.inverse), modulus);
#else
    return a == ZERO || b == ZERO ? ZERO : (b > a ? b : a);
#endif
}
