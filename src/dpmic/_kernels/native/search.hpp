// The search for the best grid: a k-segmentation dynamic programme, for many ends at a time.
//
// With fixed columns, information is a sum over rows: a row made of the master rows s .. t - 1 adds
// w(s, t) = sum_j f(C[j, t] - C[j, s]) - f(T[t] - T[s]), with f(m) = m log2 m, C the cumulative
// counts of column j and T those of all. Then best[k, t] = max over s of best[k - 1, s] + w(s, t).
//
// The exact search does this in float64, adding in the order of the reference. The fast one uses
// float32 and a polynomial for the logarithm, and lets float64 decide among all rows within the
// proved error of the best (docs/proofs/float32-search.md). Both are bit-identical to the
// reference; the time of the fast one depends on the data.
#pragma once

#include <cmath>
#include <cstring>

#include "buffer.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_FMA)
#include <arm_neon.h>
#endif

namespace dpmic {
namespace {

#if defined(__AVX512F__)
constexpr Index LANES = 16;
#elif defined(__AVX2__)
constexpr Index LANES = 8;
#else
constexpr Index LANES = 4;
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool FAST = true; // whether the fast search exists
#else
constexpr bool FAST = false;
#endif
// Vectors of ends in a tile: several hide latency, one finds more counts that are small.
constexpr int WIDE = LANES == 16 ? 1 : 4;
constexpr Index BEHIND = 16; // ends past the last that vectors may read and write

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef std::int32_t Ints __attribute__((vector_size(4 * LANES)));

template <class Vector, class T> inline Vector load(const T *place) {
    Vector value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

template <class Vector, class T> inline void store(T *place, Vector value) {
    std::memcpy(place, &value, sizeof value);
}

inline Floats splat(float value) { return value - Floats{}; }
inline Ints splat(Count value) { return value - Ints{}; }

// a b + c, rounded once where the processor can. The compiler fuses nothing by itself (CMakeLists.txt),
// so these are the only fused operations.
inline Floats fused(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_FEATURE_FMA)
    return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

// One bit per lane, the first lane lowest, that is set if the comparison holds.
inline unsigned lanes_of(Ints holds) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)holds, (__m512i)holds);
#elif defined(__AVX2__)
    return unsigned(_mm256_movemask_ps((__m256)holds));
#else
    unsigned bits = 0;
    for (int i = 0; i < LANES; ++i) bits |= unsigned(holds[i] != 0) << i;
    return bits;
#endif
}

// Half of the last place of float32, and the largest error of the polynomial.
constexpr double ROUNDING = 0x1p-24, POLYNOMIAL = 1.6e-5;

// Minimax polynomial of log2 m for m from 1 to 2.
constexpr float COEFFICIENTS[] = {-2.80036413f, 5.09171114f,   -3.5507934f,
                                  1.6311491f,   -0.416563803f, 0.0448736262f};

// x (log2 x - slope) of vectors of counts x, added to a sum.
class Product {
  public:
    explicit Product(double slope)
        : exponent_(127 + Count(std::floor(slope))),
          constant_(float(COEFFICIENTS[0] - (slope - std::floor(slope)))) {}

    Floats operator()(Ints x, Floats sum = Floats{}) const {
        const Floats value = __builtin_convertvector(x, Floats);
        Ints bits;
        Floats m; // value = 2^exponent m. For 0 both are finite, so its product is 0
        std::memcpy(&bits, &value, sizeof bits);
        const Floats exponent = __builtin_convertvector((bits >> 23) - exponent_, Floats);
        bits = (bits & 0x7fffff) | 0x3f800000;
        std::memcpy(&m, &bits, sizeof m);
        Floats log = splat(COEFFICIENTS[5]);
        for (int i = 4; i > 0; --i) log = fused(log, m, splat(COEFFICIENTS[i]));
        log = fused(log, m, splat(constant_));
        return fused(value, exponent + log, sum);
    }

  private:
    Count exponent_;
    float constant_;
};

