// Search many pairs on a GPU, in float32: the largest information of every step of a group.
//
// PART is the type of a record's part. `search` is compiled for the constants of one group of
// steps:
//   KM     the most rows of a grid
//   CHUNKS the chunks of 32 ends of rows that cover every master of the group
//   KEPT   the ends in a table: a multiple of 16, as few as possible
//   WARPS  warps of a block; each searches its own steps
//   LONG   1 if sums over columns are added in parts, since they would lose digits
//   BLOCKS the blocks of a multiprocessor: registers must suffice for so many
//   UNROLL how often the loop over columns is unrolled
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

// Each axis has so many parts, of which the last ones are not used, so that eight are read at once.
__device__ __forceinline__ long long width_of(int n) { return (n + 7) & ~7; }

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
  return c > 0 ? c * log2_fast(__fdividef(n, c)) : 0.0f;
}

// The bits of l equal columns, as an integer. The entropy of columns is the sum of this and of the
// surprise among n / 2^bits records, divided by n: small numbers, which float32 holds better.
__device__ __forceinline__ int bits_of(int l) { return (int)rintf(log2_fast((float)l)); }

// The exponent of a power of 2 near the usual size of a part, at least 0. It derives from the
// entropy: if most records are in one part, that part's size counts.
__device__ __forceinline__ int exponent(int n, float entropy) {
  return max((int)rintf(log2_fast((float)n) - entropy), 0);
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

// Keep the information of an entry, if that is asked for, and return its score.
__device__ __forceinline__ float keep(float* bits, long long pair, int turn, int step, int k,
                                      float value, const Task& task) {
  if (bits)
    bits[((turn * task.pairs + pair) * task.steps + step) * (task.most + 1) + k] = value;
  return fminf(__fdividef(value, log2_fast((float)k)), 1.0f);
}

// Non-negative floats are ordered like their bits.
__device__ __forceinline__ void raise(float* scores, long long pair, float score) {
  if (scores) atomicMax((int*)scores + pair, __float_as_int(score));
}

#ifdef KM
#define ENDS (32 * CHUNKS)
#define ROW (KEPT % 32 ? KEPT : KEPT + 16)  // puts neighbouring rows in different banks

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

struct alignas(8 * sizeof(PART)) Eight { PART of[8]; };  // of as many records

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

// The records of a column, from the cumulated counts.
__device__ __forceinline__ int records_of(const int* table, const int* edges, int rows) {
  return table[edges[1] + rows] - table[edges[0] + rows];
}

// k = 2 needs the sums of both rows for each cut, but no dynamic programme.
template <bool TABLED>
__device__ __forceinline__ float best_of_two(const float* values, const int* table,
                                             const int* edges, int columns, int rows, int n,
                                             int cell, int total) {
  const int lane = threadIdx.x;
  const float scale = power(-cell), total_scale = power(-total), weight = -power(total - cell);
  const int* last = table + edges[columns];
  float best = NEVER;
  for (int t = 1 + lane; t < rows; t += 32) {
    float one = as_float(last[t]) * total_scale, all = n * total_scale;
    float w = weight * (f(one) + f(all - one)), whole = 0.0f;
    int before = 0, before_all = 0;
#pragma unroll 4
    for (int j = 1; j <= columns; j++) {
      const int* row = table + edges[j];
      int now = row[t], now_all = row[rows];
      const int below = now - before, above = now_all - before_all - below;
      w = TABLED ? w + values[below] : add_f(w, as_float(below) * scale);
      w = TABLED ? w + values[above] : add_f(w, as_float(above) * scale);
      before = now, before_all = now_all;
      if (PARTIAL(j)) whole += w, w = 0.0f;
    }
    best = fmaxf(best, LONG ? whole + w : w);
  }
  return largest_of(best);
}

#if KM > 2
constexpr int DEEP = UNROLL;  // a pragma knows no macros

// A step as one warp searches it. Its counts are cumulated along the ends: a row of all records,
// `pairs` times a column as float32 and one as offsets in the table, `single` columns as float32.
struct Own {
  const float* counts;  // before the first end that is kept
  int pairs, single;
  int empty;  // the last end before the first: where the first row begins
  float weight;
  const float* values;  // x log2 x of small counts
};

// x log2 x of a count that is given as an offset in bytes.
__device__ __forceinline__ float tabled(const Own& own, int offset) {
  return *(const float*)((const char*)own.values + offset);
}

// Add that of the counts from four starts. WITHIN a chunk an end may be before a start, and unused.
template <bool WITHIN>
__device__ __forceinline__ void add_tabled(float w[4], const Own& own, int4 from, int at) {
  w[0] += tabled(own, WITHIN ? max(at - from.x, 0) : at - from.x);
  w[1] += tabled(own, WITHIN ? max(at - from.y, 0) : at - from.y);
  w[2] += tabled(own, WITHIN ? max(at - from.z, 0) : at - from.z);
  w[3] += tabled(own, WITHIN ? max(at - from.w, 0) : at - from.w);
}

// A lane's share of a row of counts, cumulated along the ends; the ends before the first are empty.
struct Ends {
  static constexpr int COUNT = (KEPT + 31) / 32;
  int at[COUNT];

  __device__ __forceinline__ void store(float* row, int i, float value) const {
    if (32 * i + 32 <= KEPT || (int)threadIdx.x < KEPT - 32 * i) row[32 * i + threadIdx.x] = value;
  }
};

// An integer below 2^23, divided by 2^exponent.
__device__ __forceinline__ float scaled(int count, int exponent) {
  const int bits = 0x4b000000 - (exponent << 23);
  return __int_as_float(count | bits) - __int_as_float(bits);
}

// The rows of a step's counts, from those of the table. The last end is the last of the master.
__device__ __forceinline__ void lay(float* counts, const int* table, const int* edges, int pairs,
                                    int single, int rows, int cell, int total) {
  Ends ends;
  int before[Ends::COUNT] = {};
#pragma unroll
  for (int i = 0; i < Ends::COUNT; i++)
    ends.at[i] = min(max(32 * i + (int)threadIdx.x + 1 + rows - KEPT, 0), rows);
  const int* last = table + edges[2 * pairs + single];
#pragma unroll
  for (int i = 0; i < Ends::COUNT; i++) ends.store(counts, i, scaled(last[ends.at[i]], total));
  for (int j = 0; j < pairs; j++, edges += 2) {
    const int *one = table + edges[1], *other = table + edges[2];
#pragma unroll
    for (int i = 0; i < Ends::COUNT; i++) {
      int now = one[ends.at[i]], next = other[ends.at[i]];
      ends.store(counts + ROW, i, scaled(now - before[i], cell));
      ends.store(counts + 2 * ROW, i, __int_as_float(4 * (next - now)));
      before[i] = next;
    }
    counts += 2 * ROW;
  }
  for (int j = 0; j < single; j++) {
    const int* one = table + *++edges;
    counts += ROW;
#pragma unroll
    for (int i = 0; i < Ends::COUNT; i++) {
      int now = one[ends.at[i]];
      ends.store(counts, i, scaled(now - before[i], cell));
      before[i] = now;
    }
  }
}

// Add x log2 x of a column to the sums of four starts.
__device__ __forceinline__ void add_column(float w[4], float4 from, float at) {
  w[0] = add_f(w[0], at - from.x), w[1] = add_f(w[1], at - from.y);
  w[2] = add_f(w[2], at - from.z), w[3] = add_f(w[3], at - from.w);
}

// w(s, t) for four starts s and several ends t, 32 apart: the sum over all columns.
template <int COUNT, bool WITHIN>
__device__ __forceinline__ void weigh(float w[COUNT][4], const Own& own, int start, int end) {
  const float *low = own.counts + start, *high = own.counts + end;
  float4 from = *(const float4*)low;
  float whole[4 * COUNT] = {};
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    float at = high[32 * i];
    w[i][0] = own.weight * f(at - from.x), w[i][1] = own.weight * f(at - from.y);
    w[i][2] = own.weight * f(at - from.z), w[i][3] = own.weight * f(at - from.w);
  }
#pragma unroll(DEEP)
  for (int j = 1; j <= own.pairs; j++) {
    from = *(const float4*)(low + ROW);
    const int4 below = *(const int4*)(low + 2 * ROW);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      add_column(w[i], from, high[ROW + 32 * i]);
      add_tabled<WITHIN>(w[i], own, below, *(const int*)(high + 2 * ROW + 32 * i));
    }
    low += 2 * ROW, high += 2 * ROW;
    if (PARTIAL(2 * j)) {
#pragma unroll
      for (int i = 0; i < 4 * COUNT; i++) whole[i] += (&w[0][0])[i], (&w[0][0])[i] = 0.0f;
    }
  }
