// CUDA on a CPU, as much of it as dpmic/_kernels/search.cu uses, to test that source without a GPU.
//
// Include it before the source and write RUN(kernel) after it. Each thread of a block is a fiber of
// its own; they take turns, and one that waits at a barrier lets the others go on. Blocks run one
// after the other.
//
// The compiler is told to look for races (-fsanitize=thread), so that it calls a function before
// each access to memory. Its library is not linked: the functions are here, and know what a barrier
// orders on a GPU. They find races, reads of shared memory that nobody wrote, and accesses outside of
// the arrays.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define asm(lg2_approx) y = log2f(x)  // the source has no other assembler
#define UNWATCHED __attribute__((no_sanitize_thread))

struct int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
struct Index { int x, y; };
struct Indices { Index thread, block, block_dim, grid_dim; };
static Indices indices;
#define threadIdx indices.thread
#define blockIdx indices.block
#define blockDim indices.block_dim
#define gridDim indices.grid_dim

constexpr int WORDS = 227 * 256, MOST_THREADS = 256, MOST_WARPS = MOST_THREADS / 32;
constexpr int STACK = 1 << 16;
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
static Barrier block, warps[MOST_WARPS];
static int slots[2][MOST_THREADS];  // what lanes exchange, in even and in odd rounds
static int threads, current;
static bool moved;  // since when all threads had a turn
static ucontext_t scheduler;
static void (*body)(const long long*);
static const long long* arguments;
static char problem[200];  // the first one of a launch

// When memory was accessed. Two accesses by one block are ordered by a barrier of the block, and
// those of one warp also by __syncwarp. Numbers of barriers only increase, from block to block.
struct Moment {
  long long block, warp;
  int thread;
};

struct Word {
  Moment written, read[MOST_WARPS];  // the last write, and the last reads by each warp
  Moment first;                      // the first read since the launch
  bool atomic, by_many;              // by_many: other threads of the warp read it, too
};

struct Array {
  const char *begin, *end;
  Word* words;
};

enum Kind { READ, WRITE, ATOMIC };

static long long launched, started, now, synchronised[MOST_WARPS];  // as the numbers in a Moment
static Word in_shared[WORDS];
static Array own_memory = {(char*)shared, nullptr, in_shared};  // the block's shared memory
static Array* arrays;                                           // those of the device
static int array_count;

UNWATCHED static void fail(const char* what) {
  if (!*problem) snprintf(problem, sizeof problem, "thread %d %s", current, what);
}

UNWATCHED static void race(const char* kind, const Moment& before) {
  char what[100];
  snprintf(what, sizeof what, "races with a %s by thread %d", kind, before.thread);
  fail(what);
}

// Whether nothing orders an access after an earlier one.
UNWATCHED static bool unordered(const Moment& before) {
  const int warp = before.thread / 32;
  if (before.block < started) return before.block >= launched;  // by another block
  return before.block == now && before.thread != current &&
         (warp != current / 32 || before.warp == synchronised[warp]);
}

// Two threads may write the same number: whether they did is known after the second write.
static struct { const char* at; int before; Moment by; } doubted[4];
static int doubts;

UNWATCHED static void settle() {
  for (; doubts > 0; doubts--)
    if (memcmp(doubted[doubts - 1].at, &doubted[doubts - 1].before, 4))
      race("write", doubted[doubts - 1].by);
}

UNWATCHED static void access(Word& word, const char* at, Kind kind) {
  const int warp = current / 32;
  const Moment moment = {now, synchronised[warp], current};
  if (unordered(word.written) && (kind != ATOMIC || !word.atomic)) {
    if (kind == WRITE && !word.atomic)
      doubted[doubts] = {at, 0, word.written}, memcpy(&doubted[doubts++].before, at, 4);
    else
      race("write", word.written);
  }
  Moment& own = word.read[warp];
  const bool again = own.block == now && own.warp == moment.warp;
  if (kind == READ) {
    if (word.first.block < launched) word.first = moment;
    word.by_many = again && (word.by_many || own.thread != current);
    own = moment;
    return;
  }
  if (unordered(word.first)) race("read", word.first);
  for (const Moment& read : word.read)
    if (unordered(read) || (&read == &own && again && word.by_many)) race("read", read);
  word.written = moment, word.atomic = kind == ATOMIC;
}

// Note an access to one array; return whether it is there.
UNWATCHED static bool accessed(const Array& array, const char* at, int bytes, Kind kind) {
  if (at < array.begin || at + bytes > array.end) return false;
  for (long i = (at - array.begin) / 4; array.begin + 4 * i < at + bytes; i++) {
    Word& word = array.words[i];
    if (array.words == in_shared && word.written.block < started) {  // by another block, if at all
      if (kind != WRITE) fail("reads what nobody wrote");
      word = {};
    }
    access(word, array.begin + 4 * i, kind);
  }
  return true;
}

UNWATCHED static void note(const char* at, int bytes, Kind kind) {
  const char *stack = fibers[current].stack, *fixed = (char*)&indices;
  settle();
  if (at >= stack && at < stack + STACK) return;
  if ((long)at % (bytes < 16 ? bytes : 16)) return fail("is not aligned");
  if (kind == WRITE && bytes > 16) return fail("writes more than these functions can compare");
  if (at >= fixed && at < fixed + sizeof indices) return;
  if (accessed(own_memory, at, bytes, kind)) return;
  for (int i = 0; i < array_count; i++)
    if (accessed(arrays[i], at, bytes, kind)) return;
  fail("is outside of all arrays");
}

// What is called before each access: one that is wrong never happens.
UNWATCHED static void watch(const void* at, int bytes, Kind kind) {
  note((const char*)at, bytes, kind);
  if (*problem) swapcontext(&fibers[current].context, &scheduler);
}

