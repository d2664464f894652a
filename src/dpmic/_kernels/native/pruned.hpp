// Only the largest entry of a pair, skipping what cannot be it. The time depends on the data.
#pragma once

#include "tables.hpp"

namespace dpmic {
namespace {

constexpr double MARGIN = 1e-9;         // in bits, larger than all rounding errors in float64
constexpr Index BOUNDED = 6 * LANES;    // with more rows, bounds save more time than they take

// The search for one step, given the entries found so far.
class Pruned {
  public:
    Pruned(const Space &space, const Space &back, Index k_max, Row<const double> logs)
        : space(space), back(back), logs(logs), needed(k_max + 1), bounds(k_max + 1) {}

    // The larger of the floor and the normalised entries of one step.
    double raised(double floor, const Table &table, const Count *edges, Index columns, Index rows,
                  Index k_max) {
        const Cumulative C = space.table(columns, rows);
        merge(C, table, edges, false);
        if (!FAST) {
            search_exactly(space, C, k_max);
            return highest(floor, C, k_max);
        }
        const Near near(space, C);
        const double n = C.n(), more = constant(C, space.xlogx);
        for (Index k = 2; k <= k_max; ++k)
            needed[k] = float((floor * logs[k] - MARGIN) * n - more + n * std::log2(double(columns)) -
                              error(near, k, n));
        const bool bounded = rows > BOUNDED && k_max > 2;
        if (bounded && !promising(table, edges, near, k_max)) return floor;
        fill(near, k_max, bounded);
        Decision decision(space, near, k_max, false);
        for (Index k = 2; k <= k_max; ++k) {
            if (largest_near(space, near, k) <= needed[k]) continue;
            const double found = decision.whole(k);
            if (decision.gave_up()) {
                search_exactly(space, C, k_max);
                return highest(floor, C, k_max);
            }
            floor = larger(floor, (found + more) / n / logs[k]);
        }
        return floor;
    }

  private:
    double highest(double floor, const Cumulative &C, Index k_max) const {
        const double n = C.n(), more = constant(C, space.xlogx);
        for (Index k = 2; k <= k_max; ++k)
            floor = larger(floor, (space.found[k] + more) / n / logs[k]);
        return floor;
    }

    double error(const Near &C, Index k, double n) const {
        return slack(C, k, C.rows, n * std::log2(double(C.columns)));
    }

    // Whether a bound of any entry exceeds what is needed.
    bool promising(const Table &table, const Count *edges, const Near &near, Index k_max) {
        const Cumulative C = back.table(near.columns, near.rows);
        merge(C, table, edges, true);
        bound(Near(back, C), k_max);
        bool any = false;
        for (Index k = 2; k <= k_max; ++k) any |= bounds[k] > needed[k];
        return any;
    }

    // Bound the sum of k rows. Splitting a row never lowers the sum. So a row that begins in one
    // block of LANES master rows and ends inside a later one is split where that block begins, and
    // the piece is not counted. What remains are sums within a block and to the ends of blocks,
    // which are repeated behind the others, for vectors of them.
    void bound(const Near &C, Index k_max) {
        float *best = back.near.get();
        const Index rows = C.rows, behind = rows + BEHIND, blocks = (rows + LANES - 1) / LANES;
        for (Index j = 0; j <= C.columns; ++j)
            for (Index block = 0; block < blocks + LANES; ++block)
                C[j][behind + block] = C[j][smaller((block + 1) * LANES, rows)];
        clear(best, C.stride, k_max + 1, behind + blocks + LANES);
        start(best, 1, 2, C, rows, 0);
        for (Index s = 1; s < rows; ++s) {
            const Index first = behind + s / LANES;
            const bool ends_block = s % LANES == 0;
            if (ends_block)
                for (Index k = 2; k < k_max; ++k) // by exact sums; one row may be left out
                    best[k * C.stride + s] =
                        larger(best[k * C.stride + first - 1], best[(k - 1) * C.stride + s]);
            for (Index t = first; t < behind + blocks; t += LANES)
                advance<1>(best, 2, k_max + 1, 1, C, nullptr, t, s);
            if (s % LANES < LANES - 1)
                advance<1>(best, 2, k_max, ends_block ? 0 : 1, C, C.row_terms(s), s + 1, s);
        }
        for (Index k = 2; k <= k_max; ++k) bounds[k] = best[k * C.stride + behind + blocks - 1];
    }

    // Fill near[k, t], trying only starts that can lead to what is needed. The bounds in `back`
    // limit what the last master rows can add.
    void fill(const Near &C, Index k_max, bool bounded) {
        float *best = space.near.get();
        const float *ahead = back.near.get();
        const Index rows = C.rows;
        begin(space, C, k_max);
        for (Index s = 1; s < rows - 1 && k_max > 2; ++s) {
            Index high = bounded ? 2 : k_max;
            for (Index k = 2; k < k_max && bounded; ++k)
                for (Index after = 1; after <= k_max - k + 1; ++after)
                    if (best[(k - 1) * C.stride + s] + ahead[after * back.stride + rows - s] >
                        needed[k - 1 + after])
                        high = k + 1;
            if (high > 2) start(best, 2, high, C, rows - 1, s);
        }
    }

    const Space &space, &back;
    const Row<const double> logs;
    Buffer<float> needed, bounds; // [k], in float32 relative to uniform columns
};

} // namespace
} // namespace dpmic