#pragma unroll 1
  for (int j = 1; j <= own.single; j++) {
    low += ROW, high += ROW;
    from = *(const float4*)low;
#pragma unroll
    for (int i = 0; i < COUNT; i++) add_column(w[i], from, high[32 * i]);
    if (PARTIAL(j)) {
#pragma unroll
      for (int i = 0; i < 4 * COUNT; i++) whole[i] += (&w[0][0])[i], (&w[0][0])[i] = 0.0f;
    }
  }
  if (LONG) {
#pragma unroll
    for (int i = 0; i < 4 * COUNT; i++) (&w[0][0])[i] += whole[i];
  }
}

// The largest sums found so far, of 1 .. KM - 1 rows, for the lane's end in the chunk at hand and
// in later ones; and of KM rows, for the last chunk only.
struct Best {
  float of[KM - 1][CHUNKS], last;
};

// Try a start for all ends of a chunk.
__device__ __forceinline__ void extend(Best& best, const float a[KM - 1][4], float w, int i, int d,
                                       bool last) {
#pragma unroll
  for (int k = 1; k < KM - 1; k++) best.of[k][d] = fmaxf(best.of[k][d], a[k - 1][i] + w);
  if (last) best.last = fmaxf(best.last, a[KM - 2][i] + w);
}

