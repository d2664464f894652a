"""Brute-force reference of the MIC family: every statistic straight from its definition.

Slow on purpose. Every grid is enumerated and its mutual information computed from
``sum p log2(p / (p_i p_j))``. Nothing here is shared with the package under test.

A matrix is a dict ``{(k, l): value}``: k rows partition the y axis, l columns the x axis,
k, l >= 2 and k * l <= B. A value is the largest mutual information found, in bits, over
log2(min(k, l)). An *atom* is a group of equal values; atoms are ordered and never split.
"""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np


def information(counts):
    """Mutual information, in bits, of the joint distribution counts / counts.sum()."""
    counts = [[float(count) for count in row] for row in counts]
    total = math.fsum(map(math.fsum, counts))
    if total == 0:
        return 0.0
    p_row = [math.fsum(row) / total for row in counts]
    p_column = [math.fsum(column) / total for column in zip(*counts, strict=True)]
    return math.fsum(
        count / total * math.log2(count / total / (p_row[i] * p_column[j]))
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count > 0
    )


def score_of_grid(x, y, x_cuts, y_cuts, k, l):
    """Information of one grid over log2(min(k, l)); a cell is the number of cuts <= value."""
    counts = np.zeros((len(y_cuts) + 1, len(x_cuts) + 1), dtype=int)
    for u, v in zip(x, y, strict=True):
        counts[sum(cut <= v for cut in y_cuts), sum(cut <= u for cut in x_cuts)] += 1
    return information(counts) / math.log2(min(k, l))


def atoms(values):
    """(atom of each record, weight of each atom); equal values share an atom, in order."""
    values = [float(v) for v in values]
    assert all(map(math.isfinite, values))
    distinct = sorted(set(values))
    place = {v: i for i, v in enumerate(distinct)}
    return [place[v] for v in values], [values.count(v) for v in distinct]


def equipartition(weights, size, slack=0):
    """Bin of each atom: at most `size` bins of about equal weight.

    The first bins close where evenly spaced cuts wish it: bin number i of the evenly spaced
    ones ends at e = base + i * (total - base) / bins. With b the weight so far and s that of
    the next atom, the current bin closes before the atom if it is not empty and
    |b + s - e| >= |b - e|. If |b - e| >= slack then, cuts are spaced anew from base = b over
    the bins left. slack = 0, always anew, is the greedy rule of Reshef et al. 2011.
    """
    if size < 1:
        raise ValueError("an equipartition has at least one bin")
    weights = [int(w) for w in weights]
    total, bins, current, h, b = sum(weights), [], 0, 0, 0
    base, first = 0, 0
    for s in weights:
        e = base + Fraction((current + 1 - first) * (total - base), size - first)
        if h > 0 and abs(b + s - e) >= abs(b - e):
            current, h = current + 1, 0
            if abs(b - e) >= slack:
                base, first = b, current
        h += s
        b += s
        bins.append(current)
    return bins


def mass_parts(values, size, slack=1):
    """Part of each record in the size-`size` mass equipartition of its axis."""
    atom, weights = atoms(values)
    bins = equipartition(weights, size, slack)
    return [bins[a] for a in atom]


def mass_master(values, size):
    """(part of each record, number of parts): the atoms if at most `size`, else equipartition."""
    atom, weights = atoms(values)
    if len(weights) <= size:
        return atom, len(weights)
    parts = mass_parts(values, size)
    return parts, max(parts) + 1


def range_parts(values, bounds, size):
    """Cell of each record, clamped to bounds, in the size-`size` range equipartition.

    Cuts are lo + (hi - lo) * (j / size); a value on a cut is in the upper cell, hi in the last.
    """
    lo, hi = map(float, bounds)
    cuts = [lo + (hi - lo) * (j / size) for j in range(1, size)]
    clamped = [min(max(float(v), lo), hi) for v in values]
    return [size - 1 if v == hi else sum(cut <= v for cut in cuts) for v in clamped]


def range_master(values, bounds, size):
    """(cell of each record, number of cells); size inf: the distinct clamped values."""
    if size == math.inf:
        lo, hi = map(float, bounds)
        return mass_master([min(max(float(v), lo), hi) for v in values], math.inf)
    if size < 1:
        raise ValueError("a master has at least one cell")
    return range_parts(values, bounds, size), size


def clumps(values, fixed, size):
    """(clump of each record, number of clumps) of the atoms of values, given the fixed parts.

    A pure atom (records all in one fixed part) joins the previous atom if that is pure and of
    the same part. More than `size` clumps are equipartitioned into superclumps.
    """
    atom, weights = atoms(values)
    clump_of_atom, clump_weights, previous = [], [], None
    for a, weight in enumerate(weights):
        inside = {f for f, b in zip(fixed, atom, strict=True) if b == a}
        pure = inside.pop() if len(inside) == 1 else None
        if pure is None or pure != previous:
            clump_weights.append(0)
        clump_weights[-1] += weight
        clump_of_atom.append(len(clump_weights) - 1)
        previous = pure
    merged = list(range(len(clump_weights)))
    if len(clump_weights) > size:
        merged = equipartition(clump_weights, size)
    return [merged[clump_of_atom[a]] for a in atom], merged[-1] + 1


