// From records to the cumulative counts of each step, and from sums to information.
#pragma once

#include "search.hpp"

namespace dpmic {
namespace {

// A table of counts [refined column, master row], cumulated along both axes from 1 on.
struct Table {
    Count *data;
    Index stride;
    Count *operator[](Index u) const { return data + u * stride; }
};

inline void cumulate(const Table &table, Index columns, Index rows) {
    Index u = 1;
    for (; u + 3 <= columns; u += 4) { // four at a time, since each sum waits for the one before
        Count a = 0, b = 0, c = 0, d = 0;
        Count *first = table[u], *second = table[u + 1], *third = table[u + 2], *last = table[u + 3];
        const Count *before = table[u - 1];
        for (Index t = 1; t <= rows; ++t) {
            a += first[t], b += second[t], c += third[t], d += last[t];
            first[t] = before[t] + a;
            second[t] = first[t] + b;
            third[t] = second[t] + c;
            last[t] = third[t] + d;
        }
    }
    for (; u <= columns; ++u) {
        Count along = 0;
        for (Index t = 1; t <= rows; ++t) {
            along += table[u][t];
            table[u][t] = table[u - 1][t] + along;
        }
    }
}

inline void count(const Table &table, const Count *fixed, const Count *free, Index records,
                  Index columns, Index rows) {
    for (Index u = 0; u <= columns; ++u) std::memset(table[u], 0, (rows + 1) * sizeof(Count));
    Count *first = table[1] + 1;
    for (Index i = 0; i < records; ++i) ++first[fixed[i] * table.stride + free[i]];
    cumulate(table, columns, rows);
}

// Set C of the columns between the edges; in reverse, the master's last row comes first.
template <class Edge>
inline void merge(const Cumulative &C, const Table &table, const Edge *edges, bool reverse) {
    const Index rows = C.rows, columns = C.columns;
    for (Index j = 0; j <= columns; ++j) {
        const Count *before = table[edges[j < columns ? j : 0]];
        const Count *after = table[edges[j < columns ? j + 1 : columns]];
        Count *own = C[j];
        if (reverse) {
            const Count total = after[rows] - before[rows];
            for (Index t = 0; t <= rows; ++t)
                own[t] = total - (after[rows - t] - before[rows - t]);
        } else {
            for (Index t = 0; t <= rows; ++t) own[t] = after[t] - before[t];
        }
        for (Index t = rows + 1; t < rows + BEHIND; ++t) own[t] = own[rows];
    }
}

// f(n) - sum_j f(c_j): what information contains besides the sum over rows.
inline double constant(const Cumulative &C, const double *f) {
    double value = f[C.n()];
    for (Index j = 0; j < C.columns; ++j) value -= f[C[j][C.rows]];
    return value;
}

// More rows than the master has do not add information.
inline void set_bits(double *bits, Index k_max, const Space &space, const Cumulative &C) {
    const double more = constant(C, space.xlogx), n = double(C.n());
    for (Index k = 2; k <= k_max; ++k) bits[k] = (space.found[smaller(k, C.rows)] + more) / n;
}

// Set the largest information for each number of rows up to k_max.
inline void search(double *bits, Index k_max, const Space &space, const Cumulative &C, bool fast) {
    if (fast && FAST) search_fast(space, Near(space, C), smaller(k_max, C.rows));
    else search_exactly(space, C, smaller(k_max, C.rows));
    set_bits(bits, k_max, space, C);
}

} // namespace
} // namespace dpmic