// Begin the first row where the last empty end is one of four starts.
__device__ __forceinline__ void begin_first(Best& best, const float w[4], int d, int start) {
  if (start >= 0) best.of[0][d] = start < 2 ? start ? w[1] : w[0] : start < 3 ? w[2] : w[3];
}

// Try four starts for the ends of later chunks.
template <int COUNT>
__device__ __forceinline__ void beyond(Best& best, const float a[KM - 1][4], const Own& own,
                                       int start, int chunk, int d) {
  float w[COUNT][4];
  weigh<COUNT, false>(w, own, start, 32 * (chunk + d) + threadIdx.x);
#pragma unroll
  for (int e = 0; e < COUNT; e++) {
    begin_first(best, w[e], d + e, own.empty - start);
#pragma unroll
    for (int i = 0; i < 4; i++) extend(best, a, w[e][i], i, d + e, chunk + d + e == CHUNKS - 1);
  }
}

// Of the last twelve starts of a chunk few ends are left: 12, 8 and 4 for four starts each. Lanes
// that have no end while other starts are tried compute their sums beforehand and store them. This
// is where: `left` is the number of starts from the first of the four to the end of the chunk.
#define STASH 96
__device__ __forceinline__ int place_of(int left) { return 24 - left * (left + 4) / 8; }

// Try the starts of a chunk, four at a time: each may end where the next one begins.
__device__ __forceinline__ void search_chunk(Best& best, const Own& own, float* stash, int chunk) {
  const int lane = threadIdx.x, first = max(own.empty - 32 * chunk, 0) & ~3;
  const bool apart = first > 4;  // the sums of the last twelve starts are computed by themselves
  for (int begin = first - 4 * apart; begin < 32; begin += 4) {
    const bool before = begin < first;
    float w[1][4], a[KM - 1][4];
    if (begin < 20 || before) {
      const int spare = before ? 24 : apart || begin > 12 ? 0 : begin;
      int start = begin, end = lane, place = lane;
      if (before) {
        start = lane < 12 ? 20 : lane < 20 ? 24 : 28;
        end = min(lane + (lane < 12 ? 20 : lane < 20 ? 12 : 8), 31);
      } else if (lane < spare) {
        start = 32 - begin, end += start, place += place_of(begin);
      }
      weigh<1, true>(w, own, 32 * chunk + start, max(32 * chunk + end, ENDS - KEPT));
      if (lane < spare) {
#pragma unroll
        for (int i = 0; i < 4; i++) stash[24 * i + place] = w[0][i];
      }
      __syncwarp();
      if (before) continue;
    } else {
      const int place = place_of(32 - begin) + max(lane - begin, 0);
#pragma unroll
      for (int i = 0; i < 4; i++) w[0][i] = stash[24 * i + place];
    }
    const int start = 32 * chunk + begin;
#pragma unroll
    for (int i = 0; i < 4; i++) w[0][i] = lane > begin + i ? w[0][i] : NEVER;
    begin_first(best, w[0], 0, own.empty - start);
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
      for (int k = 0; k < KM - 1; k++) a[k][i] = __shfl_sync(ALL, best.of[k][0], begin + i);
      extend(best, a, w[0][i], i, 0, chunk == CHUNKS - 1);
    }
#pragma unroll
    for (int d = 1; d < CHUNKS; d += 2)
      if (d + 1 < CHUNKS && chunk + d + 1 < CHUNKS)
        beyond<2>(best, a, own, start, chunk, d);
      else if (chunk + d < CHUNKS)
        beyond<1>(best, a, own, start, chunk, d);
  }
}