// Cumulative counts [column, end], those of all records last; rows are padded past the last end.
struct Cumulative {
    Count *data;
    Index stride, columns, rows;
    Count *operator[](Index j) const { return data + j * stride; }
    Count *totals() const { return (*this)[columns]; }
    Count n() const { return totals()[rows]; }
};

constexpr Index SMALL = 64;     // smaller counts are looked up in registers, if those suffice
constexpr Index SHARED = 1 << 9; // up to so many rows, the terms of all row sums are kept

// The workspace for tables with at most so many columns and rows.
class Space {
  public:
    Space(Index columns, Index rows, Index k_max, const double *xlogx)
        : xlogx(xlogx), stride(2 * (rows + 2 * BEHIND) / BEHIND * BEHIND),
          cumulative((columns + 1) * stride), near((k_max + 1) * stride),
          best((k_max + 1) * stride), exact((k_max + 1) * (rows + 1)), tails(stride), ends(stride),
          found(k_max + 1), small(SMALL), shared(rows <= SHARED),
          terms((shared ? rows + 1 : 1) * stride) {}

    Cumulative table(Index columns, Index rows) const {
        return {cumulative.get(), stride, columns, rows};
    }

    const double *const xlogx;
    const Index stride;
    Buffer<Count> cumulative; // counts
    Buffer<float> near;       // best[k, end] in float32, relative to uniform columns
    Buffer<double> best;      // best[k, end]
    Buffer<double> exact;     // [k, end]: the float64 value of near, where it was needed
    Buffer<float> tails;      // w(start, last end) in float32
    Buffer<double> ends;      // w(start, last end)
    Buffer<double> found;     // [k]: the largest sum of k rows
    Buffer<float> small;      // x (log2 x - slope) of small counts
    const bool shared;        // whether the terms of all starts are kept, or those of one
    Buffer<float> terms;      // [start, end]: T log2 (T / n)
    mutable bool terms_known = false; // for the current master
};

// ---------------------------------------------------------------------------- in float64

constexpr Index EXACT = 32; // ends in a tile

template <Index N>
inline void advance(double *best, Index stride, Index low, Index high, const Cumulative &C,
                    const double *f, Index t, Index s) {
    double w[N];
    const Count *total = C.totals();
    for (Index i = 0; i < N; ++i) w[i] = -f[std::uint32_t(total[t + i] - total[s])];
    for (Index j = 0; j < C.columns; ++j) {
        const Count *column = C[j], start = column[s];
        for (Index i = 0; i < N; ++i) w[i] += f[std::uint32_t(column[t + i] - start)];
    }
    for (Index k = low; k < high; ++k) {
        const double before = best[(k - 1) * stride + s];
        double *own = best + k * stride + t;
        for (Index i = 0; i < N; ++i) own[i] = larger(before + w[i], own[i]);
    }
}

inline void start(double *best, Index stride, Index low, Index high, const Cumulative &C,
                  const double *f, Index s) {
    constexpr Index NARROW = 8;
    Index t = s + 1;
    for (; t + EXACT - NARROW <= C.rows; t += EXACT)
        advance<EXACT>(best, stride, low, high, C, f, t, s);
    for (; t <= C.rows; t += NARROW) advance<NARROW>(best, stride, low, high, C, f, t, s);
}

// Set found[k], for k = 2 .. k_max, adding in the order of the reference. The operations depend on
// sizes only.
inline void search_exactly(const Space &space, const Cumulative &C, Index k_max) {
    const double *f = space.xlogx;
    double *best = space.best.get(), *tails = space.ends.get();
    const Index stride = space.stride, rows = C.rows;
    for (Index k = 0; k < k_max; ++k)
        for (Index t = 0; t < rows + BEHIND; ++t) best[k * stride + t] = -INFINITY;
    best[0] = 0.0;
    start(best, stride, 1, 2, C, f, 0);
    const Count *total = C.totals();
    for (Index s = 0; s < rows; ++s) tails[s] = -f[std::uint32_t(total[rows] - total[s])];
    for (Index j = 0; j < C.columns; ++j) {
        const Count *column = C[j];
        for (Index s = 0; s < rows; ++s) tails[s] += f[std::uint32_t(column[rows] - column[s])];
    }
    if (k_max > 2) // best[k - 1, s] is final: every start before s was tried
        for (Index s = 1; s < rows; ++s) start(best, stride, 2, k_max, C, f, s);
    for (Index k = 2; k < k_max; ++k) space.found[k] = best[k * stride + rows];
    const double *last = best + (k_max - 1) * stride;
    double most = -INFINITY;
    for (Index s = 1; s < rows; ++s) most = larger(most, last[s] + tails[s]);
    space.found[k_max] = most;
}

