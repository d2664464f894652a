// The Python module: arrays in, arrays out. Names, arguments and results are those of
// dpmic._kernels.reference, which documents them.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "partitions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dpmic {
namespace {

struct Variant {
    const Kernels *kernels;
    const Critics<Count> *critics;
    const Critics<Index> *long_critics;
};

// The kernels whose instructions this processor has, the best ones last.
std::vector<Variant> variants() {
    std::vector<Variant> found{{&baseline::kernels, &baseline::critics, &baseline::long_critics}};
#if defined(DPMIC_HAVE_v3) || defined(DPMIC_HAVE_v4)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#endif
#ifdef DPMIC_HAVE_v3
    if (v3) found.push_back({&v3::kernels, &v3::critics, &v3::long_critics});
#endif
#ifdef DPMIC_HAVE_v4
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        found.push_back({&v4::kernels, &v4::critics, &v4::long_critics});
#endif
    return found;
}

Variant used;

void select(nb::handle module, const Variant &variant) {
    used = variant;
    module.attr("variant") = used.kernels->name;
}

// For tests that compare the variants; no other thread may be searching meanwhile.
void use(nb::handle module, const char *name) {
    for (const Variant &variant : variants())
        if (!std::strcmp(variant.kernels->name, name)) return select(module, variant);
    throw nb::value_error("there is no such variant, or the processor cannot run it");
}

// ---------------------------------------------------------------------------- arrays

template <class T> using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T> using InOut = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T> Row<const T> row(const In<T> &array) { return {array.data(), Index(array.size())}; }

template <class T> Rows<const T> rows(const In<T> &array) {
    const Index length = Index(array.shape(array.ndim() - 1));
    return {array.data(), length ? Index(array.size()) / length : 0, length};
}

// An array to be owned by Python.
template <class T> class Out {
  public:
    explicit Out(std::initializer_list<Index> shape) {
        std::size_t sizes[4], axes = 0, size = 1;
        for (const Index length : shape) size *= sizes[axes++] = std::size_t(length);
        data = new T[size + 1];
        const nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
        array = nb::ndarray<nb::numpy, T>(data, axes, sizes, owner);
    }
    Row<T> row() const { return {data, Index(array.size())}; }
    Rows<T> rows(Index size) const { return {data, size, size ? Index(array.size()) / size : 0}; }

    T *data;
    nb::ndarray<nb::numpy, T> array;
};

template <class T> Out<T> copied(const T *values, Index size) {
    Out<T> out({size});
    std::memcpy(out.data, values, sizeof(T) * std::size_t(size));
    return out;
}

// Lets other Python threads run meanwhile. If Python ends before a thread is back, up to 3.13 it ends
// that thread by an exception, which must not pass through C++: the thread waits, as in 3.14.
class Released {
  public:
    Released() : state(PyEval_SaveThread()) {}
    ~Released() {
        try {
            PyEval_RestoreThread(state);
        } catch (...) {
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
    Released(const Released &) = delete;
    Released &operator=(const Released &) = delete;

  private:
    PyThreadState *state;
};

void require(bool holds, const char *otherwise) {
    if (!holds) throw nb::value_error(otherwise);
}

template <class T> In<T> attribute(nb::handle object, const char *name) {
    return nb::cast<In<T>>(object.attr(name));
}

template <class T> In<T> item(nb::handle object, int i) { return nb::cast<In<T>>(object[i]); }

// ---------------------------------------------------------------------------- partitions

// A number that sorts like the value: its sign, exponent and first bits.
std::uint32_t key_of(double value) {
    std::uint64_t bits;
    value += 0.0; // turns a negative zero into zero
    std::memcpy(&bits, &value, sizeof bits);
    bits ^= bits >> 63 ? ~std::uint64_t(0) : std::uint64_t(1) << 63;
    return std::uint32_t(bits >> 32);
}

struct Keyed {
    std::uint32_t key, record;
};

void sort_plainly(const double *values, Index size, Index *order) {
    for (Index i = 0; i < size; ++i) order[i] = i;
    std::stable_sort(order, order + size, [&](Index a, Index b) { return values[a] < values[b]; });
}

// The order that sorts values, keeping that of ties: by keys, one byte after the other from the last
// on, then what keys leave undecided.
void sort_order(const double *values, Index size, Index *order) {
    if (size < 64) return sort_plainly(values, size, order);
    Buffer<Keyed> one(size), other(size);
    Keyed *from = one.get(), *to = other.get();
    std::uint32_t places[4][256] = {};
    for (Index i = 0; i < size; ++i) {
        from[i] = {key_of(values[i]), std::uint32_t(i)};
        for (int byte = 0; byte < 4; ++byte) ++places[byte][from[i].key >> 8 * byte & 255];
    }
    for (int byte = 0; byte < 4; ++byte) {
        std::uint32_t *place = places[byte], seen = 0;
        if (place[from[0].key >> 8 * byte & 255] == size) continue; // all have the same
        for (int i = 0; i < 256; ++i) {
            const std::uint32_t own = place[i];
            place[i] = seen;
            seen += own;
        }
        for (Index i = 0; i < size; ++i) to[place[from[i].key >> 8 * byte & 255]++] = from[i];
        std::swap(from, to);
    }
    Index moves = 0;
    for (Index i = 0; i < size; ++i) {
        const Index record = from[i].record;
        Index at = i;
        for (; at > 0 && values[order[at - 1]] > values[record] && moves < 8 * size; --at, ++moves)
            order[at] = order[at - 1];
        order[at] = record;
    }
    if (moves >= 8 * size) sort_plainly(values, size, order);
}

// Set the order, the ranks and their ends; return their number. The callers have refused values that
// are not numbers.
Index rank(const double *values, Index size, Index *order, Count *atoms, Index *ends) {
    sort_order(values, size, order);
    Count at = 0;
    double last = values[order[0]];
    ends[0] = 0;
    for (Index i = 0; i < size; ++i) {
        const double value = values[order[i]];
        at += value != last;
        last = value;
        atoms[order[i]] = at;
        ends[at + 1] = i + 1;
    }
    return at + 1;
}

void set_between(const double *values, Index size, double *cuts) {
    for (Index i = 0; i < size; ++i) {
        cuts[i] = values[i];
        if (i == 0) continue;
        const double low = values[i - 1], high = values[i], middle = low / 2 + high / 2;
        if (low == high) cuts[i] = NAN;
        else if (middle > low) cuts[i] = middle;
    }
}

auto ranks(In<double> values) {
    const Index n = Index(values.size());
    require(n > 0, "there are no values");
    Out<Count> atoms({n});
    Buffer<Index> order(n), ends(n + 1);
    Index size;
    {
        const Released released;
        size = rank(values.data(), n, order.get(), atoms.data, ends.get());
    }
    Buffer<double> distinct(size);
    for (Index i = 0; i < size; ++i) distinct[i] = values.data()[order[ends[i]]];
    Out<double> cuts({size});
    set_between(distinct.get(), size, cuts.data);
    return nb::make_tuple(atoms.array, cuts.array, copied(ends.get(), size + 1).array);
}

auto rank_rows(In<double> table) {
    require(table.ndim() > 0, "values have no axis");
    const Rows<const double> values = rows(table);
    const Index n = values.length;
    Out<Count> atoms({values.size, n});
    Out<Index> order({values.size, n}), ends({values.size, n + 1}), sizes({values.size});
    {
        const Released released;
        std::memset(ends.data, 0, sizeof(Index) * std::size_t(values.size * (n + 1)));
        for (Index i = 0; i < values.size; ++i)
            sizes.data[i] = rank(values[i], n, order.data + i * n, atoms.data + i * n,
                                 ends.data + i * (n + 1));
    }
    return nb::make_tuple(atoms.array, order.array, ends.array, sizes.array);
}

auto between(In<double> values) {
    Out<double> cuts({Index(values.size())});
    set_between(values.data(), Index(values.size()), cuts.data);
    return cuts.array;
}

auto equipartition_of(In<Index> ends, Index size, Index slack) {
    Buffer<Index> edges(smaller(size, Index(ends.size()) - 1) + 1);
    const Index parts = equipartition(row(ends), size, slack, edges.get());
    return copied(edges.get(), parts + 1).array;
}

auto equipartitions_of(In<Index> ends, In<Index> sizes, Index slack, bool finest) {
    Buffer<Index> edges(edges_at_most(row(ends), row(sizes)));
    Out<Index> offsets({Index(sizes.size()) + 1});
    equipartitions(row(ends), row(sizes), slack, finest, edges.get(), offsets.data);
    return nb::make_tuple(copied(edges.get(), offsets.data[sizes.size()]).array, offsets.array);
}

// ---------------------------------------------------------------------------- counting

Buffer<Count> part_of(const In<Index> &edges) {
    const Index parts = Index(edges.size()) - 1;
    Buffer<Count> part(edges.data()[parts]);
    for (Index i = 0; i < parts; ++i)
        for (Index atom = edges.data()[i]; atom < edges.data()[i + 1]; ++atom) part[atom] = Count(i);
    return part;
}

auto count(In<Count> fixed_atoms, In<Count> free_atoms, In<Index> fixed_edges, In<Index> free_edges) {
    const Index columns = Index(fixed_edges.size()) - 1, height = Index(free_edges.size()) - 1;
    const Buffer<Count> column = part_of(fixed_edges), own = part_of(free_edges);
    Out<Count> counts({columns, height});
    std::memset(counts.data, 0, sizeof(Count) * std::size_t(columns * height));
    {
        const Released released;
        for (std::size_t i = 0; i < fixed_atoms.size(); ++i)
            ++counts.data[column[fixed_atoms.data()[i]] * height + own[free_atoms.data()[i]]];
    }
    return counts.array;
}

auto clumps(In<Count> free_atoms, In<Count> fixed_atoms, In<Index> fixed_edges, Index atoms) {
    const Buffer<Count> part = part_of(fixed_edges);
    Buffer<Count> home(atoms); // -1: not seen, -2: mixed
    for (Index atom = 0; atom < atoms; ++atom) home[atom] = -1;
    for (std::size_t i = 0; i < free_atoms.size(); ++i) {
        Count &own = home[free_atoms.data()[i]];
        const Count here = part[fixed_atoms.data()[i]];
        if (own == -1) own = here;
        else if (own != here) own = -2;
    }
    Buffer<Index> edges(atoms + 1);
    Index closed = 0;
    edges[0] = 0;
    for (Index atom = 1; atom < atoms; ++atom)
        if (home[atom] == -2 || home[atom] != home[atom - 1]) edges[++closed] = atom;
    edges[closed + 1] = atoms;
    return copied(edges.get(), closed + 2).array;
}

auto refine_by(In<Index> edges, In<Index> offsets, In<Index> starts, In<Count> atoms) {
    const Index groups = Index(starts.size()) - 1;
    Out<Count> parts({groups, Index(atoms.size())}), own({Index(edges.size())});
    Out<Index> sizes({groups});
    {
        const Released released;
        refine(row(edges), row(offsets), row(starts), row(atoms), parts.data, sizes.data, own.data);
    }
    return nb::make_tuple(parts.array, sizes.array, own.array);
}

auto place(In<double> values, In<double> cuts, In<Count> guide, double low, double scale) {
    const Index size = Index(values.size()), last = Index(guide.size()) - 1;
    const Count most = Count(cuts.size());
    Out<Count> places({size});
    const double *own = values.data(), *cut = cuts.data();
    {
        const Released released;
        for (Index i = 0; i < size; ++i) {
            const double value = own[i], bucket = (value - low) * scale;
            Count at = guide.data()[0];
            if (bucket >= double(last)) at = guide.data()[last];
            else if (bucket > 0) at = guide.data()[Index(bucket)]; // false if it is NaN
            while (at < most && cut[at] <= value) ++at;
            while (at > 0 && cut[at - 1] > value) --at;
            places.data[i] = at;
        }
    }
    return places.array;
}

void tally(In<Count> x, In<Count> y, In<Count> first, In<Count> second, InOut<Index> counts) {
    const Index tables = Index(first.shape(1));
    const Released released;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Count *a = first.data() + x.data()[i] * tables, *b = second.data() + y.data()[i] * tables;
        for (Index t = 0; t < tables; ++t) ++counts.data()[a[t] + b[t]];
    }
}

// The interface of numpy's bit generators, documented for extensions.
struct BitGenerator {
    void *state;
    std::uint64_t (*next_uint64)(void *);
    std::uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    std::uint64_t (*next_raw)(void *);
};

void shuffle(nb::handle generator, In<Count> x, InOut<Count> y, InOut<Index> tables) {
    const nb::object capsule = generator.attr("bit_generator").attr("capsule");
    auto *bits = static_cast<BitGenerator *>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
    if (!bits) throw nb::python_error();
    const Index size = Index(tables.shape(0)), width = Index(tables.shape(2));
    const Index cells = Index(tables.shape(1)) * width, n = Index(y.size());
    const Count *fixed = x.data();
    Count *free = y.data();
    Index *table = tables.data();
    const Released released;
    std::memset(table, 0, sizeof(Index) * std::size_t(size * cells));
    for (Index t = 0; t < size; ++t, table += cells)
        for (Index i = n - 1; i >= 0; --i) {
            const auto j = std::uint32_t(bits->next_double(bits->state) * double(i + 1));
            const Count part = free[j];
            free[j] = free[i];
            free[i] = part;
            ++table[fixed[i] * width + part];
        }
}

auto tabulate(In<Count> parts, In<Count> cells, Index height, Index width) {
    Out<Count> counts({height, width});
    std::memset(counts.data, 0, sizeof(Count) * std::size_t(height * width));
    {
        const Released released;
        for (std::size_t i = 0; i < parts.size(); ++i)
            ++counts.data[parts.data()[i] * width + cells.data()[i]];
    }
    return counts.array;
}

// ---------------------------------------------------------------------------- the search

auto information(In<Count> counts, Index k_max, In<double> xlogx) {
    Out<double> bits({k_max + 1});
    {
        const Released released;
        used.kernels->information(rows(counts), row(xlogx), bits.row());
    }
    return bits.array;
}

auto informations(In<Count> tables, Index k_max, In<double> xlogx) {
    const Index size = Index(tables.shape(0)), columns = Index(tables.shape(1));
    const Index height = Index(tables.shape(2)), cells = columns * height;
    Out<double> bits({size, k_max + 1});
    {
        const Released released;
        for (Index i = 0; i < size; ++i) {
            const Rows<const Count> counts{tables.data() + i * cells, columns, height};
            const Row<double> own{bits.data + i * (k_max + 1), k_max + 1};
            Index n = 0;
            for (Index cell = 0; cell < cells; ++cell) n += counts.data[cell];
            if (n > 0) used.kernels->information(counts, row(xlogx), own);
            else std::memset(own.data, 0, sizeof(double) * std::size_t(k_max + 1));
        }
    }
    return bits.array;
}

auto trace(In<Count> counts, Index k, In<double> xlogx) {
    Out<Index> edges({smaller(k, Index(counts.shape(1))) + 1});
    {
        const Released released;
        used.kernels->trace(rows(counts), row(xlogx), edges.row());
    }
    return edges.array;
}

// The arrays of variables cut both ways, kept alive while a kernel reads them.
class Held {
  public:
    explicit Held(nb::handle cut)
        : parts(attribute<Count>(cut.attr("columns"), "parts")),
          sizes(attribute<Index>(cut.attr("columns"), "sizes")),
          edges(attribute<Count>(cut.attr("columns"), "edges")),
          offsets(attribute<Index>(cut.attr("columns"), "offsets")),
          masters(attribute<Count>(cut.attr("masters"), "parts")),
          heights(attribute<Index>(cut.attr("masters"), "sizes")) {}
    Cut cut() const {
        return {rows(parts), rows(sizes), rows(edges), rows(offsets), rows(masters), rows(heights)};
    }

