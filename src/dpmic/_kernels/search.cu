// Search many pairs on a GPU, in float32: the largest information of every step of a group.
//
// PART is the type of a record's part. `search` is compiled for the constants of one group of
// steps:
//   KM     the most rows of a grid
//   CHUNKS the chunks of 32 ends of rows that cover every master of the group
//   KEPT   the ends in a table: a multiple of 16, as few as possible
//   WARPS  warps of a block; each searches its own steps
//   LONG   1 if sums over columns are added in parts, since they would lose digits
//   SPLIT  1 if a block counts on the cuts of its own steps only, not on those of the group
//
// A block has one pair in one orientation. Its warps count the records in (column, master row)
// once, cumulate, and take the columns of each step as differences. The rows of the dynamic
// programme are in registers: lane = end, one register for each k and chunk of ends.
//
// x log2 x is computed for counts divided by a power of 2 near their size, which keeps sums, and so
// rounding errors, small. What that adds does not depend on the cuts: it is n times a logarithm.
//
// Without KM the rest is compiled: `search_long`, for masters that fit neither in registers nor in
// shared memory, and `summarise`.

#define ALL 0xffffffffu
#define PARTIAL(column) (LONG && (column) % 16 == 0)  // where a long sum begins again from 0
#define TINY 1e-30f
#define NEVER -1e30f

