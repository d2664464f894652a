// The search of tiled.py on a GPU, in float32: the largest information of every step of a group.
//
// PART is the type of a part of a record. `search` is compiled for the constants of one group of
// steps:
//   KM     the most rows of a grid
//   LANES  ends of rows that a warp tries at once: 32, or 16 for two halves of the columns
//   CHUNKS so many times LANES ends are enough for every master of the group
//   WARPS  warps of a block, each with steps of its own
//   SPLIT  1 where a block counts on the cuts of its own steps, not on those of the group
//
// There a block has one pair in one orientation. Its warps count the records in (column, master row)
// once, cumulate, and take the columns of each step as differences. The rows of the dynamic
// programme lie in registers: lane = end, one register for each k and chunk of ends.
//
// Values of x log2 x are of counts divided by a power of 2 near their size, which makes sums, and so
// rounding, small. What that adds does not depend on where rows are cut: n times a logarithm.
//
// Without KM the rest is compiled: `search_long`, for masters that neither registers nor shared
// memory hold, and `summarise`.

#define ALL 0xffffffffu
#define TINY 1e-30f
#define NEVER -1e30f

struct Axes {  // as records.CutAxes, see there
  const PART* parts;          // [axis, group, record]
  const int* sizes;           // [axis, group]
  const int* edges;           // [axis, width]
  const int* offsets;         // [axis, step + 1]
  const PART* master_parts;   // [axis, group, record]
  const int* master_sizes;    // [axis, group]
  long long width;
};

struct Task {  // the same for all blocks
  int n, groups, steps, group, first, last;  // steps first .. last - 1 of a group
  const int* k_max;                          // [step]
  int most;                                  // k of bits is 0 .. most
  long long pairs;
};

#define TASK                                                                                    \
  const Axes *left, const Axes *right, const int2 *pairs, const int *shuffled,                  \
      const int *k_max, int n, int groups, int steps, int group, int first, int last, int most, \
      long long count, float *scores, float *bits
#define TASK_GIVEN {n, groups, steps, group, first, last, k_max, most, count}

__device__ __forceinline__ float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float f(float x) { return x * log2_fast(fmaxf(x, TINY)); }

__device__ __forceinline__ float add_f(float sum, float x) {
  return fmaf(x, log2_fast(fmaxf(x, TINY)), sum);
}

// An integer below 2^23; conversions would take the unit that logarithms need.
__device__ __forceinline__ float as_float(int count) {
  return __int_as_float(count | 0x4b000000) - 8388608.0f;
}

__device__ __forceinline__ float sum_of(float value) {
  for (int o = 16; o; o >>= 1) value += __shfl_xor_sync(ALL, value, o);
  return value;
}

__device__ __forceinline__ float largest_of(float value) {
  for (int o = 16; o; o >>= 1) value = fmaxf(value, __shfl_xor_sync(ALL, value, o));
  return value;
}

// The exponent of a power of 2 near n / parts, at least 0.
__device__ __forceinline__ int exponent(int n, int parts) {
  return max(31 - __clz(max(n / parts, 1)), 0);
}

