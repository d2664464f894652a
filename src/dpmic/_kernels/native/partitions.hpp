// Cutting an axis of weighted atoms into parts, and records into the parts of several partitions.
//
// A partition is the array of its edges: part i holds the atoms edges[i] to edges[i + 1] - 1. The
// reference kernels explain the rules.
#pragma once

#include "buffer.hpp"

namespace dpmic {
namespace {

// Set the edges of at most `size` parts of nearly equal weight; return the number of parts.
inline Index equipartition(Row<const Index> ends, Index size, Index slack, Index *edges) {
    const Index atoms = ends.size - 1;
    Index part = 0, anew = 0, base = 0;
    edges[0] = 0;
    if (slack > 0 && ends[atoms] == atoms && size <= atoms) { // no cut moves another without ties
        for (part = 1; part <= size; ++part) edges[part] = (2 * part * atoms + size - 1) / size / 2;
        return size;
    }
    while (edges[part] < atoms) {
        ++part;
        const Index spaced = size - anew, share = (part - anew) * (ends[atoms] - base);
        const Index twice = 2 * base + (2 * share + spaced - 1) / spaced;
        Index low = edges[part - 1] + 1, high = atoms;
        if (ends[atoms] == atoms) low = high = smaller(larger(low, twice / 2), high); // no ties
        while (low < high) {
            const Index middle = (low + high) / 2;
            if (ends[middle] + ends[middle + 1] >= twice) high = middle;
            else low = middle + 1;
        }
        edges[part] = low;
        const Index off = (ends[low] - base) * spaced - share;
        if ((off < 0 ? -off : off) >= slack * spaced) {
            anew = part;
            base = ends[low];
        }
    }
    return part;
}

// Space for the edges of several partitions.
inline Index edges_at_most(Row<const Index> ends, Row<const Index> sizes) {
    Index most = 0;
    for (Index i = 0; i < sizes.size; ++i) most += smaller(sizes[i], ends.size - 1) + 1;
    return most;
}

// The same for several numbers of parts; with `finest`, single atoms if there are no more of them.
inline void equipartitions(Row<const Index> ends, Row<const Index> sizes, Index slack, bool finest,
                           Index *edges, Index *offsets) {
    const Index atoms = ends.size - 1;
    offsets[0] = 0;
    for (Index i = 0; i < sizes.size; ++i) {
        Index *own = edges + offsets[i], parts = atoms;
        if (finest && atoms <= sizes[i])
            for (Index atom = 0; atom <= atoms; ++atom) own[atom] = atom;
        else parts = equipartition(ends, sizes[i], slack, own);
        offsets[i + 1] = offsets[i] + parts + 1;
    }
}

// Cut records by the common refinement of each group of partitions: by group, the part of each
// record and the number of parts, and the edges counted in these parts.
inline void refine(Row<const Index> edges, Row<const Index> offsets, Row<const Index> starts,
                   Row<const Count> atoms, Count *parts, Index *sizes, Count *own) {
    const Index last = edges[offsets[1] - 1];
    Buffer<Count> place(last + 1);
    for (Index g = 0; g + 1 < starts.size; ++g) {
        const Index first = offsets[starts[g]], end = offsets[starts[g + 1]];
        for (Index atom = 0; atom <= last; ++atom) place[atom] = 0;
        for (Index e = first; e < end; ++e) place[edges[e]] = 1;
        Count seen = -1;
        for (Index atom = 0; atom <= last; ++atom) {
            seen += place[atom];
            place[atom] = seen;
        }
        for (Index e = first; e < end; ++e) own[e] = place[edges[e]];
        sizes[g] = seen;
        for (Index i = 0; i < atoms.size; ++i) parts[g * atoms.size + i] = place[atoms[i]];
    }
}

} // namespace
} // namespace dpmic