struct Axes {  // the arrays of records.CutAxes, described there
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

// There are `given` pairs; with several orders of records, all pairs repeat for each order. It moves
// the right variable's records in both orientations, so that both are of the same permuted table.
#define TASK                                                                                    \
  const Axes *left, const Axes *right, const int2 *pairs, const int *shuffled,                  \
      const int *k_max, int n, int groups, int steps, int group, int first, int last, int most, \
      long long count, long long given, float *scores, float *bits
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

// An integer below 2^23; conversions would occupy the unit that computes logarithms.
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

// c log2(n / c): summed over the parts of n records, n times their entropy.
__device__ __forceinline__ float surprise(float c, float n) {
  return c > 0 ? c * log2f(n / c) : 0.0f;
}

// The bits of l equal columns, as an integer. The entropy of columns is the sum of this and of the
// surprise among n / 2^bits records, divided by n: small numbers, which float32 holds better.
__device__ __forceinline__ int bits_of(int l) { return (int)rintf(log2f((float)l)); }

// The exponent of a power of 2 near the usual size of a part, at least 0. It derives from the
// entropy: if most records are in one part, that part's size counts.
__device__ __forceinline__ int exponent(int n, float entropy) {
  return max((int)rintf(log2f((float)n) - entropy), 0);
}

__device__ __forceinline__ float power(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

// What information contains besides the sum over rows, and the factor of that sum.
struct Constant {
  float factor, added;
  __device__ float bits(float sum) const { return fmaxf(fmaf(sum, factor, added), 0.0f); }
};

__device__ __forceinline__ Constant constant(int n, int bits, float rest, int cell, int total) {
  return {power(cell) / n, rest + (bits + cell - total)};
}

__device__ __forceinline__ void keep(float* scores, float* bits, long long pair, int turn, int step,
                                     int k, float value, const Task& task) {
  if (k > task.k_max[step]) return;
  if (bits)
    bits[((turn * task.pairs + pair) * task.steps + step) * (task.most + 1) + k] = value;
  else  // non-negative floats are ordered like their bits
    atomicMax((int*)scores + pair, __float_as_int(fminf(value / log2f((float)k), 1.0f)));
}

#ifdef KM
#define ENDS (32 * CHUNKS)
#define ROW (KEPT % 32 ? KEPT : KEPT + 16)  // puts neighbouring rows in different banks
#ifndef TWO
#define TWO (KM * CHUNKS <= 30)
#endif

// Cumulate counts along one axis, eight at a time, so that loads do not wait for each other.
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

// Number the parts between the cuts of the block's own steps, in the first warp.
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

// k = 2 needs the sums of both rows for each cut, but no dynamic programme.
__device__ __forceinline__ float best_of_two(const int* table, int stride, const int* edges,
                                             int columns, int rows, int n, int cell, int total) {
  const int lane = threadIdx.x;
  const float scale = power(-cell), total_scale = power(-total), weight = -power(total - cell);
  const int* last = table + edges[columns] * stride;
  float best = NEVER;
  for (int t = 1 + lane; t < rows; t += 32) {
    float one = as_float(last[t]) * total_scale, all = n * total_scale;
    float w = weight * (f(one) + f(all - one)), whole = 0.0f;
    int before = 0, before_all = 0;
#pragma unroll 4
    for (int j = 1; j <= columns; j++) {
      const int* row = table + edges[j] * stride;
      int now = row[t], now_all = row[rows];
      float below = as_float(now - before) * scale;
      w = add_f(w, below);
      w = add_f(w, as_float(now_all - before_all) * scale - below);
      before = now, before_all = now_all;
      if (PARTIAL(j)) whole += w, w = 0.0f;
    }
    best = fmaxf(best, LONG ? whole + w : w);
  }
  return largest_of(best);
}

#if KM > 2
// The cumulated counts of a step's columns and, before them, of all records, from those of the
// table. The last end is the last of the master; the ends before the first are empty. An empty
// column makes the number of columns even.
__device__ __forceinline__ void lay(float* counts, const int* table, int stride, const int* edges,
                                    int columns, int rows, int cell, int total) {
  for (int j = 0; j <= (columns | 1); j++) {
    int low = j == 0 ? edges[0] : j <= columns ? edges[j - 1] : 0;
    int high = j == 0 ? edges[columns] : j <= columns ? edges[j] : 0;
    float scale = power(j == 0 ? -total : -cell);
    int own[(KEPT + 31) / 32];
#pragma unroll
    for (int i = 0; i < (KEPT + 31) / 32; i++) {
      int t = min(max(32 * i + (int)threadIdx.x + 1 + rows - KEPT, 0), rows);
      own[i] = table[high * stride + t] - table[low * stride + t];
    }
#pragma unroll
    for (int i = 0; i < (KEPT + 31) / 32; i++)
      if (32 * i + threadIdx.x < KEPT)
        counts[j * ROW + 32 * i + threadIdx.x] = as_float(own[i]) * scale;
  }
}

// w(s, t) for four starts s and several ends t, 32 apart: the sum over every column or over every
// second one. The first column is weighted.
template <int EVERY, int AT_ONCE>
__device__ __forceinline__ void weigh(float w[AT_ONCE][4], const float* row, int columns, int start,
                                      int end, float weight) {
  float4 from = *(const float4*)(row + start);
  float whole[4 * AT_ONCE] = {};
#pragma unroll
  for (int i = 0; i < AT_ONCE; i++) {
    float at = row[end + 32 * i];
    w[i][0] = weight * f(at - from.x), w[i][1] = weight * f(at - from.y);
    w[i][2] = weight * f(at - from.z), w[i][3] = weight * f(at - from.w);
  }
#pragma unroll(3 - AT_ONCE)
  for (int j = EVERY; j <= columns; j += EVERY) {
    row += EVERY * ROW;
    from = *(const float4*)(row + start);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      float at = row[end + 32 * i];
      w[i][0] = add_f(w[i][0], at - from.x), w[i][1] = add_f(w[i][1], at - from.y);
      w[i][2] = add_f(w[i][2], at - from.z), w[i][3] = add_f(w[i][3], at - from.w);
    }
    if (PARTIAL(j)) {
#pragma unroll
      for (int i = 0; i < 4 * AT_ONCE; i++) whole[i] += (&w[0][0])[i], (&w[0][0])[i] = 0.0f;
    }
  }
  if (LONG) {
#pragma unroll
    for (int i = 0; i < 4 * AT_ONCE; i++) (&w[0][0])[i] += whole[i];
  }
}

typedef float Best[KM][CHUNKS];  // [k - 1, chunk of ends]

// A lane's end in a chunk; the very first ends may be missing, since none is used.
__device__ __forceinline__ int end_of(int chunk, int lane) {
  return chunk == 0 ? max(lane, ENDS - KEPT) : 32 * chunk + lane;
}

// Try a start for all ends of a chunk; with KM rows only the last end matters.
__device__ __forceinline__ void extend(Best& best, const float a[KM - 1][4], float w, int i,
                                       int chunk) {
#pragma unroll
  for (int k = 1; k < KM; k++)
    if (k < KM - 1 || chunk == CHUNKS - 1)
      best[k][chunk] = fmaxf(best[k][chunk], a[k - 1][i] + w);
}

// Try four starts for the ends of their own chunk: each may end where the next one begins. In the
// second half of a chunk, half of the lanes have no end, and take every second column instead.
__device__ __forceinline__ void within(Best& best, float a[KM - 1][4], const float* counts,
                                       int columns, int chunk, int begin, float weight) {
  const int lane = threadIdx.x, first = 32 * chunk, end = end_of(chunk, lane);
  float w[1][4];
  if (begin < 16) {
    weigh<1, 1>(w, counts, columns, first + begin, end, weight);
  } else {
    const bool upper = lane >= 16;
    weigh<2, 1>(w, counts + upper * ROW, columns, first + begin, first + (lane | 16),
                upper ? 1.0f : weight);
#pragma unroll
    for (int i = 0; i < 4; i++) w[0][i] += __shfl_xor_sync(ALL, w[0][i], 16);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int k = 0; k < KM - 1; k++) a[k][i] = __shfl_sync(ALL, best[k][chunk], begin + i);
    extend(best, a, lane > begin + i ? w[0][i] : NEVER, i, chunk);
  }
}

