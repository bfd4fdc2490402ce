// What CUDA C gives to kernels, for g++: one block after the other, each thread of a block with a stack of its own, all
// in one thread of the process. A thread runs until it waits (for its block or its warp) or ends; then the next one
// does. Rounds go forwards and backwards in turn, and shared memory is filled with rubbish before each block, so that
// a missing barrier gives wrong numbers.
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("simulated_shared")))

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
#define SIMULATED_VECTOR(type, name)                                                          \
    struct name##2 { type x, y; };                                                            \
    struct __attribute__((aligned(sizeof(type) * 4 > 16 ? 16 : sizeof(type) * 4))) name##4 {  \
        type x, y, z, w;                                                                      \
    };                                                                                        \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                          \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
SIMULATED_VECTOR(char, char)
SIMULATED_VECTOR(unsigned char, uchar)
SIMULATED_VECTOR(short, short)
SIMULATED_VECTOR(int, int)
SIMULATED_VECTOR(unsigned, uint)
SIMULATED_VECTOR(float, float)
SIMULATED_VECTOR(double, double)
SIMULATED_VECTOR(long long, longlong)
SIMULATED_VECTOR(unsigned long long, ulonglong)

extern "C" __attribute__((weak)) char __start_simulated_shared[];
extern "C" __attribute__((weak)) char __stop_simulated_shared[];

namespace simulated {

enum State { READY, AT_BLOCK, AT_WARP, ENDED };
const size_t STACK = 192 * 1024;
const int MOST_THREADS = 1024;

struct Thread {
    ucontext_t entry;
    jmp_buf here;
    uint3 index;
    int number;
    State state;
    bool begun;
    unsigned long long received[32];
    unsigned present;
};

struct Meeting {
    unsigned mask, arrived;
    unsigned long long values[32];
};

static Thread threads[MOST_THREADS];
static char* stacks;
static Thread* now;
static Meeting meetings[MOST_THREADS / 32][32];
static unsigned alive[MOST_THREADS / 32];
static int votes, votes_told;
static jmp_buf home;
static ucontext_t home_context;
static void (*body)();
static uint3 block_index;
static dim3 block_size, grid_size;
static char* dynamic_shared;
static char problem[256];

static void give_up(const char* text) {
    snprintf(problem, sizeof(problem), "%s (block %u, thread %d)", text, block_index.x, now ? now->number : -1);
    _longjmp(home, 2);
}

static void pause() {
    if (!_setjmp(now->here)) _longjmp(home, 1);
}

static void complete(int warp, Meeting& meeting) {
    for (int lane = 0; lane < 32; lane++) {
        if (!(meeting.arrived >> lane & 1)) continue;
        Thread& other = threads[warp * 32 + lane];
        memcpy(other.received, meeting.values, sizeof(other.received));
        other.present = meeting.arrived;
        other.state = READY;
    }
    meeting.arrived = 0;
}

// Hand a value to the threads of the warp in `mask`, and wait for theirs.
static void meet(unsigned mask, unsigned long long value) {
    int warp = now->number / 32, lane = now->number % 32;
    if (!(mask >> lane & 1)) give_up("a thread meets others with a mask that it is not in");
    Meeting& meeting = meetings[warp][__builtin_ctz(mask)];
    if (meeting.arrived && meeting.mask != mask) give_up("threads of a warp meet with different masks");
    meeting.mask = mask;
    meeting.values[lane] = value;
    meeting.arrived |= 1u << lane;
    now->state = AT_WARP;
    if (meeting.arrived == (mask & alive[warp])) complete(warp, meeting);
    if (now->state != READY) pause();
}

static void begin() {
    if (!_setjmp(now->here)) _longjmp(home, 1);
    body();
    now->state = ENDED;
    alive[now->number / 32] &= ~(1u << now->number % 32);
    _longjmp(home, 1);
}

// Everything a thread needs is laid out here; it comes back at once and begins when it is first resumed.
static void lay_out(Thread& thread) {
    now = &thread;
    if (!_setjmp(home)) {
        getcontext(&thread.entry);
        thread.entry.uc_stack.ss_sp = stacks + STACK * thread.number;
        thread.entry.uc_stack.ss_size = STACK;
        thread.entry.uc_link = &home_context;
        makecontext(&thread.entry, begin, 0);
        setcontext(&thread.entry);
    }
}

static int run_block() {
    int count = block_size.x * block_size.y * block_size.z;
    if (__start_simulated_shared) memset(__start_simulated_shared, 0xA5, __stop_simulated_shared - __start_simulated_shared);
    memset(alive, 0, sizeof(alive));
    memset(meetings, 0, sizeof(meetings));
    votes = 0;
    for (int number = 0; number < count; number++) {
        Thread& thread = threads[number];
        thread.number = number;
        thread.index = {number % block_size.x, number / block_size.x % block_size.y,
                        number / (block_size.x * block_size.y)};
        thread.state = READY;
        alive[number / 32] |= 1u << number % 32;
        lay_out(thread);
    }
    static int round;
    static bool moved;
    static int step, living, waiting;
    for (round = block_index.x;; round++) {
        moved = false;
        for (step = 0; step < count; step++) {
            now = &threads[round % 2 ? count - 1 - step : step];
            if (now->state != READY) continue;
            moved = true;
            int how = _setjmp(home);
            if (how == 0) _longjmp(now->here, 1);
            if (how == 2) return 1;
        }
        now = 0;
        living = waiting = 0;
        for (int number = 0; number < count; number++) {
            living += threads[number].state != ENDED;
            waiting += threads[number].state == AT_BLOCK;
        }
        if (living == 0) return 0;
        if (waiting == living) {
            for (int number = 0; number < count; number++)
                if (threads[number].state == AT_BLOCK) threads[number].state = READY;
            votes_told = votes;
            votes = 0;
            moved = true;
        }
        for (int warp = 0; warp * 32 < count; warp++)
            for (auto& meeting : meetings[warp])
                if (meeting.arrived && meeting.arrived == (meeting.mask & alive[warp])) complete(warp, meeting), moved = true;
        if (!moved) {
            snprintf(problem, sizeof(problem), "threads of block %u wait for others that do not come", block_index.x);
            return 1;
        }
    }
}

template <class Kernel, class... Types, size_t... Places>
static auto call(void (*kernel)(Types...), void** arguments, std::index_sequence<Places...>) {
    static void (*function)(Types...);
    static void** values;
    function = kernel, values = arguments;
    body = [] { function(*(std::remove_reference_t<Types>*)values[Places]...); };
}

template <class... Types>
static int launch(void (*kernel)(Types...), const unsigned* grid, const unsigned* block, void** arguments,
                  size_t shared_bytes, char* told) {
    call<void>(kernel, arguments, std::index_sequence_for<Types...>());
    grid_size = {grid[0], grid[1], grid[2]}, block_size = {block[0], block[1], block[2]};
    if (!stacks) stacks = (char*)malloc(STACK * MOST_THREADS);
    static char* bytes;
    static size_t held;
    if (held < shared_bytes + 16) bytes = (char*)realloc(bytes, held = shared_bytes + 16);
    dynamic_shared = bytes + (16 - (size_t)bytes % 16) % 16;
    static unsigned x, y, z;
    for (z = 0; z < grid[2]; z++)
        for (y = 0; y < grid[1]; y++)
            for (x = 0; x < grid[0]; x++) {
                block_index = {x, y, z};
                memset(dynamic_shared, 0xA5, shared_bytes);
                if (run_block()) {
                    strcpy(told, problem);
                    return 1;
                }
            }
    return 0;
}

template <class... Types>
static int sizes(void (*)(Types...), int* told) {
    int of[] = {(int)sizeof(Types)..., 0};
    memcpy(told, of, sizeof(of));
    return sizeof...(Types);
}

template <class Type>
static unsigned long long packed(Type value) {
    static_assert(sizeof(Type) <= 8, "threads exchange 8 bytes at most");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(Type));
    return bits;
}