// ---------------------------------------------------------------------------- in float32

// Cumulative counts for the fast search, and what its sums need besides.
struct Near : Cumulative {
    Near(const Space &space, const Cumulative &C)
        : Cumulative(C), slope(std::log2(double(C.n()) / double(C.columns))), column(slope),
          row(std::log2(double(C.n()))), small(space.small.get()), terms(space.terms.get()),
          shared(space.shared), most(50 * Count(C.columns)) {
        for (Index m = 0; m < SMALL; ++m)
            small[m] = m <= n() ? float(space.xlogx[m] - slope * double(m)) : 0.0f;
        if (shared && !space.terms_known)
            for (Index s = 0; s < rows; ++s) set_terms(s);
        space.terms_known = true;
    }

    // T log2 (T / n) of the rows that begin at s.
    const float *row_terms(Index s) const {
        if (!shared) set_terms(s);
        return terms + (shared ? s * stride : 0);
    }

    void set_terms(Index s) const {
        float *own = terms + (shared ? s * stride : 0);
        const Count *total = totals();
        for (Index t = s + 1; t <= rows; t += LANES)
            store(own + t, row(load<Ints>(total + t) - splat(total[s])));
    }

    double slope;
    Product column, row;
    float *small, *terms;
    bool shared;
    mutable Count most; // rows with up to so many records probably have small counts only
};

// The counts of one start and a vector of ends, or of one end and a vector of starts.
template <bool STARTS> inline Ints counts(const Count *row, Index many, Index one) {
    const Ints other = load<Ints>(row + many), same = splat(row[one]);
    return STARTS ? same - other : other - same;
}

#if defined(__AVX512F__)
// Sums of x (log2 x - slope) from a table in registers. Return whether it had all counts.
template <int N, bool STARTS, Index SIZE>
inline bool small_sums(const Near &C, Index many, Index one, Floats (&w)[N]) {
    const __m512 a = load<Floats>(C.small), b = load<Floats>(C.small + 16);
    const __m512 c = load<Floats>(C.small + 32), d = load<Floats>(C.small + 48);
    Ints seen{};
    for (int i = 0; i < N; ++i) w[i] = Floats{};
    for (Index j = 0; j < C.columns; ++j)
        for (int i = 0; i < N; ++i) {
            const Ints count = counts<STARTS>(C[j], many + i * LANES, one);
            const __m512i x = (__m512i)count;
            __m512 value = _mm512_permutex2var_ps(a, x, b);
            if (SIZE == 64)
                value = _mm512_mask_blend_ps(_mm512_test_epi32_mask(x, _mm512_set1_epi32(32)), value,
                                             _mm512_permutex2var_ps(c, x, d));
            w[i] += value;
            if (i == (STARTS ? 0 : N - 1)) seen |= count; // these are the largest
        }
    return seen[STARTS ? 0 : LANES - 1] < SIZE;
}
#endif

// Sums of x (log2 x - log2 (n / l)) over columns, of one start and N vectors of ends from `many` on,
// or of one end and N vectors of starts.
template <int N, bool STARTS>
inline void column_sums(const Near &C, Index many, Index one, Floats (&w)[N]) {
#if defined(__AVX512F__)
    const Count *total = C.totals();
    const Count records =
        STARTS ? total[one] - total[many] : total[many + N * LANES - 1] - total[one];
    if (records <= C.most / 2 && small_sums<N, STARTS, 32>(C, many, one, w)) return;
    if (records <= C.most) {
        if (small_sums<N, STARTS, 64>(C, many, one, w)) return;
        C.most = records / 8 * 7;
    }
#endif
    for (int i = 0; i < N; ++i) w[i] = Floats{};
    for (Index j = 0; j < C.columns; ++j)
        for (int i = 0; i < N; ++i)
            w[i] = C.column(counts<STARTS>(C[j], many + i * LANES, one), w[i]);
}

