// Capped information of two and of three rows: the search over thresholds and critics.
//
// The operations depend only on sizes: minima are taken without branches, and the search over
// critics never stops early. All numbers are multiples of one unit, so every sum is exact
// (docs/proofs/capped-sensitivity.md).

#include <cmath>
#include <cstring>

#include "kernels.hpp"
#include "buffer.hpp"

namespace dpmic {
namespace {

constexpr Index TILE = 64; // thresholds searched together: their columns stay in the L1 cache

// m log2 m as a multiple of the unit, looked up or, without a table, computed.
inline double f(Index m, const Capped &capped) {
    if (capped.xlogx.size) return capped.xlogx[m];
    return std::floor(double(m) * std::log2(double(larger(m, Index(1)))) / capped.unit + 0.5) *
           capped.unit;
}

inline double least_of(double a, double b) { return a < b ? a : b; } // a single instruction

// The first where the mask is -1, the second where it is 0. A conditional expression may become a
// branch, whose time depends on how well it is predicted.
inline Index chosen(Index mask, Index first, Index second) {
    return second ^ ((first ^ second) & mask);
}

inline double chosen(Index mask, double first, double second) {
    Index a, b;
    std::memcpy(&a, &first, sizeof a);
    std::memcpy(&b, &second, sizeof b);
    a = chosen(mask, a, b);
    std::memcpy(&first, &a, sizeof first);
    return first;
}

inline double positive(double value) { return chosen(-Index(value > 0.0), value, 0.0); }

// Some thresholds and their columns: the records of the lower row, their losses, and all records.
struct Tile {
    explicit Tile(Index columns) : ones(columns * TILE), losses(columns * TILE), totals(columns) {}
    Buffer<double> ones, losses, totals;
    Index columns = 0, size = 0;
    double n = 0;
};

// Set F of each threshold at the critic probed for it.
void objective(const Tile &tile, const Capped &capped, const double *lower, const Index *probed,
               double *found) {
    double first[TILE], second[TILE], cost[TILE];
    for (Index t = 0; t < tile.size; ++t) {
        first[t] = capped.critics[probed[t]][2];
        second[t] = capped.critics[probed[t]][3];
        cost[t] = 0.0;
    }
    for (Index j = 0; j < tile.columns; ++j) {
        const double total = tile.totals[j];
        const double *ones = tile.ones.get() + j * TILE, *losses = tile.losses.get() + j * TILE;
        for (Index t = 0; t < tile.size; ++t) {
            const double hard = least_of(first[t] * ones[t], second[t] * (total - ones[t]));
            cost[t] += least_of(losses[t], hard);
        }
    }
    for (Index t = 0; t < tile.size; ++t) {
        const double *critic = capped.critics[probed[t]];
        found[t] = lower[t] * critic[0] + (tile.n - lower[t]) * critic[1] - cost[t];
    }
}

// Set an upper limit of all critics, and the records of the lower row.
void hard_limits(const Tile &tile, const Capped &capped, double *lower, double *values) {
    double above[TILE] = {}, below[TILE] = {};
    for (Index t = 0; t < tile.size; ++t) lower[t] = 0.0;
    for (Index j = 0; j < tile.columns; ++j) {
        const double total = tile.totals[j], share = capped.least * total;
        const double *ones = tile.ones.get() + j * TILE;
        for (Index t = 0; t < tile.size; ++t) {
            const double up = capped.cap * ones[t] - share;
            const double down = capped.cap * (total - ones[t]) - share;
            above[t] += positive(up);
            below[t] += positive(down);
            lower[t] += ones[t];
        }
    }
    for (Index t = 0; t < tile.size; ++t) values[t] = least_of(above[t], below[t]);
}

// Set the capped information of each threshold, the minimum over critics, by Fibonacci search. The
// open interval (low, low + a + b) contains a minimum, and was probed at a and b above low, where
// a >= b are neighbouring Fibonacci numbers.
void minimise(const Tile &tile, const Capped &capped, double *values) {
    double lower[TILE], at_left[TILE], at_right[TILE], found[TILE];
    Index low[TILE], left[TILE], right[TILE], probed[TILE];
    hard_limits(tile, capped, lower, values);
    Index a = 1, b = 1;
    while (a + b < capped.critics.size + 1) {
        const Index sum = a + b;
        b = a;
        a = sum;
    }
    for (Index t = 0; t < tile.size; ++t) {
        low[t] = -1;
        left[t] = b - 1;
        right[t] = a - 1;
    }
    objective(tile, capped, lower, left, at_left);
    objective(tile, capped, lower, right, at_right);
    for (Index t = 0; t < tile.size; ++t)
        values[t] = least_of(least_of(at_left[t], at_right[t]), values[t]);
    while (b > 1) {
        const Index rest = a - b;
        a = b;
        b = rest;
        for (Index t = 0; t < tile.size; ++t) {
            const Index to_left = -Index(at_left[t] <= at_right[t]);
            const Index kept = chosen(to_left, left[t], right[t]);
            const double known = chosen(to_left, at_left[t], at_right[t]);
            low[t] = chosen(to_left, low[t], left[t]);
            probed[t] = low[t] + chosen(to_left, b, a);
            left[t] = chosen(to_left, probed[t], kept);
            right[t] = chosen(to_left, kept, probed[t]);
            at_left[t] = at_right[t] = known;
        }
        objective(tile, capped, lower, probed, found);
        for (Index t = 0; t < tile.size; ++t) {
            at_left[t] = chosen(-Index(probed[t] == left[t]), found[t], at_left[t]);
            at_right[t] = chosen(-Index(probed[t] == right[t]), found[t], at_right[t]);
            values[t] = least_of(found[t], values[t]);
        }
    }
}

template <class T>
void two_rows(Rows<const T> sums, const Capped &capped, Row<const double> limits, Row<double> best,
              Row<Index> where) {
    const Index thresholds = sums.length - 1;
    const Partitions &cut = capped.partitions;
    Index most = 0;
    for (Index k = 0; k < best.size; ++k)
        most = larger(most, cut.offsets[k + 1] - cut.offsets[k] - 1);
    Tile tile(most);
    tile.n = double(sums[sums.size - 1][thresholds]);
    double values[TILE];
    for (Index k = 0; k < best.size; ++k) {
        best[k] = -INFINITY;
        where[k] = 0;
        const Index *edges = cut.edges.data + cut.offsets[k];
        tile.columns = cut.offsets[k + 1] - cut.offsets[k] - 1;
        for (Index start = 0; start < thresholds; start += TILE) {
            tile.size = smaller(TILE, thresholds - start);
            for (Index j = 0; j < tile.columns; ++j) {
                const T *low = sums[edges[j]], *high = sums[edges[j + 1]];
                const T total = high[thresholds] - low[thresholds];
                const double whole = f(total, capped);
                tile.totals[j] = double(total);
                for (Index t = 0; t < tile.size; ++t) {
                    const T a = high[start + t] - low[start + t];
                    tile.ones[j * TILE + t] = double(a);
                    tile.losses[j * TILE + t] = whole - f(a, capped) - f(total - a, capped);
                }
            }
            minimise(tile, capped, values);
            for (Index t = 0; t < tile.size; ++t) {
                const double value = least_of(values[t], limits[start + t]);
                const Index better = -Index(value > best[k]);
                best[k] = chosen(better, value, best[k]);
                where[k] = chosen(better, start + t, where[k]);
            }
        }
    }
}

// Add the cost of one column under one critic: the minimum over the sets of rows.
void add_costs(const double *counts, const double *losses, Index size, const double *critic,
               double *costs) {
    for (Index p = 0; p < size; ++p) {
        const double x = critic[3] * counts[p], y = critic[4] * counts[size + p];
        const double z = critic[5] * counts[2 * size + p];
        double least = least_of(losses[p], losses[size + p] + z);
        least = least_of(losses[2 * size + p] + y, least);
        least = least_of(losses[3 * size + p] + x, least);
        const double alone = least_of(x + y, least_of(y + z, x + z));
        costs[p] += least_of(alone, least);
    }
}

template <class T>
void three_rows(Rows<const T> sums, const Capped &capped, Rows<const Index> pairs, Row<double> best,
                Row<Index> where) {
    const Index end = sums.length - 1, size = pairs.length, critics = capped.critics.size;
    const Partitions &cut = capped.partitions;
    Buffer<double> counts(3 * size), losses(4 * size), rows(3 * size), hard(3 * size);
    Buffer<double> costs(critics * size);
    for (Index k = 0; k < best.size; ++k) {
        best[k] = -INFINITY;
        where[k] = 0;
        for (Index i = 0; i < 3 * size; ++i) rows[i] = hard[i] = 0.0;
        for (Index i = 0; i < critics * size; ++i) costs[i] = 0.0;
        for (Index e = cut.offsets[k]; e + 1 < cut.offsets[k + 1]; ++e) {
            const T *low = sums[cut.edges[e]], *high = sums[cut.edges[e + 1]];
            const T total = high[end] - low[end];
            const double whole = f(total, capped), share = capped.least * double(total);
            for (Index p = 0; p < size; ++p) {
                const T a = high[pairs[0][p]] - low[pairs[0][p]];
                const T ab = high[pairs[1][p]] - low[pairs[1][p]];
                const T b = ab - a, c = total - ab;
                const double of_a = f(a, capped), of_b = f(b, capped), of_c = f(c, capped);
                counts[p] = double(a);
                counts[size + p] = double(b);
                counts[2 * size + p] = double(c);
                losses[p] = whole - of_a - of_b - of_c;
                losses[size + p] = f(ab, capped) - of_a - of_b;
                losses[2 * size + p] = f(a + c, capped) - of_a - of_c;
                losses[3 * size + p] = f(b + c, capped) - of_b - of_c;
            }
            for (Index i = 0; i < 3 * size; ++i) {
                const double over = capped.cap * counts[i] - share;
                hard[i] += positive(over);
                rows[i] += counts[i];
            }
            for (Index u = 0; u < critics; ++u)
                add_costs(counts.get(), losses.get(), size, capped.critics[u],
                          costs.get() + u * size);
        }
        for (Index p = 0; p < size; ++p) {
            double value = least_of(hard[p], least_of(hard[size + p], hard[2 * size + p]));
            for (Index u = 0; u < critics; ++u) {
                const double *m = capped.critics[u];
                const double free = rows[p] * m[0] + rows[size + p] * m[1] +
                                    rows[2 * size + p] * m[2] - costs[u * size + p];
                value = least_of(free, value);
            }
            const Index better = -Index(value > best[k]);
            best[k] = chosen(better, value, best[k]);
            where[k] = chosen(better, p, where[k]);
        }
    }
}

} // namespace

namespace DPMIC_VARIANT {

const Critics<Count> critics{two_rows<Count>, three_rows<Count>};
const Critics<Index> long_critics{two_rows<Index>, three_rows<Index>};

} // namespace DPMIC_VARIANT

} // namespace dpmic
