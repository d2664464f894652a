// The kernels, compiled for one instruction set: DPMIC_VARIANT.

#include "kernels.hpp"
#include "partitions.hpp"
#include "pruned.hpp"

namespace dpmic {
namespace {

// Cumulate a table of counts [column, row].
void lay(const Cumulative &C, Rows<const Count> counts) {
    const Index columns = C.columns, rows = C.rows;
    for (Index t = 0; t < rows + BEHIND; ++t) C.totals()[t] = 0;
    for (Index j = 0; j < columns; ++j) {
        Count seen = 0;
        for (Index t = 0; t < rows + BEHIND; ++t) {
            C[j][t] = seen;
            C.totals()[t] += seen;
            if (t < rows) seen += counts[j][t];
        }
    }
}

void information(Rows<const Count> counts, Row<const double> xlogx, Row<double> bits) {
    const Index rows = counts.length, k_max = bits.size - 1;
    for (Index k = 0; k <= k_max; ++k) bits[k] = 0.0;
    if (rows == 1) return;
    const Space space(counts.size, rows, smaller(k_max, rows), xlogx.data);
    const Cumulative C = space.table(counts.size, rows);
    lay(C, counts);
    search(bits.data, k_max, space, C, false);
}

void trace(Rows<const Count> counts, Row<const double> xlogx, Row<Index> edges) {
    const Index rows = counts.length, k = edges.size - 1;
    edges[0] = 0;
    edges[k] = rows;
    if (k == 1) return;
    const Space space(counts.size, rows, k, xlogx.data);
    const Cumulative C = space.table(counts.size, rows);
    lay(C, counts);
    search_exactly(space, C, k);
    const double *f = xlogx.data;
    for (Index level = k; level > 1; --level) {
        const Index t = edges[level];
        double most = -INFINITY;
        for (Index s = level - 1; s < t; ++s) {
            double w = -f[C.totals()[t] - C.totals()[s]];
            for (Index j = 0; j < C.columns; ++j) w += f[C[j][t] - C[j][s]];
            const double value = space.best[(level - 1) * space.stride + s] + w;
            if (value > most) {
                most = value;
                edges[level - 1] = s;
            }
        }
    }
}

struct Sizes {
    Index width = 0, height = 0, columns = 0;