// w(s, t) + T log2 l of one start s and N vectors of ends from t on. The second term has the same
// sum in all grids, and makes the numbers small.
template <int N>
inline void near_ends(const Near &C, const float *terms, Index t, Index s, Floats (&w)[N]) {
    column_sums<N, false>(C, t, s, w);
    for (int i = 0; i < N; ++i)
        w[i] -= terms ? load<Floats>(terms + t + i * LANES) : C.row(counts<false>(C.totals(), t, s));
}

// The same for one end t and a vector of starts from s on.
inline Floats near_starts(const Near &C, Index s, Index t) {
    Floats w[1];
    column_sums<1, true>(C, s, t, w);
    return w[0] - C.row(counts<true>(C.totals(), s, t));
}

template <int N>
inline void advance(float *best, Index low, Index high, Index before, const Near &C,
                    const float *terms, Index t, Index s) {
    Floats w[N];
    near_ends<N>(C, terms, t, s, w);
    for (Index k = low; k < high; ++k) {
        const Floats sum = splat(best[(k - before) * C.stride + s]);
        for (int i = 0; i < N; ++i) {
            float *own = best + k * C.stride + t + i * LANES;
            const Floats known = load<Floats>(own), value = sum + w[i];
            store(own, value > known ? value : known);
        }
    }
}

// Try s as the start of the last row, for all ends after it up to the last.
inline void start(float *best, Index low, Index high, const Near &C, Index last, Index s) {
    const float *terms = C.row_terms(s);
    Index t = s + 1;
    for (; t + (WIDE - 1) * LANES <= last; t += WIDE * LANES)
        advance<WIDE>(best, low, high, 1, C, terms, t, s);
    for (; t <= last; t += LANES) advance<1>(best, low, high, 1, C, terms, t, s);
}

// How far the float64 optimum can be below the best in float32 (docs/proofs/float32-search.md).
inline double slack(const Near &C, Index k, Index t, double value) {
    const double total = C.totals()[t], bits = value / larger(total, 1.0) + 0.01;
    const double size = larger(std::log2(double(C.n())), 1.0);
    const double terms = (double(C.columns) + 8) * size + double(k) * bits;
    return 2 * total * (2 * POLYNOMIAL + ROUNDING * terms);
}

// The largest sum of k rows of the whole master, in float32.
inline float largest_near(const Space &space, const Near &C, Index k) {
    const float *before = space.near.get() + (k - 1) * space.stride, *w = space.tails.get();
    Floats most = splat(-INFINITY);
    Index s = 0;
    for (; s + LANES <= C.rows; s += LANES) {
        const Floats value = load<Floats>(before + s) + load<Floats>(w + s);
        most = value > most ? value : most;
    }
    float found = -INFINITY;
    for (int i = 0; i < LANES; ++i) found = larger(found, most[i]);
    for (; s < C.rows; ++s) found = larger(found, before[s] + w[s]);
    return found;
}

// Lets float64 decide among float32's candidates: best[k, t] exactly, for any k and end t.
class Decision {
  public:
    // `complete`: whether every start was tried for every end.
    Decision(const Space &space, const Near &C, Index k_max, bool complete)
        : space(space), C(C), k_max(k_max), complete(complete), left(8 * k_max + C.rows / 2) {
        for (Index i = 2 * (C.rows + 1); i < k_max * (C.rows + 1); ++i) space.exact[i] = NAN;
    }