// The largest sums of 1 .. KM rows, in the last lane.
__device__ __forceinline__ void programme(Best& best, const Own& own, float* stash) {
#pragma unroll
  for (int c = 0; c < CHUNKS; c++)
#pragma unroll
    for (int k = 0; k < KM - 1; k++) best.of[k][c] = NEVER;
  best.last = NEVER;
#pragma unroll 1
  for (int chunk = 0;;) {
    search_chunk(best, own, stash, chunk);
    if (++chunk == CHUNKS) break;
#pragma unroll
    for (int c = 0; c + 1 < CHUNKS; c++)
#pragma unroll
      for (int k = 0; k < KM - 1; k++) best.of[k][c] = best.of[k][c + 1];
  }
}
#endif

// Count the records in [part, master row], cumulated along both; row 0 and column 0 are empty.
__device__ __forceinline__ void count_records(int* table, const int* place, const PART* column,
                                              const PART* row, const int* order, int turn,
                                              int parts, int rows, int stride, int n) {
  const int tid = threadIdx.y * 32 + threadIdx.x;
  for (int i = tid; 4 * i < (parts + 1) * stride; i += 32 * WARPS)
    ((int4*)table)[i] = {0, 0, 0, 0};
  __syncthreads();
  for (int i = 8 * tid; i < n; i += 8 * 32 * WARPS) {
    Eight c = *(const Eight*)(column + i), r = *(const Eight*)(row + i);
    if (order) {
      const PART* parts_of = turn ? column : row;
#pragma unroll
      for (int e = 0; e < 8; e++) {
        const int moved = parts_of[order[min(i + e, n - 1)]];
        if (turn) c.of[e] = moved; else r.of[e] = moved;
      }
    }
#pragma unroll
    for (int e = 0; e < 8; e++)
      if (i + e < n)
        atomicAdd(table + ((SPLIT ? place[c.of[e]] : c.of[e]) + 1) * stride + r.of[e] + 1, 1);
  }
  __syncthreads();
  for (int i = tid + 1; i <= parts; i += 32 * WARPS) cumulate(table + i * stride + 1, rows, 1);
  __syncthreads();
  for (int t = tid + 1; t <= rows; t += 32 * WARPS) cumulate(table + stride + t, parts, stride);
  __syncthreads();
}

// The exponents of the powers of 2 by which the records of a cell and of a row are divided.
struct Scales { int cell, total; };

__device__ __forceinline__ Scales scales_of(const int* table, const int* edges, int columns,
                                            int rows, int n) {
  const int* all = table + edges[columns];
  float by_rows = 0.0f, by_columns = 0.0f;  // entropies
  for (int t = 1 + threadIdx.x; t <= rows; t += 32) by_rows -= f((float)(all[t] - all[t - 1]) / n);
#pragma unroll 1
  for (int j = threadIdx.x; j < columns; j += 32)
    by_columns -= f((float)records_of(table, edges + j, rows) / n);
  by_rows = fminf(sum_of(by_rows), log2_fast((float)KM));
  return {exponent(n, sum_of(by_columns) + by_rows), exponent(n, by_rows)};
}