    void include(const Cut &cut) {
        for (Index i = 0; i < cut.sizes.size * cut.sizes.length; ++i) {
            width = larger(width, cut.sizes.data[i]);
            height = larger(height, cut.heights.data[i]);
        }
        for (Index v = 0; v < cut.offsets.size; ++v)
            for (Index i = 0; i + 1 < cut.offsets.length; ++i)
                columns = larger(columns, cut.offsets[v][i + 1] - cut.offsets[v][i] - 1);
    }
};

// Set the information [step, k] of one pair with variable u of one side cut into columns.
void one_way(double *bits, Index most, const Cut &fixed, Index u, const Cut &free, Index v,
             const Plan &plan, const Table &table, const Space &space, bool fast) {
    const Index groups = plan.starts.size - 1, records = fixed.parts.length;
    for (Index g = 0; g < groups; ++g) {
        const Index rows = free.heights[v][g];
        if (rows == 1) continue;
        count(table, fixed.parts[u * groups + g], free.masters[v * groups + g], records,
              fixed.sizes[u][g], rows);
        space.terms_known = false;
        for (Index i = plan.starts[g]; i < plan.starts[g + 1]; ++i) {
            const Index *offset = fixed.offsets[u] + i;
            const Cumulative C = space.table(offset[1] - offset[0] - 1, rows);
            merge(C, table, fixed.edges[u] + offset[0], false);
            search(bits + i * (most + 1), plan.rows[i], space, C, fast);
        }
    }
}

void entries(const Cut &left, const Cut &right, Rows<const Index> pairs, const Plan &plan,
             Row<const double> xlogx, bool fast, Rows<double> bits) {
    Sizes sizes;
    sizes.include(left);
    sizes.include(right);
    const Index most = largest_of(plan.rows);
    Buffer<Count> cells((sizes.width + 1) * (sizes.height + 1));
    const Table table{cells.get(), sizes.height + 1};
    const Space space(sizes.columns, sizes.height, most, xlogx.data);
    std::memset(bits.data, 0, sizeof(double) * bits.size * bits.length);
    for (Index pair = 0; pair < pairs.size; ++pair) {
        const Index i = pairs[pair][0], j = pairs[pair][1];
        one_way(bits[pair], most, left, i, right, j, plan, table, space, fast);
        one_way(bits[pairs.size + pair], most, right, j, left, i, plan, table, space, fast);
    }
}

void largest(const Cut &left, const Cut &right, Rows<const Index> pairs, const Plan &plan,
             Row<const double> logs, Row<const double> xlogx, Row<double> scores) {
    Sizes sizes;
    sizes.include(left);
    sizes.include(right);
    const Index most = largest_of(plan.rows), groups = plan.starts.size - 1;
    Buffer<Count> cells((sizes.width + 1) * (sizes.height + 1));
    const Table table{cells.get(), sizes.height + 1};
    const Space space(sizes.columns, sizes.height, most, xlogx.data);
    const Space back(sizes.columns, sizes.height, most, xlogx.data);
    Pruned search(space, back, most, logs);
    for (Index pair = 0; pair < pairs.size; ++pair) {
        double &score = scores[pair] = 0.0;
        for (Index run = 0; run < 2 * groups; ++run) { // groups with few rows first: they are cheap
            const Index g = run / 2, other = run % 2;
            const Index u = pairs[pair][other], v = pairs[pair][1 - other];
            const Cut &fixed = other ? right : left, &free = other ? left : right;
            const Index rows = free.heights[v][g];
            if (rows == 1 || score == 1.0) continue;
            count(table, fixed.parts[u * groups + g], free.masters[v * groups + g],
                  fixed.parts.length, fixed.sizes[u][g], rows);
            space.terms_known = back.terms_known = false;
            for (Index i = plan.starts[g]; i < plan.starts[g + 1]; ++i) {
                const Index *offset = fixed.offsets[u] + i;
                const double found =
                    search.raised(score, table, fixed.edges[u] + offset[0],
                                  offset[1] - offset[0] - 1, rows, smaller(plan.rows[i], rows));
                score = smaller(found, 1.0);
            }
        }
    }
}

// Set the table of one orientation from a cumulated one: [refined column, master row].
void reorient(const Table &table, const Table &cumulated, Index width, Index rows,
              const Index *master, bool swapped) {
    for (Index u = 0; u <= width; ++u)
        for (Index t = 0; t <= rows; ++t)
            table[u][t] = swapped ? cumulated[master[t]][u] : cumulated[u][master[t]];
}

void tabled(Row<const Index> tables, Index width, Index height, const Partitions &x,
            const Partitions &y, const Plan &plan, Row<const double> xlogx, Rows<double> bits) {
    const Index most = largest_of(plan.rows), steps = plan.rows.size;
    const Index side = larger(width, height) + 1, size = bits.size / 2;
    Buffer<Count> cells(2 * side * side);
    const Table cumulated{cells.get(), side}, table{cells.get() + side * side, side};
    const Space space(side, side, most, xlogx.data);
    std::memset(bits.data, 0, sizeof(double) * bits.size * bits.length);
    for (Index i = 0; i < size; ++i) {
        std::memset(cells.get(), 0, sizeof(Count) * side * side);
        for (Index u = 0; u < width; ++u)
            for (Index t = 0; t < height; ++t)
                cumulated[u + 1][t + 1] = Count(tables[(i * width + u) * height + t]);
        cumulate(cumulated, width, height);
        for (Index other = 0; other < 2; ++other) {
            const Partitions &fixed = other ? y : x, &free = other ? x : y;
            for (Index g = 0; g + 1 < plan.starts.size; ++g) {
                const Index *master = free.edges.data + free.offsets[steps + g];
                const Index rows = free.offsets[steps + g + 1] - free.offsets[steps + g] - 1;
                if (rows == 1) continue;
                reorient(table, cumulated, other ? height : width, rows, master, other != 0);
                for (Index at = plan.starts[g]; at < plan.starts[g + 1]; ++at) {
                    const Index *offset = fixed.offsets.data + at;
                    const Cumulative C = space.table(offset[1] - offset[0] - 1, rows);
                    merge(C, table, fixed.edges.data + offset[0], false);
                    search(bits[other * size + i] + at * (most + 1), plan.rows[at], space, C, false);
                }
            }
        }
    }
}

// Set the entries of one step, [rows of y - 2, columns of x - 2].
void normalise(double *found, Index steps, const double *bits, Index k_max, Index step,
               const double *logs, Index columns, bool swapped) {
    for (Index k = 2; k <= k_max; ++k) {
        // Rounding can exceed [0, 1] by a unit in the last place.
        const double entry = smaller(larger(bits[k] / logs[smaller(k, columns)], 0.0), 1.0);
        found[swapped ? step * steps + k - 2 : (k - 2) * steps + step] = entry;
    }
}

// An axis by mass, cut by each group's common refinement.
struct Refined {
    Refined(const Ranked &axis, Row<const Index> sizes, Row<const Index> starts, bool masters)
        : groups(starts.size - 1), edges(edges_at_most(axis.ends, sizes)), offsets(sizes.size + 1),
          parts(groups * axis.atoms.size), own(edges_at_most(axis.ends, sizes)), counts(groups) {
        equipartitions(axis.ends, sizes, axis.slack, masters, edges.get(), offsets.get());
        refine({edges.get(), offsets[sizes.size]}, {offsets.get(), sizes.size + 1}, starts,
               axis.atoms, parts.get(), counts.get(), own.get());
    }
    Index most() const { return largest_of(Row<const Index>{counts.get(), groups}); }