    // The largest sum of k rows of the whole master.
    double whole(Index k) {
        const float *before = near(k - 1), *w = space.tails.get(), most = largest_near(space, C, k);
        const float enough = float(most - slack(C, k, C.rows, most));
        double best = -INFINITY;
        for (Index s = 0; s < C.rows; s += LANES)
            decide_among(best, load<Floats>(before + s) + load<Floats>(w + s) >= enough, k, s, C.rows);
        return best;
    }

    bool gave_up() const { return left < 0; }

  private:
    const float *near(Index k) const { return space.near.get() + k * space.stride; }

    double exact(Index k, Index t) {
        if (k == 1) return sum(0, t);
        double &known = space.exact[k * (C.rows + 1) + t];
        if (std::isnan(known) && !gave_up()) {
            --left;
            known = decide(k, t);
        }
        return known;
    }

    double decide(Index k, Index t) {
        const float *before = near(k - 1), best = near(k)[t];
        const float within = float(slack(C, k, t, best));
        double value = -INFINITY;
        for (Index s = k - 1; s < t; s += LANES) {
            if (complete && !possible(k, t, s, 3 * within)) continue;
            const Floats sums = near_starts(C, s, t) + load<Floats>(before + s);
            decide_among(value, sums >= best - within, k, s, t);
        }
        return value;
    }

    // Raise a value to the largest sum whose last row ends at t and starts at one of LANES from s on.
    void decide_among(double &value, Ints near_enough, Index k, Index s, Index t) {
        for (unsigned left = lanes_of(near_enough); left; left &= left - 1) {
            const Index start = s + __builtin_ctz(left);
            if (start >= t) return;
            value = larger(value, exact(k - 1, start) + sum(start, t));
        }
    }

    // Whether a row from one of LANES starts to t can be the last of k, judged by the most it can
    // add as the last of k + 1 and of k - 1 rows.
    bool possible(Index k, Index t, Index s, float within) const {
        const float best = near(k)[t];
        Ints can = Ints{} - 1;
        if (k + 1 < k_max)
            can &= load<Floats>(near(k) + s) - load<Floats>(near(k - 1) + s) <=
                   near(k + 1)[t] - best + within;
        if (k > 2)
            can &= load<Floats>(near(k - 1) + s) - load<Floats>(near(k - 2) + s) >=
                   best - near(k - 1)[t] - within;
        return lanes_of(can) != 0;
    }

    // w(s, t), added in the order of the reference.
    double sum(Index s, Index t) const {
        const Count *total = C.totals();
        double w = -space.xlogx[std::uint32_t(total[t] - total[s])];
        for (Index j = 0; j < C.columns; ++j)
            w += space.xlogx[std::uint32_t(C[j][t] - C[j][s])];
        return w;
    }

    const Space &space;
    const Near &C;
    const Index k_max;
    const bool complete;
    Index left; // rows that may still be decided before the exact search would be faster
};

inline void clear(float *best, Index stride, Index rows, Index ends) {
    for (Index k = 0; k < rows; ++k)
        for (Index t = 0; t < ends; ++t) best[k * stride + t] = -INFINITY;
    best[0] = 0.0f;
}

// Set near[1, t], of a single row, and w(s, rows) for every start.
inline void begin(const Space &space, const Near &C, Index k_max) {
    clear(space.near.get(), C.stride, k_max, C.rows + BEHIND);
    start(space.near.get(), 1, 2, C, C.rows - 1, 0);
    for (Index s = 0; s < C.rows; s += LANES)
        store(space.tails.get() + s, near_starts(C, s, C.rows));
}

// Set found[k] like the exact search, for k = 2 .. k_max, in less time.
inline void search_fast(const Space &space, const Near &C, Index k_max) {
    begin(space, C, k_max);
    for (Index s = 1; s < C.rows - 1 && k_max > 2; ++s)
        start(space.near.get(), 2, k_max, C, C.rows - 1, s);
    Decision decision(space, C, k_max, true);
    for (Index k = 2; k <= k_max; ++k) space.found[k] = decision.whole(k);
    if (decision.gave_up()) search_exactly(space, C, k_max);
}

} // namespace
} // namespace dpmic