__device__ __forceinline__ float power(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

// What information has besides the sum over rows, and the factor of that sum.
struct Constant {
  float factor, added;
  __device__ float bits(float sum) const { return fmaxf(fmaf(sum, factor, added), 0.0f); }
};

__device__ __forceinline__ Constant constant(int n, float entropy, int cell, int total) {
  return {power(cell) / n, entropy / n + (cell - total)};
}

__device__ __forceinline__ void keep(float* scores, float* bits, long long pair, int turn, int step,
                                     int k, float value, const Task& task) {
  if (k > task.k_max[step]) return;
  if (bits)
    bits[((turn * task.pairs + pair) * task.steps + step) * (task.most + 1) + k] = value;
  else  // floats that are not negative have the order of their bits
    atomicMax((int*)scores + pair, __float_as_int(fminf(value / log2f((float)k), 1.0f)));
}

#ifdef KM
#define ENDS (LANES * CHUNKS)
#define HALVES (32 / LANES)
#define ROW (ENDS + (HALVES == 2 && ENDS % 32 == 0 ? 16 : 0))  // both halves on banks of their own

// Cumulate counts along one axis, eight at a time: loads do not wait for each other.
__device__ __forceinline__ void cumulate(int* first, int count, int stride) {
  int sum = 0, i = 0;
  for (; i + 8 <= count; i += 8, first += 8 * stride) {
    int own[8];
#pragma unroll
    for (int e = 0; e < 8; e++) own[e] = first[e * stride];
#pragma unroll
    for (int e = 0; e < 8; e++) first[e * stride] = sum += own[e];
  }
  for (; i < count; i++, first += stride) *first = sum += *first;
}

// Number the parts between the cuts of the block's own steps; the first warp does it.
__device__ int number_parts(int* place, const int* edges, int count, int parts) {
  int tid = threadIdx.y * 32 + threadIdx.x;
  for (int i = tid; i <= parts; i += 32 * WARPS) place[i] = 0;
  __syncthreads();
  for (int i = tid; i < count; i += 32 * WARPS) place[edges[i]] = 1;
  __syncthreads();
  if (threadIdx.y == 0) {
    int before = -1;
    for (int base = 0; base <= parts; base += 32) {
      int i = base + threadIdx.x;
      unsigned marks = __ballot_sync(ALL, i <= parts && place[i]);
      if (i <= parts) place[i] = before + __popc(marks & (ALL >> (31 - threadIdx.x)));
      before += __popc(marks);
    }
  }
  __syncthreads();
  return place[parts];
}

// k = 2 needs the sums of both rows for each cut, and no programme.
__device__ __forceinline__ float best_of_two(const int* table, int stride, const int* edges,
                                             int columns, int rows, int n, int cell, int total) {
  const int lane = threadIdx.x;
  const float scale = power(-cell), total_scale = power(-total), weight = -power(total - cell);
  const int* last = table + edges[columns] * stride;
  float best = NEVER;
  for (int t = 1 + lane; t < rows; t += 32) {
    float one = as_float(last[t]) * total_scale, all = n * total_scale;
    float w = weight * (f(one) + f(all - one));
    int before = 0, before_all = 0;
#pragma unroll 4
    for (int j = 1; j <= columns; j++) {
      const int* row = table + edges[j] * stride;
      int now = row[t], now_all = row[rows];
      float below = as_float(now - before) * scale;
      w = add_f(w, below);
      w = add_f(w, as_float(now_all - before_all) * scale - below);
      before = now, before_all = now_all;
    }
    best = fmaxf(best, w);
  }
  return largest_of(best);
}

// The cumulated counts of a step's columns, and before them of all records, from the table's.
// The last end is the last of the master; before the first one there are empty ones.
__device__ __forceinline__ void lay(float* counts, const int* table, int stride, const int* edges,
                                    int columns, int rows, int cell, int total) {
  const int empty = ENDS - rows;
  for (int j = 0; j < columns + 1 || j % HALVES; j++) {
    int low = j == 0 ? edges[0] : j <= columns ? edges[j - 1] : 0;
    int high = j == 0 ? edges[columns] : j <= columns ? edges[j] : 0;
    float scale = power(j == 0 ? -total : -cell);
    for (int q = threadIdx.x; q < ENDS; q += 32) {
      int t = max(q + 1 - empty, 0);
      counts[j * ROW + q] = as_float(table[high * stride + t] - table[low * stride + t]) * scale;
    }
  }
}

// w(s, t) for four starts s and one end t: the sum over the columns of this half.
__device__ __forceinline__ void weigh(float w[4], const float* counts, int rows, int start, int end,
                                      float weight) {
  const float* row = counts;
  float at = row[end];
  float4 from = *(const float4*)(row + start);
  w[0] = weight * f(at - from.x);
  w[1] = weight * f(at - from.y);
  w[2] = weight * f(at - from.z);
  w[3] = weight * f(at - from.w);
#pragma unroll 2
  for (int j = HALVES; j < rows; j += HALVES) {
    row += HALVES * ROW;
    at = row[end];
    from = *(const float4*)(row + start);
    w[0] = add_f(w[0], at - from.x);
    w[1] = add_f(w[1], at - from.y);
    w[2] = add_f(w[2], at - from.z);
    w[3] = add_f(w[3], at - from.w);
  }
}

#if KM > 2
typedef float Best[KM][CHUNKS];  // [k - 1, chunk of ends]

// Starts in the chunk of their ends: each may end where the next one begins.
__device__ __forceinline__ void within(Best& best, float a[KM - 1][4], float w[4], int chunk,
                                       int begin) {
  const int lane = threadIdx.x % LANES;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (HALVES == 2) w[i] += __shfl_xor_sync(ALL, w[i], 16);
    w[i] = lane > begin + i ? w[i] : NEVER;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int k = 0; k < KM - 1; k++) a[k][i] = __shfl_sync(ALL, best[k][chunk], begin + i);
#pragma unroll
    for (int k = 1; k < KM; k++)
      if (k < KM - 1 || chunk == CHUNKS - 1)
        best[k][chunk] = fmaxf(best[k][chunk], a[k - 1][i] + w[i]);
  }
  if (HALVES == 2 && threadIdx.x >= 16)  // this half goes on with the last two starts