    Index groups;
    Buffer<Index> edges, offsets;
    Buffer<Count> parts, own;
    Buffer<Index> counts;
};

void equi(const Ranked &x, const Ranked &y, const Equi &plan, Row<const double> logs,
          Row<const double> xlogx, bool fast, Rows<double> found) {
    const Index steps = plan.order.size, most = largest_of(plan.rows), n = x.atoms.size;
    Buffer<double> bits(most + 1);
    for (Index i = 0; i < found.size * found.length; ++i) found.data[i] = NAN;
    for (Index other = 0; other < 2; ++other) {
        const Ranked &fixed = other ? y : x, &free = other ? x : y;
        const Refined cut(fixed, plan.columns, plan.starts, false);
        const Refined masters(free, plan.masters, plan.each, true);
        Buffer<Count> cells((cut.most() + 1) * (masters.most() + 1));
        const Table table{cells.get(), masters.most() + 1};
        const Space space(largest_of(plan.columns), masters.most(), most, xlogx.data);
        for (Index g = 0; g + 1 < plan.starts.size; ++g) {
            const Index rows = masters.counts[g];
            if (rows > 1)
                count(table, cut.parts.get() + g * n, masters.parts.get() + g * n, n, cut.counts[g],
                      rows);
            space.terms_known = false;
            for (Index i = plan.starts[g]; i < plan.starts[g + 1]; ++i) {
                for (Index k = 0; k <= most; ++k) bits[k] = 0.0;
                if (rows > 1) {
                    const Index first = cut.offsets[i];
                    const Cumulative C = space.table(cut.offsets[i + 1] - first - 1, rows);
                    merge(C, table, cut.own.get() + first, false);
                    search(bits.get(), plan.rows[i], space, C, fast);
                }
                normalise(found[other], steps, bits.get(), plan.rows[i], plan.order[i], logs.data,
                          plan.columns[i], other != 0);
            }
        }
    }
}

// The masters of Reshef et al. 2011: clumps of one pair of axes, one step at a time.
class Clumps {
  public:
    explicit Clumps(Index n) : n(n), across(n), part_of(n), part(n), edges(n + 1), merged(n + 1) {}

    // Take the atoms of the fixed axis in the order of the free one.
    void arrange(const Count *fixed, const Index *order) {
        for (Index i = 0; i < n; ++i) across[i] = fixed[order[i]];
    }

    // Set C of the columns between the edges `fixed`; return the number of rows of the master.
    Cumulative lay(const Space &space, const Index *fixed, Index columns, Row<const Index> free,
                   Index most) {
        if (columns <= 8) { // many records at a time, where looking up is one after the other
            std::memset(part.get(), 0, sizeof(Count) * n);
            for (Index j = 1; j < columns; ++j)
                for (Index i = 0; i < n; ++i) part[i] += across[i] >= Count(fixed[j]);
        } else {
            for (Index j = 0; j < columns; ++j)
                for (Index atom = fixed[j]; atom < fixed[j + 1]; ++atom) part_of[atom] = Count(j);
            for (Index i = 0; i < n; ++i) part[i] = part_of[across[i]];
        }
        Index rows = clumps(free);
        if (rows > most) {
            rows = equipartition({edges.get(), rows + 1}, most, 0, merged.get());
            for (Index i = 0; i <= rows; ++i) edges[i] = edges[merged[i]];
        }
        const Cumulative C = space.table(columns, rows);
        if (rows > 1) count(C);
        return C;
    }