  private:
    In<Count> parts;
    In<Index> sizes;
    In<Count> edges;
    In<Index> offsets;
    In<Count> masters;
    In<Index> heights;
};

auto entries(nb::handle left, nb::handle right, In<Index> pairs, In<Index> starts, In<Index> k_max,
             In<double> xlogx, bool fast) {
    const Held a(left), b(right);
    require(pairs.ndim() == 2 && pairs.shape(1) == 2, "pairs must have two columns");
    const Index size = Index(pairs.shape(0));
    Out<double> bits({2, size, Index(k_max.size()), largest_of(row(k_max)) + 1});
    {
        const Released released;
        used.kernels->entries(a.cut(), b.cut(), {pairs.data(), size, 2}, {row(starts), row(k_max)},
                              row(xlogx), fast, bits.rows(2 * size));
    }
    return bits.array;
}

auto largest(nb::handle left, nb::handle right, In<Index> pairs, In<Index> starts, In<Index> k_max,
             In<double> logs, In<double> xlogx) {
    const Held a(left), b(right);
    require(pairs.ndim() == 2 && pairs.shape(1) == 2, "pairs must have two columns");
    const Index size = Index(pairs.shape(0));
    Out<double> scores({size});
    {
        const Released released;
        used.kernels->largest(a.cut(), b.cut(), {pairs.data(), size, 2}, {row(starts), row(k_max)},
                              row(logs), row(xlogx), scores.row());
    }
    return scores.array;
}

auto tabled(In<Index> tables, nb::handle x, nb::handle y, In<Index> starts, In<Index> k_max,
            In<double> xlogx) {
    const In<Index> x_edges = attribute<Index>(x, "edges"), x_offsets = attribute<Index>(x, "offsets");
    const In<Index> y_edges = attribute<Index>(y, "edges"), y_offsets = attribute<Index>(y, "offsets");
    const Index size = Index(tables.shape(0));
    Out<double> bits({2, size, Index(k_max.size()), largest_of(row(k_max)) + 1});
    {
        const Released released;
        used.kernels->tabled(row(tables), Index(tables.shape(1)), Index(tables.shape(2)),
                             {row(x_edges), row(x_offsets)}, {row(y_edges), row(y_offsets)},
                             {row(starts), row(k_max)}, row(xlogx), bits.rows(2 * size));
    }
    return bits.array;
}

auto equi(nb::handle x, nb::handle y, nb::handle plan, In<double> logs, In<double> xlogx, bool fast) {
    const In<Count> x_atoms = item<Count>(x, 0), y_atoms = item<Count>(y, 0);
    const In<Index> x_ends = item<Index>(x, 1), y_ends = item<Index>(y, 1);
    const In<Index> columns = item<Index>(plan, 0), masters = item<Index>(plan, 1);
    const In<Index> order = item<Index>(plan, 2), starts = item<Index>(plan, 3);
    const In<Index> each = item<Index>(plan, 4), most = item<Index>(plan, 5);
    const Ranked one{row(x_atoms), row(x_ends), nb::cast<Index>(x[2])};
    const Ranked other{row(y_atoms), row(y_ends), nb::cast<Index>(y[2])};
    const Index steps = Index(order.size());
    Out<double> found({2, steps, steps});
    {
        const Released released;
        used.kernels->equi(
            one, other,
            {row(columns), row(masters), row(order), row(starts), row(each), row(most)}, row(logs),
            row(xlogx), fast, found.rows(2));
    }
    return found.array;
}

auto clumped(nb::handle axes, In<Index> pairs, In<Index> plan, In<double> logs, In<double> xlogx,
             bool occupied) {
    const In<Count> atoms = item<Count>(axes, 0);
    const In<Index> order = item<Index>(axes, 1), ends = item<Index>(axes, 2);
    const In<Index> sizes = item<Index>(axes, 3);
    const Index size = Index(pairs.shape(0)), steps = Index(plan.shape(1));
    Out<double> found({2, size, steps, steps});
    {
        const Released released;
        used.kernels->clumped({rows(atoms), rows(order), rows(ends), row(sizes), rows(plan), occupied},
                              {pairs.data(), size, 2}, row(logs), row(xlogx), found.rows(2 * size));
    }
    return found.array;
}

auto smallest_best(In<double> matrix, double tie) {
    const Rows<const double> entries = rows(matrix);
    double most = -INFINITY;
    for (std::size_t i = 0; i < matrix.size(); ++i)
        if (matrix.data()[i] > most) most = matrix.data()[i];
    Index cells = 0, k = 0, l = 0;
    for (Index i = 0; i < entries.size; ++i)
        for (Index j = 0; j < entries.length; ++j)
            if (entries[i][j] >= most - tie && (k == 0 || (i + 2) * (j + 2) < cells)) {
                k = i + 2;
                l = j + 2;
                cells = k * l;
            }
    return nb::make_tuple(k, l);
}

auto approximate(In<Count> counts, double slope) {
    Out<float> products({Index(counts.size())});
    std::memset(products.data, 0, sizeof(float) * counts.size());
    used.kernels->approximate(row(counts), slope, products.row());
    return products.array;
}

// ---------------------------------------------------------------------------- capped information

template <class T>
auto cumulate(nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> counts) { // in any order in memory
    const Index parts = Index(counts.shape(0)), cells = Index(counts.shape(1));
    Out<T> sums({parts + 1, cells});
    const Rows<T> all = sums.rows(parts + 1);
    for (Index cell = 0; cell < cells; ++cell) all[0][cell] = 0;
    for (Index part = 0; part < parts; ++part) {
        T seen = 0;
        for (Index cell = 0; cell < cells; ++cell) {
            seen += counts(part, cell);
            all[part + 1][cell] = all[part][cell] + seen;
        }
    }
    return sums.array;
}

template <class T> const Critics<T> &critics_of();
template <> const Critics<Count> &critics_of() { return *used.critics; }
template <> const Critics<Index> &critics_of() { return *used.long_critics; }

template <class T>
auto two_rows(In<T> sums, In<Index> edges, In<Index> offsets, In<double> limits, In<double> table,
              double unit, In<double> critics, double cap, double least) {
    const Index size = Index(offsets.size()) - 1;
    Out<double> best({size});
    Out<Index> where({size});
    const Capped capped{{row(edges), row(offsets)}, row(table), unit, rows(critics), cap, least};
    {
        const Released released;
        critics_of<T>().two_rows(rows(sums), capped, row(limits), best.row(), where.row());
    }
    return nb::make_tuple(best.array, where.array);
}

template <class T>
auto three_rows(In<T> sums, In<Index> edges, In<Index> offsets, In<Index> pairs, In<double> table,
                double unit, In<double> critics, double cap, double least) {
    const Index size = Index(offsets.size()) - 1;
    Out<double> best({size});
    Out<Index> where({size});
    const Capped capped{{row(edges), row(offsets)}, row(table), unit, rows(critics), cap, least};
    {
        const Released released;
        critics_of<T>().three_rows(rows(sums), capped, rows(pairs), best.row(), where.row());
    }
    return nb::make_tuple(best.array, where.array);
}

} // namespace
} // namespace dpmic