template <class Type>
static Type exchange(unsigned mask, Type value, int source, bool inside) {
    meet(mask, packed(value));
    if (!inside) return value;
    Type found;
    memcpy(&found, &now->received[source], sizeof(Type));
    return found;
}

template <class To, class From>
static To as(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To found;
    memcpy(&found, &value, sizeof(To));
    return found;
}

}  // namespace simulated

#define threadIdx (simulated::now->index)
#define blockIdx (simulated::block_index)
#define blockDim (simulated::block_size)
#define gridDim (simulated::grid_size)
#define warpSize 32

inline void __syncthreads() {
    simulated::now->state = simulated::AT_BLOCK;
    simulated::pause();
}
inline int __syncthreads_count(int predicate) {
    simulated::votes += predicate != 0;
    __syncthreads();
    return simulated::votes_told;
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { simulated::meet(mask, 0); }

template <class Type>
Type __shfl_sync(unsigned mask, Type value, int source, int width = 32) {
    int lane = simulated::now->number % 32;
    return simulated::exchange(mask, value, (lane & -width) + (source & (width - 1)), true);
}
template <class Type>
Type __shfl_up_sync(unsigned mask, Type value, unsigned delta, int width = 32) {
    int lane = simulated::now->number % 32, source = lane - (int)delta;
    return simulated::exchange(mask, value, source, source >= (lane & -width));
}
template <class Type>
Type __shfl_down_sync(unsigned mask, Type value, unsigned delta, int width = 32) {
    int lane = simulated::now->number % 32, source = lane + (int)delta;
    return simulated::exchange(mask, value, source, source < (lane & -width) + width);
}
template <class Type>
Type __shfl_xor_sync(unsigned mask, Type value, int bits, int width = 32) {
    int lane = simulated::now->number % 32, source = lane ^ bits;
    return simulated::exchange(mask, value, source, source < (lane & -width) + width);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    simulated::meet(mask, predicate != 0);
    unsigned found = 0;
    for (int lane = 0; lane < 32; lane++)
        if (simulated::now->present >> lane & 1) found |= (unsigned)simulated::now->received[lane] << lane;
    return found;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
template <class Type>
unsigned __match_any_sync(unsigned mask, Type value) {
    unsigned long long mine = simulated::packed(value);
    simulated::meet(mask, mine);
    unsigned found = 0;
    for (int lane = 0; lane < 32; lane++)
        if (simulated::now->present >> lane & 1) found |= (unsigned)(simulated::now->received[lane] == mine) << lane;
    return found;
}
#define SIMULATED_REDUCE(name, type, step)                                                    \
    inline type name(unsigned mask, type value) {                                             \
        simulated::meet(mask, simulated::packed(value));                                      \
        bool first = true;                                                                    \
        type found = value;                                                                   \
        for (int lane = 0; lane < 32; lane++) {                                               \
            if (!(simulated::now->present >> lane & 1)) continue;                             \
            type other = (type)simulated::now->received[lane];                                \
            found = first ? other : (step);                                                   \
            first = false;                                                                    \
        }                                                                                     \
        return found;                                                                         \
    }
SIMULATED_REDUCE(__reduce_add_sync, unsigned, found + other)
SIMULATED_REDUCE(__reduce_add_sync, int, found + other)
SIMULATED_REDUCE(__reduce_min_sync, unsigned, other < found ? other : found)
SIMULATED_REDUCE(__reduce_min_sync, int, other < found ? other : found)
SIMULATED_REDUCE(__reduce_max_sync, unsigned, other > found ? other : found)
SIMULATED_REDUCE(__reduce_max_sync, int, other > found ? other : found)
SIMULATED_REDUCE(__reduce_or_sync, unsigned, found | other)
SIMULATED_REDUCE(__reduce_and_sync, unsigned, found & other)

template <class Type, class Other>
Type atomicAdd(Type* place, Other value) { Type old = *place; *place = old + (Type)value; return old; }
template <class Type, class Other>
Type atomicSub(Type* place, Other value) { Type old = *place; *place = old - (Type)value; return old; }
template <class Type, class Other>
Type atomicMin(Type* place, Other value) { Type old = *place; if ((Type)value < old) *place = (Type)value; return old; }
template <class Type, class Other>
Type atomicMax(Type* place, Other value) { Type old = *place; if ((Type)value > old) *place = (Type)value; return old; }
template <class Type, class Other>
Type atomicExch(Type* place, Other value) { Type old = *place; *place = (Type)value; return old; }
template <class Type, class Other>
Type atomicAnd(Type* place, Other value) { Type old = *place; *place = old & (Type)value; return old; }
template <class Type, class Other>
Type atomicOr(Type* place, Other value) { Type old = *place; *place = old | (Type)value; return old; }
template <class Type, class Other>
Type atomicXor(Type* place, Other value) { Type old = *place; *place = old ^ (Type)value; return old; }
template <class Type, class First, class Second>
Type atomicCAS(Type* place, First expected, Second value) {
    Type old = *place;
    if (old == (Type)expected) *place = (Type)value;
    return old;
}

template <class First, class Second>
constexpr std::common_type_t<First, Second> min(First a, Second b) {
    using Type = std::common_type_t<First, Second>;
    if constexpr (std::is_floating_point_v<Type>) return fmin((Type)a, (Type)b);
    else return (Type)b < (Type)a ? (Type)b : (Type)a;
}
template <class First, class Second>
constexpr std::common_type_t<First, Second> max(First a, Second b) {
    using Type = std::common_type_t<First, Second>;
    if constexpr (std::is_floating_point_v<Type>) return fmax((Type)a, (Type)b);
    else return (Type)a < (Type)b ? (Type)b : (Type)a;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { simulated::pause(); }  // lets the other threads of the block go on
template <class Type> Type __ldg(const Type* place) { return *place; }
template <class Type> Type __ldcs(const Type* place) { return *place; }
template <class Type> void __stcs(Type* place, Type value) { *place = value; }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline int __clz(int value) { return value ? __builtin_clz(value) : 32; }
inline int __clzll(long long value) { return value ? __builtin_clzll(value) : 64; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline int __mulhi(int a, int b) { return (long long)a * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
inline long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
inline int __float_as_int(float value) { return simulated::as<int>(value); }
inline float __int_as_float(int value) { return simulated::as<float>(value); }
inline unsigned __float_as_uint(float value) { return simulated::as<unsigned>(value); }
inline float __uint_as_float(unsigned value) { return simulated::as<float>(value); }
inline long long __double_as_longlong(double value) { return simulated::as<long long>(value); }
inline double __longlong_as_double(long long value) { return simulated::as<double>(value); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double rsqrt(double a) { return 1 / sqrt(a); }
