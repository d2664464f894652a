// What the kernels take and return: the caller's arrays, as pointers and sizes.
//
// kernels.cpp and capped.cpp are compiled once for each instruction set; module.cpp picks one.
#pragma once

#include <cstdint>

namespace dpmic {

using Count = std::int32_t;
using Index = std::int64_t;

// An array of rows of equal length, not owned.
template <class T> struct Rows {
    T *data;
    Index size, length;
    T *operator[](Index i) const { return data + i * length; }
};

// One row of it.
template <class T> struct Row {
    T *data;
    Index size;
    T &operator[](Index i) const { return data[i]; }
};

// Variables cut into the columns of every step and the master of every group of steps.
struct Cut {
    Rows<const Count> parts;   // [variable * groups + group, record]: refined column of each record
    Rows<const Index> sizes;   // [variable, group]: number of refined columns
    Rows<const Count> edges;   // [variable]: columns of all steps, in refined columns
    Rows<const Index> offsets; // [variable, step]: where the columns of a step begin
    Rows<const Count> masters; // [variable * groups + group, record]: master row of each record
    Rows<const Index> heights; // [variable, group]: number of master rows
};

// Group g has the steps starts[g] to starts[g + 1] - 1; step i has at most rows[i] rows.
struct Plan {
    Row<const Index> starts, rows;
};

// Partitions: number i is edges[offsets[i] : offsets[i + 1]].
struct Partitions {
    Row<const Index> edges, offsets;
};

// Records on an axis by rank: the rank of each, the number of records before each rank and of all,
// and the rule by which the axis is cut.
struct Ranked {
    Row<const Count> atoms;
    Row<const Index> ends;
    Index slack;
};

// The steps of a pair by mass, grouped by master: numbers of columns, masters by group, order.
struct Equi {
    Row<const Index> columns, masters, order, starts, each, rows;
};

// Many ranked axes of the same records; order[axis] sorts the records.
struct Clumped {
    Rows<const Count> atoms;
    Rows<const Index> order, ends;
    Row<const Index> sizes;
    Rows<const Index> plan; // columns, rows and masters of each step
    bool occupied;
};

// Capped information: partitions into columns of the parts of a cumulated table, critics, the cap.
struct Capped {
    Partitions partitions;
    Row<const double> xlogx;
    double unit;
    Rows<const double> critics;
    double cap, least;
};

struct Kernels {
    const char *name;
    void (*information)(Rows<const Count> counts, Row<const double> xlogx, Row<double> bits);
    void (*trace)(Rows<const Count> counts, Row<const double> xlogx, Row<Index> edges);
    void (*entries)(const Cut &left, const Cut &right, Rows<const Index> pairs, const Plan &plan,
                    Row<const double> xlogx, bool fast, Rows<double> bits);
    void (*largest)(const Cut &left, const Cut &right, Rows<const Index> pairs, const Plan &plan,
                    Row<const double> logs, Row<const double> xlogx, Row<double> scores);
    void (*tabled)(Row<const Index> tables, Index width, Index height, const Partitions &x,
                   const Partitions &y, const Plan &plan, Row<const double> xlogx,
                   Rows<double> bits);
    void (*equi)(const Ranked &x, const Ranked &y, const Equi &plan, Row<const double> logs,
                 Row<const double> xlogx, bool fast, Rows<double> found);
    void (*clumped)(const Clumped &axes, Rows<const Index> pairs, Row<const double> logs,
                    Row<const double> xlogx, Rows<double> found);
    void (*approximate)(Row<const Count> counts, double slope, Row<float> products);
};

// The same for capped information, from counts in 32 or 64 bits.
template <class T> struct Critics {
    void (*two_rows)(Rows<const T> sums, const Capped &capped, Row<const double> limits,
                     Row<double> best, Row<Index> where);
    void (*three_rows)(Rows<const T> sums, const Capped &capped, Rows<const Index> pairs,
                       Row<double> best, Row<Index> where);
};

#define DPMIC_DECLARE(variant)                                                                      \
    namespace variant {                                                                            \
    extern const Kernels kernels;                                                                  \
    extern const Critics<Count> critics;                                                           \
    extern const Critics<Index> long_critics;                                                      \
    }
DPMIC_DECLARE(baseline)
DPMIC_DECLARE(v3)
DPMIC_DECLARE(v4)
#undef DPMIC_DECLARE

} // namespace dpmic