// Try four starts for the ends of several later chunks.
template <int AT_ONCE>
__device__ __forceinline__ void beyond(Best& best, const float a[KM - 1][4], const float* counts,
                                       int columns, int start, int chunk, float weight) {
  float w[AT_ONCE][4];
  weigh<1, AT_ONCE>(w, counts, columns, start, 32 * chunk + threadIdx.x, weight);
#pragma unroll
  for (int d = 0; d < AT_ONCE; d++)
#pragma unroll
    for (int i = 0; i < 4; i++) extend(best, a, w[d][i], i, chunk + d);
}

// The largest sums of 1 .. KM rows, in the last lane of the last chunk.
__device__ __forceinline__ void programme(Best& best, const float* table, int columns, int rows,
                                          float weight) {
  const float* counts = table - (ENDS - KEPT);
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    best[0][c] = weight * f(counts[end_of(c, threadIdx.x)]);
#pragma unroll
    for (int k = 1; k < KM; k++) best[k][c] = NEVER;
  }
  float whole[CHUNKS] = {};
  for (int j = 1; j <= columns; j++)
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      best[0][c] = add_f(best[0][c], counts[j * ROW + end_of(c, threadIdx.x)]);
      if (PARTIAL(j)) whole[c] += best[0][c], best[0][c] = 0.0f;
    }
  if (LONG) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) best[0][c] += whole[c];
  }
