// CUDA on a CPU, as much of it as dpmic/_kernels/search.cu uses, to test that source without a GPU.
//
// Include it before the source and write RUN(kernel) after it. Each thread of a block is a fiber of
// its own; they take turns, and one that waits at a barrier lets the others go on. Blocks run one
// after the other. So a deadlock, a write behind shared memory and wrong numbers are found, but
// not every race.

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define asm(lg2_approx) y = log2f(x)  // the source has no other assembler

struct int2 { int x, y; };
struct float4 { float x, y, z, w; };
static struct { int x, y; } threadIdx, blockIdx, blockDim, gridDim;
constexpr int WORDS = 227 * 256, MOST_THREADS = 1024, STACK = 1 << 16, UNUSED = 0x7f7f7f7f;
extern "C" { alignas(16) int shared[WORDS]; }

namespace emulator {

struct Fiber {
  ucontext_t context;
  char* stack;
  bool done;
};

struct Barrier {
  int waiting, round;
};

static Fiber fibers[MOST_THREADS];
static Barrier block, warps[MOST_THREADS / 32];
static int slots[2][MOST_THREADS];  // what lanes exchange, in even and in odd rounds
static int threads, current;
static bool moved;  // since when all threads had a turn
static ucontext_t scheduler;
static void (*body)(const long long*);
static const long long* arguments;

static void wait(Barrier& barrier, int all) {
  const int round = barrier.round;
  if (++barrier.waiting == all) {
    barrier.waiting = 0, barrier.round++, moved = true;
  } else {
    while (barrier.round == round) swapcontext(&fibers[current].context, &scheduler);
  }
}

static void wait_for_warp() { wait(warps[current / 32], 32); }

// Show a value to the warp; return the values of all its lanes. The next exchange is in the other
// slots, so that lanes that are still here can read these.
static const int* exchange(int value) {
  int* own = slots[warps[current / 32].round % 2];
  own[current] = value;
  wait_for_warp();
  return own + current / 32 * 32;
}

static void enter() {
  body(arguments);
  fibers[current].done = moved = true;
  swapcontext(&fibers[current].context, &scheduler);
}

static void resume(int thread) {
  current = thread, threadIdx = {thread % blockDim.x, thread / blockDim.x};
  swapcontext(&scheduler, &fibers[thread].context);
}

// Run one block; return what went wrong. Every second block has its threads in backward order.
static const char* run_block(bool backward, int shared_words) {
  for (int i = 0; i < WORDS; i++) shared[i] = UNUSED;
  block = {}, memset(warps, 0, sizeof warps);
  for (int i = 0; i < threads; i++) {
    Fiber& own = fibers[i];
    own.done = false;
    if (!own.stack) own.stack = (char*)malloc(STACK);
    getcontext(&own.context);
    own.context.uc_stack.ss_sp = own.stack, own.context.uc_stack.ss_size = STACK;
    makecontext(&own.context, enter, 0);
  }
  for (bool left = true; left;) {
    left = moved = false;
    for (int i = 0; i < threads; i++) {
      const int thread = backward ? threads - 1 - i : i;
      if (!fibers[thread].done) resume(thread), left = true;
    }
    if (left && !moved) return "some threads wait at a barrier that the others never reach";
  }
  for (int i = shared_words; i < WORDS; i++)
    if (shared[i] != UNUSED) return "a block writes behind its memory";
  return nullptr;
}

template <class... A, size_t... I>
static void call(void (*kernel)(A...), const long long* values, std::index_sequence<I...>) {
  kernel((A)values[I]...);
}

template <class... A>
static void call(void (*kernel)(A...), const long long* values) {
  call(kernel, values, std::index_sequence_for<A...>());
}

}  // namespace emulator

#define RUN(kernel)                                                                            \
  extern "C" const char* run(int blocks, int width, int height, int bytes, long long* values) { \
    emulator::body = [](const long long* own) { emulator::call(kernel, own); };                \
    emulator::arguments = values, emulator::threads = width * height;                          \
    gridDim = {blocks, 1}, blockDim = {width, height};                                         \
    const char* problem = nullptr;                                                             \
    for (int i = 0; i < blocks && !problem; i++) {                                             \
      blockIdx = {i, 0};                                                                       \
      problem = emulator::run_block(i % 2, bytes / 4);                                         \
    }                                                                                          \
    return problem;                                                                            \
  }

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline void __syncthreads() { emulator::wait(emulator::block, emulator::threads); }
static inline void __syncwarp() { emulator::wait_for_warp(); }

template <class To, class From>
static inline To bits_as(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  return memcpy(&to, &from, sizeof to), to;
}

static inline float __int_as_float(int bits) { return bits_as<float>(bits); }
static inline int __float_as_int(float value) { return bits_as<int>(value); }

template <class T>
static inline T __ldg(const T* from) { return *from; }

static inline float __shfl_sync(unsigned, float value, int lane) {
  return __int_as_float(emulator::exchange(__float_as_int(value))[lane % 32]);
}

static inline float __shfl_xor_sync(unsigned all, float value, int mask) {
  return __shfl_sync(all, value, emulator::current ^ mask);
}

static inline unsigned __ballot_sync(unsigned, bool value) {
  const int* values = emulator::exchange(value);
  unsigned found = 0;
  for (int i = 0; i < 32; i++) found |= (unsigned)values[i] << i;
  return found;
}

// Fibers change only at barriers, so that nothing comes between.
static inline int atomicAdd(int* at, int value) { return *at += value, *at - value; }

static inline int atomicMax(int* at, int value) {
  const int before = *at;
  return *at = max(before, value), before;
}