UNWATCHED static void wait(Barrier& barrier, int all) {
  const int round = barrier.round;
  if (++barrier.waiting == all) {
    barrier.waiting = 0, barrier.round++, moved = true;
    if (&barrier == &block) now++;
  } else {
    while (barrier.round == round) swapcontext(&fibers[current].context, &scheduler);
  }
}

UNWATCHED static void wait_for_warp() { wait(warps[current / 32], 32); }

// Show a value to the warp; return the values of all its lanes. The next exchange is in the other
// slots, so that lanes that are still here can read these.
UNWATCHED static const int* exchange(int value) {
  int* own = slots[warps[current / 32].round % 2];
  own[current] = value;
  wait_for_warp();
  return own + current / 32 * 32;
}

UNWATCHED static void enter() {
  body(arguments);
  fibers[current].done = moved = true;
  swapcontext(&fibers[current].context, &scheduler);
}

UNWATCHED static void resume(int thread) {
  current = thread, threadIdx = {thread % blockDim.x, thread / blockDim.x};
  swapcontext(&scheduler, &fibers[thread].context);
}

// Run one block. Every second block has its threads in backward order.
UNWATCHED static void run_block(bool backward) {
  started = ++now;
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
      if (*problem) return;
    }
    if (left && !moved) return fail("waits at a barrier that others never reach");
  }
}

template <class... A, size_t... I>
UNWATCHED static void call(void (*kernel)(A...), const long long* own, std::index_sequence<I...>) {
  kernel((A)own[I]...);
}

template <class... A>
UNWATCHED static void call(void (*kernel)(A...), const long long* own) {
  call(kernel, own, std::index_sequence_for<A...>());
}

// Launch a kernel; return what went wrong.
UNWATCHED static const char* launch(const Indices& sizes, int bytes) {
  indices = sizes, threads = blockDim.x * blockDim.y;
  *problem = 0, launched = now + 1, own_memory.end = own_memory.begin + bytes;
  for (int i = 0; i < array_count; i++)
    arrays[i].words = (Word*)calloc((arrays[i].end - arrays[i].begin) / 4 + 1, sizeof(Word));
  for (; blockIdx.x < gridDim.x && !*problem; blockIdx.x++) run_block(blockIdx.x % 2), settle();
  for (int i = 0; i < array_count; i++) free(arrays[i].words);
  return *problem ? problem : nullptr;
}

}  // namespace emulator

#define RUN(kernel)                                                                              \
  UNWATCHED static void call_kernel(const long long* values) { emulator::call(kernel, values); } \
  extern "C" UNWATCHED const char* run(const Indices* sizes, int bytes, const long long* values, \
                                       emulator::Array* arrays, int count) {                     \
    emulator::body = call_kernel, emulator::arguments = values;                                  \
    emulator::arrays = arrays, emulator::array_count = count;                                    \
    return emulator::launch(*sizes, bytes);                                                      \
  }

#define WATCH(name, ...) \
  extern "C" UNWATCHED void __tsan_##name(void* at) { emulator::watch(at, __VA_ARGS__); }
#define WATCH_ALL(bytes)                              \
  WATCH(read##bytes, bytes, emulator::READ)           \
  WATCH(write##bytes, bytes, emulator::WRITE)         \
  WATCH(unaligned_read##bytes, bytes, emulator::READ) \
  WATCH(unaligned_write##bytes, bytes, emulator::WRITE)
WATCH_ALL(1) WATCH_ALL(2) WATCH_ALL(4) WATCH_ALL(8) WATCH_ALL(16)
extern "C" UNWATCHED void __tsan_read_range(void* at, long bytes) {
  emulator::watch(at, bytes, emulator::READ);
}
extern "C" UNWATCHED void __tsan_write_range(void* at, long bytes) {
  emulator::watch(at, bytes, emulator::WRITE);
}
extern "C" UNWATCHED void __tsan_func_entry(void*) {}
extern "C" UNWATCHED void __tsan_func_exit(void*) {}
extern "C" UNWATCHED void __tsan_init() {}

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

UNWATCHED static inline void __syncthreads() { emulator::wait(emulator::block, emulator::threads); }

UNWATCHED static inline void __syncwarp() {
  emulator::wait_for_warp();
  emulator::synchronised[emulator::current / 32] = emulator::warps[emulator::current / 32].round;
}

template <class To, class From>
static inline To bits_as(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  return memcpy(&to, &from, sizeof to), to;
}

static inline float __int_as_float(int bits) { return bits_as<float>(bits); }
static inline int __float_as_int(float value) { return bits_as<int>(value); }

static inline float __fdividef(float x, float y) { return x / y; }

UNWATCHED static inline float __shfl_sync(unsigned, float value, int lane) {
  return __int_as_float(emulator::exchange(__float_as_int(value))[lane % 32]);
}

UNWATCHED static inline float __shfl_xor_sync(unsigned all, float value, int mask) {
  return __shfl_sync(all, value, emulator::current ^ mask);
}

UNWATCHED static inline unsigned __ballot_sync(unsigned, bool value) {
  const int* values = emulator::exchange(value);
  unsigned found = 0;
  for (int i = 0; i < 32; i++) found |= (unsigned)values[i] << i;
  return found;
}

// Fibers change only at barriers, so that nothing comes between.
UNWATCHED static inline int atomicAdd(int* at, int value) {
  emulator::watch(at, 4, emulator::ATOMIC);
  return *at += value, *at - value;
}

UNWATCHED static inline int atomicMax(int* at, int value) {
  emulator::watch(at, 4, emulator::ATOMIC);
  const int before = *at;
  return *at = max(before, value), before;
}