def best_information(fixed, master, k):
    """Largest information of the fixed parts and any k consecutive blocks of the master's parts.

    A master of fewer than k parts is taken whole (the missing parts are empty).
    """
    parts, m = master
    table = np.zeros((m, max(fixed) + 1), dtype=int)
    for part, f in zip(parts, fixed, strict=True):
        table[part, f] += 1
    best = 0.0
    for cuts in combinations(range(1, m), min(k, m) - 1):
        edges = (0, *cuts, m)
        blocks = [table[a:b].sum(axis=0) for a, b in pairwise(edges)]
        best = max(best, information(blocks))
    return best


def _floor(value):
    return value if value == math.inf else math.floor(value)


def master_size(l, b, c, rule):
    """Size of the master for l fixed parts, b = floor(B)."""
    if rule == "reshef":
        return _floor(c * min(l, b // l))
    if rule == "paper":
        return _floor(c * l)
    if rule == "minepy":
        return max(_floor(c * (b // l)), 1)
    raise ValueError(rule)


def _limit(n, B, alpha):
    return math.floor(max(n**alpha, 4) if B is None else B)


def _axes(x, y, ranks):
    """The two axes; ranks = (rank of each record in x, in y) makes every record an atom."""
    if ranks is None:
        return x, y
    for values, rank in zip((x, y), ranks, strict=True):
        assert sorted(rank) == list(range(len(rank))), "a rank array is a permutation of 0..n-1"
        ordered = [v for _, v in sorted(zip(rank, values, strict=True))]
        assert ordered == sorted(ordered), "ranks may only break ties"
    return ranks


def _matrix(b, most, cut, master):
    """Fill the matrix, keeping the larger value where two orientations meet.

    For l = 2..b//2: fix x into l columns and optimise y into k rows for entry (k, l); fix y into
    l rows and optimise x into k columns for entry (l, k); k = 2..most(l). cut(axis, l) are the
    parts of the fixed axis, master(axis, l, fixed) is the master of the other.
    """
    matrix = {}
    for l in range(2, b // 2 + 1):
        for fixed_axis, other in ((0, 1), (1, 0)):
            fixed = cut(fixed_axis, l)
            optimised = master(other, l, fixed)
            for k in range(2, most(l) + 1):
                entry = (k, l) if fixed_axis == 0 else (l, k)
                value = best_information(fixed, optimised, k) / math.log2(min(k, l))
                matrix[entry] = max(matrix.get(entry, 0.0), value)
    return matrix


def mice(x, y, B=None, c=15, master="reshef", *, alpha=0.6, ranks=None):
    """Equicharacteristic matrix of MICe: mass equipartitions, k <= l optimised parts."""
    b, axes = _limit(len(x), B, alpha), _axes(x, y, ranks)
    return _matrix(
        b,
        lambda l: min(l, b // l),
        lambda axis, l: mass_parts(axes[axis], l),
        lambda axis, l, _: mass_master(axes[axis], master_size(l, b, c, master)),
    )


def micr(x, y, bounds, B=None, c=15, master="reshef", *, alpha=0.6):
    """Range equicharacteristic matrix of MICr; bounds = ((x_lo, x_hi), (y_lo, y_hi))."""
    b, axes = _limit(len(x), B, alpha), (x, y)
    return _matrix(
        b,
        lambda l: min(l, b // l),
        lambda axis, l: range_parts(axes[axis], bounds[axis], l),
        lambda axis, l, _: range_master(axes[axis], bounds[axis], master_size(l, b, c, master)),
    )


def mic(x, y, B=None, c=15, *, alpha=0.6, ranks=None):
    """Characteristic matrix of Reshef et al. 2011 (ApproxMaxMI): clumps, k up to b // l."""
    b, axes = _limit(len(x), B, alpha), _axes(x, y, ranks)
    return _matrix(
        b,
        lambda l: b // l,
        lambda axis, l: mass_parts(axes[axis], l, slack=0),
        lambda axis, l, fixed: clumps(axes[axis], fixed, master_size(l, b, c, "minepy")),
    )


def maximum(matrix):
    """MIC: the largest entry."""
    return max(matrix.values())


def tic(matrix, normalised=False):
    """TIC: the sum of the entries, or their mean."""
    return math.fsum(matrix.values()) / (len(matrix) if normalised else 1)


def mas(matrix):
    """MAS: the largest |M(k, l) - M(l, k)|."""
    return max(abs(value - matrix[l, k]) for (k, l), value in matrix.items())


def mev(matrix):
    """MEV: the largest entry with two rows or two columns."""
    return max(value for (k, l), value in matrix.items() if k == 2 or l == 2)


def mcn(matrix, eps=0.0):
    """MCN: the least log2(k * l) with M(k, l) + 1e-4 >= (1 - eps) * MIC."""
    enough = (1 - eps) * maximum(matrix)
    return min(math.log2(k * l) for (k, l), value in matrix.items() if value + 1e-4 >= enough)


def mcn_general(matrix):
    """MCN with eps = 1 - MIC."""
    return mcn(matrix, 1 - maximum(matrix))


def gmic(matrix, p=-1.0):
    """GMIC: the power mean of C*(k, l) = max of M(i, j) over i * j <= k * l.

    p = 0 is the geometric mean; p <= 0 with a zero C* gives 0.
    """
    stars = [max(v for (i, j), v in matrix.items() if i * j <= k * l) for k, l in matrix]
    if p <= 0 and min(stars) == 0:
        return 0.0
    if p == 0:
        return math.exp(math.fsum(map(math.log, stars)) / len(stars))
    return (math.fsum(star**p for star in stars) / len(stars)) ** (1 / p)