#pragma unroll
  for (int c = 0; c < CHUNKS; c++) {
    for (int begin = 0; begin < 32; begin += 4) {
      int start = 32 * c + begin;
      if (start + 4 <= ENDS - rows) continue;  // still empty
      float a[KM - 1][4];
      within(best, a, counts, columns, c, begin, weight);
#pragma unroll
      for (int d = c + 1; d < CHUNKS; d += 2)  // two at a time, if registers suffice
        if (TWO && d + 1 < CHUNKS) {
          beyond<2>(best, a, counts, columns, start, d, weight);
        } else {
          beyond<1>(best, a, counts, columns, start, d, weight);
          if (d + 1 < CHUNKS) beyond<1>(best, a, counts, columns, start, d + 1, weight);
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
  const int2 both = pairs[pair % given];
  const int* order = shuffled ? shuffled + pair / given * n : nullptr;
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
  for (int i = tid; i < n; i += 8 * 32 * WARPS) {  // so that eight loads overlap
    int c[8], r[8];
#pragma unroll
    for (int e = 0; e < 8; e++) {
      int record = min(i + e * 32 * WARPS, n - 1);
      int moved = order ? __ldg(order + record) : record;
      c[e] = __ldg(column + (turn ? moved : record));
      r[e] = __ldg(row + (turn ? record : moved));
    }
#pragma unroll
    for (int e = 0; e < 8; e++)
      if (i + e * 32 * WARPS < n)
        atomicAdd(table + ((SPLIT ? place[c[e]] : c[e]) + 1) * stride + r[e] + 1, 1);
  }
  __syncthreads();
  for (int i = tid + 1; i <= parts; i += 32 * WARPS) cumulate(table + i * stride + 1, rows, 1);
  __syncthreads();
  for (int t = tid + 1; t <= rows; t += 32 * WARPS) cumulate(table + stride + t, parts, stride);
  __syncthreads();

  float rows_entropy = 0.0f;
  for (int t = 1 + lane; t <= rows; t += 32) {
    const int* all = table + parts * stride + t;
    rows_entropy += surprise((float)(all[0] - all[-1]), n);
  }
  rows_entropy = fminf(sum_of(rows_entropy) / n, log2f((float)KM));
  for (int step = first + warp; step < last; step += WARPS) {
    const int* own = edges + offsets[step] - begin;
    const int columns = offsets[step + 1] - offsets[step] - 1;
    const int column_bits = bits_of(columns);
    float rest = 0.0f;
    for (int j = lane; j < columns; j += 32)
      rest += surprise((float)(table[own[j + 1] * stride + rows] - table[own[j] * stride + rows]),
                       n * power(-column_bits));
    rest = sum_of(rest) / n;
    const int cell = exponent(n, column_bits + rest + rows_entropy);
    const int total = exponent(n, rows_entropy);
    const Constant known = constant(n, column_bits, rest, cell, total);
#if KM == 2
    float best = known.bits(best_of_two(table, stride, own, columns, rows, n, cell, total));
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
    for (int k = 2; k <= KM; k++) {  // more rows than the master has do not add information
      most = fmaxf(most, best[k - 1][CHUNKS - 1]);
      if (lane == 31) keep(scores, bits, pair, turn, step, k, known.bits(most), task);
    }
#endif
  }
}
#else

#define THREADS 128
#define LONG 1

// The column of a part: the last edge at or below it.
__device__ int column_of(const int* edges, int columns, int part) {
  int low = 0, high = columns - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (edges[middle] <= part) low = middle; else high = middle - 1;
  }
  return low;
}

// w(s, t) of columns cumulated in rows of a table, the first of which is of all records.
__device__ float weight_of(const float* counts, int columns, int width, int s, int t, float weight) {
  float w = weight * f(counts[t] - counts[s]), whole = 0.0f;
  for (int j = 1; j <= columns; j++) {
    w = add_f(w, counts[j * width + t] - counts[j * width + s]);
    if (PARTIAL(j)) whole += w, w = 0.0f;
  }
  return whole + w;
}

// Count the records of one step in [column, end], with columns from 1 on, and cumulate.
__device__ void count_long(float* counts, const PART* column, const PART* row, const int* order,
                           int turn, const int* edges, int columns, int rows, int n) {
  const int width = rows + 1;
  int* table = (int*)counts;
  for (int i = threadIdx.x; i < (columns + 1) * width; i += THREADS) table[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += THREADS) {
    int moved = order ? order[i] : i;
    int j = column_of(edges, columns, column[turn ? moved : i]) + 1;
    int t = row[turn ? i : moved] + 1;
    atomicAdd(table + j * width + t, 1);
  }
  __syncthreads();
  for (int t = threadIdx.x; t <= rows; t += THREADS)
    for (int j = 1; j <= columns; j++) table[t] += table[j * width + t];
  __syncthreads();
  for (int j = threadIdx.x; j <= columns; j += THREADS) {
    int sum = 0;
    for (int t = 0; t <= rows; t++) counts[j * width + t] = sum += table[j * width + t];
  }
  __syncthreads();
}

// One step of one pair at a time, in the block's own workspace in global memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    search_long(TASK, float* workspace, long long words) {
  const Task task = TASK_GIVEN;
  const int own_steps = last - first, g = group;
  float* counts = workspace + blockIdx.x * words;
  for (long long item = blockIdx.x; item < 2 * count * own_steps; item += gridDim.x) {
    const int step = first + (int)(item % own_steps), turn = (item / own_steps) & 1;
    const long long pair = item / own_steps / 2;
    const Axes fixed = turn ? *right : *left, free = turn ? *left : *right;
    const int2 both = pairs[pair % given];
    const int* order = shuffled ? shuffled + pair / given * n : nullptr;
    const long long u = turn ? both.y : both.x, v = turn ? both.x : both.y;
    const int rows = free.master_sizes[v * groups + g], width = rows + 1;
    if (rows == 1) continue;
    const int* offsets = fixed.offsets + u * (steps + 1) + step;
    const int* edges = fixed.edges + u * fixed.width + offsets[0];
    const int columns = offsets[1] - offsets[0] - 1, km = k_max[step];
    __syncthreads();
    count_long(counts, fixed.parts + (u * groups + g) * n, free.master_parts + (v * groups + g) * n,
               order, turn, edges, columns, rows, n);
    const int column_bits = bits_of(columns);
    double sum = 0.0;  // of many columns, one after the other
    for (int j = 1; j <= columns; j++)
      sum += surprise(counts[j * width + rows], n * power(-column_bits));
    const float rest = sum / n;
    float rows_entropy = 0.0f;
    for (int t = 1; t <= rows; t++) rows_entropy += surprise(counts[t] - counts[t - 1], n) / n;
    rows_entropy = fminf(rows_entropy, log2f((float)km));
    const int cell = exponent(n, column_bits + rest + rows_entropy);
    const int total = exponent(n, rows_entropy);
    const float weight = -power(total - cell);
    const Constant known = constant(n, column_bits, rest, cell, total);
    __syncthreads();
    for (int i = threadIdx.x; i < (columns + 1) * width; i += THREADS)
      counts[i] *= power(i < width ? -total : -cell);
    __syncthreads();
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
        keep(scores, bits, pair, turn, step, k, known.bits(most), task);
      }
    }
  }
}

// MIC and TIC of each pair from the information [orientation, pair, step, k]. A step fixes at
// least as many `columns` as it has rows; the two orientations share the square grids.
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