NB_MODULE(_native, m) {
    using namespace dpmic;
    select(m, variants().back());
    m.def("_use", [module = nb::handle(m)](const char *name) { use(module, name); }, "variant"_a);
    m.def("ranks", ranks, "values"_a);
    m.def("rank_rows", rank_rows, "table"_a);
    m.def("between", between, "values"_a);
    m.def("equipartition", equipartition_of, "ends"_a, "size"_a, "slack"_a);
    m.def("equipartitions", equipartitions_of, "ends"_a, "sizes"_a, "slack"_a, "finest"_a);
    m.def("count", dpmic::count, "fixed_atoms"_a, "free_atoms"_a, "fixed_edges"_a, "free_edges"_a);
    m.def("clumps", clumps, "free_atoms"_a, "fixed_atoms"_a, "fixed_edges"_a, "atoms"_a);
    m.def("refine", refine_by, "edges"_a, "offsets"_a, "starts"_a, "atoms"_a);
    m.def("place", place, "values"_a, "cuts"_a, "guide"_a, "low"_a, "scale"_a);
    m.def("tally", tally, "x"_a, "y"_a, "first"_a, "second"_a, "counts"_a.noconvert());
    m.def("shuffle", dpmic::shuffle, "generator"_a, "x"_a, "y"_a.noconvert(), "tables"_a.noconvert());
    m.def("tabulate", tabulate, "parts"_a, "cells"_a, "rows"_a, "columns"_a);
    m.def("information", information, "counts"_a, "k_max"_a, "xlogx"_a);
    m.def("informations", informations, "tables"_a, "k_max"_a, "xlogx"_a);
    m.def("trace", trace, "counts"_a, "k"_a, "xlogx"_a);
    m.def("entries", entries, "left"_a, "right"_a, "pairs"_a, "starts"_a, "k_max"_a, "xlogx"_a,
          "fast"_a);
    m.def("largest", largest, "left"_a, "right"_a, "pairs"_a, "starts"_a, "k_max"_a, "logs"_a,
          "xlogx"_a);
    m.def("tabled", tabled, "tables"_a, "x"_a, "y"_a, "starts"_a, "k_max"_a, "xlogx"_a);
    m.def("equi", equi, "x"_a, "y"_a, "plan"_a, "logs"_a, "xlogx"_a, "fast"_a);
    m.def("clumped", clumped, "axes"_a, "pairs"_a, "plan"_a, "logs"_a, "xlogx"_a, "occupied"_a);
    m.def("smallest_best", smallest_best, "matrix"_a, "tie"_a);
    m.def("cumulate", cumulate<Count>, "counts"_a.noconvert());
    m.def("cumulate", cumulate<Index>, "counts"_a);
    m.def("two_rows", two_rows<Count>, "sums"_a.noconvert(), "edges"_a, "offsets"_a, "limits"_a,
          "table"_a, "unit"_a, "critics"_a, "cap"_a, "least"_a);
    m.def("two_rows", two_rows<Index>, "sums"_a, "edges"_a, "offsets"_a, "limits"_a, "table"_a,
          "unit"_a, "critics"_a, "cap"_a, "least"_a);
    m.def("three_rows", three_rows<Count>, "sums"_a.noconvert(), "edges"_a, "offsets"_a, "pairs"_a,
          "table"_a, "unit"_a, "critics"_a, "cap"_a, "least"_a);
    m.def("three_rows", three_rows<Index>, "sums"_a, "edges"_a, "offsets"_a, "pairs"_a, "table"_a,
          "unit"_a, "critics"_a, "cap"_a, "least"_a);
    m.def("approximate", approximate, "counts"_a, "slope"_a);
}