#pragma unroll
    for (int k = 0; k < KM - 1; k++) a[k][0] = a[k][2], a[k][1] = a[k][3];
}

// Starts before the chunk of the ends; of two halves each adds up two starts.
__device__ __forceinline__ void beyond(Best& best, const float a[KM - 1][4], const float w[4],
                                       int chunk) {
  float own[4] = {w[0], w[1], w[2], w[3]};
  if (HALVES == 2) {
    bool upper = threadIdx.x >= 16;
    float one = __shfl_xor_sync(ALL, upper ? w[0] : w[2], 16);
    float other = __shfl_xor_sync(ALL, upper ? w[1] : w[3], 16);
    own[0] = (upper ? w[2] : w[0]) + one, own[1] = (upper ? w[3] : w[1]) + other;
  }
#pragma unroll
  for (int k = 1; k < KM; k++)
    if (k < KM - 1 || chunk == CHUNKS - 1) {
#pragma unroll
      for (int i = 0; i < 4 / HALVES; i++)
        best[k][chunk] = fmaxf(best[k][chunk], a[k - 1][i] + own[i]);
    }
}

// The most that 1 .. KM rows add up to, in the last lane of the last chunk.
__device__ __forceinline__ void programme(Best& best, const float* counts, int columns, int rows,
                                          float weight) {
  const int lane = threadIdx.x % LANES, half = threadIdx.x / LANES, height = columns + 1;
  const float* own = counts + half * ROW;
  const float sign = half == 0 ? weight : 1.0f;
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    float w = sign * f(own[c * LANES + lane]);
    for (int j = HALVES; j < height; j += HALVES) w = add_f(w, own[j * ROW + c * LANES + lane]);
    if (HALVES == 2) w += __shfl_xor_sync(ALL, w, 16);
    best[0][c] = w;
#pragma unroll
    for (int k = 1; k < KM; k++) best[k][c] = NEVER;
  }
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    if (HALVES == 2)
#pragma unroll
      for (int k = 1; k < KM; k++)
        best[k][c] = fmaxf(best[k][c], __shfl_xor_sync(ALL, best[k][c], 16));
    for (int begin = 0; begin < LANES; begin += 4) {
      int start = c * LANES + begin;
      if (start + 4 <= ENDS - rows) continue;  // empty so far
      float a[KM - 1][4], w[4];
      weigh(w, own, height, start, c * LANES + lane, sign);
      within(best, a, w, c, begin);
#pragma unroll
      for (int d = c + 1; d < CHUNKS; d++) {
        weigh(w, own, height, start, d * LANES + lane, sign);
        beyond(best, a, w, d);
      }
    }
  }
}
#endif

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    search(TASK, int table_words, int edge_words, int place_words, int most_rows) {
  extern __shared__ int shared[];
  const int lane = threadIdx.x, warp = threadIdx.y, tid = warp * 32 + lane;
  const long long pair = blockIdx.x >> 1;
  const int turn = blockIdx.x & 1, g = group;
  const Task task = TASK_GIVEN;
  const Axes fixed = turn ? *right : *left, free = turn ? *left : *right;
  const int2 both = pairs[pair];
  const long long u = turn ? both.y : both.x, v = turn ? both.x : both.y;
  const int rows = free.master_sizes[v * groups + g];
  if (rows == 1) return;
  int parts = fixed.sizes[u * groups + g];
  const int* offsets = fixed.offsets + u * (steps + 1);
  const int stride = (rows + 1) | 1, begin = offsets[first];
  const int own_edges = offsets[last] - begin;

  int *table = shared, *edges = table + table_words, *place = edges + edge_words;
  for (int i = tid; i < own_edges; i += 32 * WARPS) edges[i] = fixed.edges[u * fixed.width + begin + i];
  if (SPLIT) {
    __syncthreads();
    parts = number_parts(place, edges, own_edges, parts);
    for (int i = tid; i < own_edges; i += 32 * WARPS) edges[i] = place[edges[i]];
  }
  for (int i = tid; i < (parts + 1) * stride; i += 32 * WARPS) table[i] = 0;
  __syncthreads();
  const PART* column = fixed.parts + (u * groups + g) * n;
  const PART* row = free.master_parts + (v * groups + g) * n;
  for (int i = tid; i < n; i += 32 * WARPS) {
    int c = column[i], r = row[shuffled ? shuffled[i] : i];
    atomicAdd(table + ((SPLIT ? place[c] : c) + 1) * stride + r + 1, 1);
  }
  __syncthreads();
  for (int i = tid + 1; i <= parts; i += 32 * WARPS) cumulate(table + i * stride + 1, rows, 1);
  __syncthreads();
  for (int t = tid + 1; t <= rows; t += 32 * WARPS) cumulate(table + stride + t, parts, stride);
  __syncthreads();

  for (int step = first + warp; step < last; step += WARPS) {
    const int* own = edges + offsets[step] - begin;
    const int columns = offsets[step + 1] - offsets[step] - 1;
    const int cell = exponent(n, columns * KM), total = exponent(n, KM);
    float entropy = 0.0f;
    for (int j = lane; j < columns; j += 32) {
      float c = (float)(table[own[j + 1] * stride + rows] - table[own[j] * stride + rows]);
      entropy += c > 0 ? c * log2f(n / c) : 0.0f;
    }
    const Constant rest = constant(n, sum_of(entropy), cell, total);
#if KM == 2
    float best = rest.bits(best_of_two(table, stride, own, columns, rows, n, cell, total));
    if (lane == 0) keep(scores, bits, pair, turn, step, 2, best, task);
#else
    float* counts = (float*)(place + place_words) + warp * most_rows * ROW;
    __syncwarp();
    lay(counts, table, stride, own, columns, rows, cell, total);
    __syncwarp();
    Best best;
    programme(best, counts, columns, rows, -power(total - cell));
    float most = NEVER;
#pragma unroll
    for (int k = 2; k <= KM; k++) {  // more rows than there are are worth what all of them are
      most = fmaxf(most, best[k - 1][CHUNKS - 1]);
      if (lane == LANES - 1) keep(scores, bits, pair, turn, step, k, rest.bits(most), task);
    }
#endif
  }
}
#else