// The largest information of a step's entries, in the last lane.
__device__ __forceinline__ void search_step(float most[KM + 1], const int* table, const int* edges,
                                            int columns, int rows, int n, Scales scales,
                                            const float* values, int small, float* own,
                                            int most_rows) {
  const int column_bits = bits_of(columns);
  float rest = 0.0f, size = 0.0f;
#pragma unroll 1
  for (int j = threadIdx.x; j < columns; j += 32) {
    const float records = records_of(table, edges + j, rows);
    rest += surprise(records, n * power(-column_bits));
    size = fmaxf(size, records);
  }
  const bool tabled = largest_of(size) < small;
  const Constant known = constant(n, column_bits, sum_of(rest) / n, scales.cell, scales.total);
#if KM == 2
  most[2] = known.bits(
      tabled ? best_of_two<true>(values, table, edges, columns, rows, n, scales.cell, scales.total)
             : best_of_two<false>(values, table, edges, columns, rows, n, scales.cell, scales.total));
#else
  const int pairs = tabled ? columns / 2 : 0, single = columns - 2 * pairs;
  __syncwarp();
  lay(own, table, edges, pairs, single, rows, scales.cell, scales.total);
  __syncwarp();
  Best best;
  programme(best,
            {own - (ENDS - KEPT), pairs, single, ENDS - rows - 1,
             -power(scales.total - scales.cell), values},
            own + most_rows * ROW);
  float largest = NEVER;
#pragma unroll
  for (int k = 2; k <= KM; k++) {  // more rows than the master has do not add information
    largest = fmaxf(largest, k < KM ? best.of[k - 1][0] : best.last);
    most[k] = known.bits(largest);
  }
#endif
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    search(TASK, int small, int table_words, int edge_words, int place_words, int most_rows) {
  extern __shared__ int shared[];
  const int lane = threadIdx.x, warp = threadIdx.y, tid = warp * 32 + lane;
  const long long pair = blockIdx.x >> 1, repeat = shuffled ? pair / given : 0;
  const int turn = blockIdx.x & 1;
  const Task task = TASK_GIVEN;
  const Axes fixed = turn ? *right : *left, free = turn ? *left : *right;
  const int2 both = pairs[pair - repeat * given];
  const int* order = shuffled ? shuffled + repeat * n : nullptr;
  const long long u = turn ? both.y : both.x, v = turn ? both.x : both.y;
  const long long one = u * groups + group, other = v * groups + group;
  const int rows = free.master_sizes[other], stride = (rows + 1) | 1;
  if (rows == 1) return;
  int parts = fixed.sizes[one];
  const int* offsets = fixed.offsets + u * (steps + 1);
  const int begin = offsets[first], edge_count = offsets[last] - begin;
  const int* own_edges = fixed.edges + u * fixed.width + begin;

  float* values = (float*)shared;
  int *table = shared + small, *edges = table + table_words, *place = edges + edge_words;
  for (int i = tid; i < edge_count; i += 32 * WARPS) edges[i] = own_edges[i] * (SPLIT ? 1 : stride);
  if (SPLIT) {
    __syncthreads();
    parts = number_parts(place, edges, edge_count, parts);
    for (int i = tid; i < edge_count; i += 32 * WARPS) edges[i] = place[edges[i]] * stride;
  }
  count_records(table, place, fixed.parts + one * width_of(n),
                free.master_parts + other * width_of(n), order, turn, parts, rows, stride, n);

  const int middle = (first + last) / 2;  // the other steps have cells of nearly the same size
  const Scales scales = scales_of(table, edges + offsets[middle] - begin,
                                  offsets[middle + 1] - offsets[middle] - 1, rows, n);
  for (int i = tid; i < small; i += 32 * WARPS) values[i] = f(i * power(-scales.cell));
  __syncthreads();
  float* own = (float*)(place + place_words);
#if KM > 2
  own += warp * (most_rows * ROW + STASH);
#endif
  float score = 0.0f;
  for (int step = first + warp; step < last; step += WARPS) {
    const int most_k = k_max[step];
    float most[KM + 1];  // bits of each number of rows
    search_step(most, table, edges + offsets[step] - begin, offsets[step + 1] - offsets[step] - 1,
                rows, n, scales, values, small, own, most_rows);
#pragma unroll
    for (int k = 2; k <= KM; k++)
      if (lane == 31 && k <= most_k)
        score = fmaxf(score, keep(bits, pair, turn, step, k, most[k], task));
  }
  if (lane == 31) raise(scores, pair, score);
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
    count_long(counts, fixed.parts + (u * groups + g) * width_of(n),
               free.master_parts + (v * groups + g) * width_of(n),
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
        raise(scores, pair, keep(bits, pair, turn, step, k, known.bits(most), task));
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