  private:
    // Set the records before each clump, and all. An atom in several columns is a separate clump.
    Index clumps(Row<const Index> free) {
        Index rows = 0;
        Count before = part[0];
        edges[0] = 0;
        if (free.size - 1 == n) { // without ties there is no branch that could be mispredicted
            for (Index i = 1; i < n; ++i) {
                edges[rows + 1] = i;
                rows += part[i] != before;
                before = part[i];
            }
        } else {
            for (Index atom = 0; atom + 1 < free.size; ++atom) {
                Count home = part[free[atom]];
                for (Index i = free[atom] + 1; i < free[atom + 1]; ++i)
                    if (part[i] != home) home = -2;
                if (atom > 0 && (home == -2 || home != before)) edges[++rows] = free[atom];
                before = home;
            }
        }
        edges[rows + 1] = n;
        return rows + 1;
    }

    void count(const Cumulative &C) {
        const bool packed = C.columns <= 4 && n >= 64 && n < 1 << 16; // counts of 16 bits in a number
        for (Index j = 0; j <= C.columns; ++j) C[j][0] = 0;
        for (Index t = 0; t < C.rows; ++t) {
            for (Index j = 0; j < C.columns; ++j) C[j][t + 1] = C[j][t];
            if (packed) {
                std::uint64_t counts = 0;
                for (Index i = edges[t]; i < edges[t + 1]; ++i)
                    counts += std::uint64_t(1) << 16 * part[i];
                for (Index j = 0; j < C.columns; ++j)
                    C[j][t + 1] += Count(counts >> 16 * j & 0xffff);
            } else {
                for (Index i = edges[t]; i < edges[t + 1]; ++i) ++C[part[i]][t + 1];
            }
            C.totals()[t + 1] = Count(edges[t + 1]);
        }
        for (Index j = 0; j <= C.columns; ++j)
            for (Index t = C.rows + 1; t < C.rows + BEHIND; ++t) C[j][t] = C[j][C.rows];
    }

    const Index n;
    Buffer<Count> across, part_of, part;
    Buffer<Index> edges, merged;
};

void clumped(const Clumped &axes, Rows<const Index> pairs, Row<const double> logs,
             Row<const double> xlogx, Rows<double> found) {
    const Index n = axes.atoms.length, steps = axes.plan.length;
    const Index *columns = axes.plan[0], *rows = axes.plan[1], *masters = axes.plan[2];
    const Index most = largest_of(Row<const Index>{rows, steps});
    const Index widest = largest_of(Row<const Index>{columns, steps});
    const Space space(widest, smaller(largest_of(Row<const Index>{masters, steps}), n), most,
                      xlogx.data);
    Clumps clumps(n);
    Buffer<Index> fixed(widest + 1);
    Buffer<double> bits(most + 1);
    for (Index i = 0; i < found.size * found.length; ++i) found.data[i] = NAN;
    for (Index pair = 0; pair < pairs.size; ++pair)
        for (Index other = 0; other < 2; ++other) {
            const Index u = pairs[pair][other], v = pairs[pair][1 - other];
            clumps.arrange(axes.atoms[u], axes.order[v]);
            for (Index i = 0; i < steps; ++i) {
                Index width = equipartition({axes.ends[u], axes.sizes[u] + 1}, columns[i], 0,
                                            fixed.get());
                const Cumulative C = clumps.lay(space, fixed.get(), width,
                                                {axes.ends[v], axes.sizes[v] + 1}, masters[i]);
                for (Index k = 0; k <= rows[i]; ++k) bits[k] = 0.0;
                space.terms_known = false;
                if (C.rows > 1) search(bits.get(), rows[i], space, C, true);
                width = axes.occupied ? larger(width, Index(2)) : columns[i];
                normalise(found[other * pairs.size + pair], steps, bits.get(), rows[i], i, logs.data,
                          width, other != 0);
            }
        }
}

void approximate(Row<const Count> counts, double slope, Row<float> products) {
    const Product product(slope);
    for (Index i = 0; i + LANES <= counts.size; i += LANES)
        store(products.data + i, product(load<Ints>(counts.data + i)));
}

#define NAME(variant) #variant
#define NAME_OF(variant) NAME(variant)

} // namespace

namespace DPMIC_VARIANT {

const Kernels kernels{NAME_OF(DPMIC_VARIANT), information, trace,      entries,  largest,
                      tabled,                 equi,        clumped,    approximate};

} // namespace DPMIC_VARIANT

} // namespace dpmic