#define THREADS 128

// The column that a part lies in: the last edge at or below it.
__device__ int column_of(const int* edges, int columns, int part) {
  int low = 0, high = columns - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (edges[middle] <= part) low = middle; else high = middle - 1;
  }
  return low;
}

// w(s, t) of columns cumulated in rows of a table; the first of them is of all records.
__device__ float weight_of(const float* counts, int columns, int width, int s, int t, float weight) {
  float w = weight * f(counts[t] - counts[s]);
  for (int j = 1; j <= columns; j++) w = add_f(w, counts[j * width + t] - counts[j * width + s]);
  return w;
}

// Count the records of one step in [column, end], columns from 1 on, and cumulate.
__device__ void count_long(float* counts, const PART* column, const PART* row, const int* shuffled,
                           const int* edges, int columns, int rows, int n, int cell, int total) {
  const int width = rows + 1;
  int* table = (int*)counts;
  for (int i = threadIdx.x; i < (columns + 1) * width; i += THREADS) table[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += THREADS) {
    int j = column_of(edges, columns, column[i]) + 1;
    int t = row[shuffled ? shuffled[i] : i] + 1;
    atomicAdd(table + j * width + t, 1);
  }
  __syncthreads();
  for (int t = threadIdx.x; t <= rows; t += THREADS)
    for (int j = 1; j <= columns; j++) table[t] += table[j * width + t];
  __syncthreads();
  for (int j = threadIdx.x; j <= columns; j += THREADS) {
    int sum = 0;
    float scale = power(j == 0 ? -total : -cell);
    for (int t = 0; t <= rows; t++) {
      sum += table[j * width + t];
      counts[j * width + t] = sum * scale;
    }
  }
  __syncthreads();
}

// One step of one pair at a time, in a workspace of the block's own in global memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    search_long(TASK, float* workspace, long long words) {
  const Task task = TASK_GIVEN;
  const int own_steps = last - first, g = group;
  float* counts = workspace + blockIdx.x * words;
  for (long long item = blockIdx.x; item < 2 * count * own_steps; item += gridDim.x) {
    const int step = first + (int)(item % own_steps), turn = (item / own_steps) & 1;
    const long long pair = item / own_steps / 2;
    const Axes fixed = turn ? *right : *left, free = turn ? *left : *right;
    const int2 both = pairs[pair];
    const long long u = turn ? both.y : both.x, v = turn ? both.x : both.y;
    const int rows = free.master_sizes[v * groups + g], width = rows + 1;
    if (rows == 1) continue;
    const int* offsets = fixed.offsets + u * (steps + 1) + step;
    const int* edges = fixed.edges + u * fixed.width + offsets[0];
    const int columns = offsets[1] - offsets[0] - 1, km = k_max[step];
    const int cell = exponent(n, columns * km), total = exponent(n, km);
    const float weight = -power(total - cell);
    __syncthreads();
    count_long(counts, fixed.parts + (u * groups + g) * n,
               free.master_parts + (v * groups + g) * n, shuffled, edges, columns, rows, n,
               cell, total);
    float entropy = 0.0f;
    for (int j = 1; j <= columns; j++) {
      float c = counts[j * width + rows] * power(cell);
      entropy += c > 0 ? c * log2f(n / c) : 0.0f;
    }
    const Constant rest = constant(n, entropy, cell, total);
    float* best = counts + (columns + 1) * width;  // [k - 1, end]
    for (int t = threadIdx.x; t <= rows; t += THREADS) {
      best[t] = weight_of(counts, columns, width, 0, t, weight);
      for (int k = 1; k < km; k++) best[k * width + t] = NEVER;
    }
    __syncthreads();
    if (km == 2)  // the second row ends at the last end
      for (int s = 1 + threadIdx.x; s < rows; s += THREADS)
        best[width + s] = best[s] + weight_of(counts, columns, width, s, rows, weight);
    else
      for (int s = 1; s < rows; s++) {
        for (int t = s + 1 + threadIdx.x; t <= rows; t += THREADS) {
          float w = weight_of(counts, columns, width, s, t, weight);
          for (int k = 1; k < km; k++)
            best[k * width + t] = fmaxf(best[k * width + t], best[(k - 1) * width + s] + w);
        }
        __syncthreads();
      }
    __syncthreads();
    if (threadIdx.x == 0) {
      float most = NEVER;
      if (km == 2)
        for (int s = 1; s < rows; s++) best[width + rows] = fmaxf(best[width + rows], best[width + s]);
      for (int k = 2; k <= km; k++) {
        most = fmaxf(most, best[(k - 1) * width + rows]);
        keep(scores, bits, pair, turn, step, k, rest.bits(most), task);
      }
    }
  }
}

// MIC and TIC of each pair from the information [orientation, pair, step, k]. A step fixes
// `columns`, at least as many as it has rows; both orientations have the entries of as many.
extern "C" __global__ void summarise(const float* bits, const int* columns, const int* k_max,
                                     int steps, int most, long long pairs, float* mic, float* tic) {
  const long long pair = blockIdx.x * (long long)blockDim.y + threadIdx.y;
  if (pair >= pairs) return;
  float largest = 0.0f, sum = 0.0f;
  for (int step = threadIdx.x; step < steps; step += 32) {
    const float* one = bits + (pair * steps + step) * (most + 1);
    const float* other = one + pairs * steps * (most + 1);
    for (int k = 2; k <= k_max[step]; k++) {
      float a = fminf(one[k] / log2f((float)k), 1.0f), b = fminf(other[k] / log2f((float)k), 1.0f);
      largest = fmaxf(largest, fmaxf(a, b));
      sum += k == columns[step] ? fmaxf(a, b) : a + b;
    }
  }
  largest = largest_of(largest), sum = sum_of(sum);
  if (threadIdx.x == 0) mic[pair] = largest, tic[pair] = sum;
}

#endif
