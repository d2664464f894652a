"""Brute-force reference of the MIC family: every statistic straight from its definition.

Slow on purpose. Every grid is enumerated and its mutual information computed from
``sum p log2(p / (p_i p_j))``. Nothing here is shared with the package under test.

A matrix is a dict ``{(k, l): value}``: k rows partition the y axis, l columns the x axis,
k, l >= 2 and k * l <= B. A value is the largest mutual information found, in bits, over
log2(min(k, l)). An *atom* is a group of equal values; atoms are ordered and never split.
"""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

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


def nominal(x, y, sizes, bounds=None, B=None, c=15, master="reshef", *, alpha=0.6):
    """Matrix of MICe (or MICr, with bounds) where an axis is nominal: sizes are its categories.

    sizes = (m, None): x has m categories, 0 .. m - 1, and y numbers; (None, m): y; (m1, m2): both.
    A nominal axis has one partition. Numbers are cut into k >= m equal parts, and into k < m parts
    that are optimised against the categories; k m <= B, which is at least 2 m. Two nominal axes
    have the one grid m2 x m1.
    """
    if None not in sizes:
        counts = np.zeros(sizes[::-1], dtype=int)
        for u, v in zip(x, y, strict=True):
            counts[int(v), int(u)] += 1
        return {sizes[::-1]: information(counts) / math.log2(min(sizes))}
    axis = 0 if sizes[1] is None else 1
    m, codes, values = sizes[axis], [int(u) for u in (x, y)[axis]], (x, y)[1 - axis]
    b = max(_limit(len(x), B, alpha), 2 * m)
    size, matrix = master_size(m, b, c, master), {}
    for k in range(2, b // m + 1):
        if k >= m and bounds is None:
            parts = mass_parts(values, k), k
        elif k >= m:
            parts = range_parts(values, bounds[1 - axis], k), k
        elif bounds is None:
            parts = mass_master(values, size)
        else:
            parts = range_master(values, bounds[1 - axis], size)
        value = best_information(codes, parts, k) / math.log2(min(k, m))
        matrix[(k, m) if axis == 0 else (m, k)] = value
    return matrix


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


# --- Capped information: what one record can weigh is limited to S bits ----------------------


def xlogx(m):
    """Return m log2 m, and 0 for m = 0."""
    return m * math.log2(m) if m > 0 else 0.0


def capped_shares(S):
    """The log odds theta of two rows: 33 points up to S - 1.5, or 65 for S > 6."""
    half = 32 if S > 6 else 16
    return [i * (S - 1.5) / half for i in range(-half, half + 1)]


def capped_two(a, b, S):
    """min(H, min over theta of F), in bits times n; a and b are the classes' counts by column."""
    u0 = 3 * 2.0**-S
    columns = [(p, q, p + q) for p, q in zip(a, b, strict=True)]
    entropy = [xlogx(c) - xlogx(p) - xlogx(q) for p, q, c in columns]
    least = S * min(
        math.fsum(max(p - u0 * c, 0.0) for p, _, c in columns),
        math.fsum(max(q - u0 * c, 0.0) for _, q, c in columns),
    )
    for theta in capped_shares(S):
        m1 = math.log2(1 + 2.0**-theta)
        m0 = m1 + theta
        A1, A0 = S - max(theta, 0.0), S - max(-theta, 0.0)
        costs = (min(e, A1 * p, A0 * q) for e, (p, q, _) in zip(entropy, columns, strict=True))
        least = min(least, sum(a) * m1 + sum(b) * m0 - math.fsum(costs))
    return least


def capped_cost(column, caps):
    """What a column costs: the least over nonempty sets A of classes.

    f(a_A) - sum over A of f(a_k) + sum over the other classes of A_k a_k.
    """
    classes = range(len(column))
    costs = []
    for size in classes:
        for A in combinations(classes, size + 1):
            inside = xlogx(sum(column[k] for k in A)) - math.fsum(xlogx(column[k]) for k in A)
            costs.append(inside + math.fsum(caps[k] * column[k] for k in classes if k not in A))
    return min(costs)


def capped_three(counts, S):
    """The least of F over the 28 shares and of the three H_k, before penalty and division."""
    S3, u0 = S * math.log2(3), 3 / 16
    columns = list(zip(*counts, strict=True))
    least = min(
        S3 * math.fsum(max(column[k] - u0 * sum(column), 0.0) for column in columns)
        for k in range(3)
    )
    shares = [(i, j, 12 - i - j) for i in range(2, 9) for j in range(2, 11 - i)]
    assert len(shares) == 28
    for share in shares:
        m = [-math.log2(part / 12) for part in share]
        caps = [S3 - (max(m) - m_k) for m_k in m]
        whole = math.fsum(sum(row) * m_k for row, m_k in zip(counts, m, strict=True))
        least = min(least, whole - math.fsum(capped_cost(column, caps) for column in columns))
    return least


def axis_maps(lo, hi):
    """The 13 maps of an axis, as functions from g in [0, 1] to a cut.

    The identity; asinh((x - c) / (W 4^-j)), j = 1..7; zooms to c +- 2 W 4^-j, j = 2..6. c is 0
    if that is inside the bounds, else the bound nearest to 0; W its distance from the far bound.
    """
    c = min(max(0.0, lo), hi)
    W = max(hi - c, c - lo)

    def linear(a, b):
        return lambda g: a + g * (b - a)

    def curved(s):
        a, b = math.asinh((lo - c) / s), math.asinh((hi - c) / s)
        return lambda g: c + s * math.sinh(a + g * (b - a))

    zooms = [2 * W * 4.0**-j for j in range(2, 7)]
    return [
        linear(lo, hi),
        *(curved(W * 4.0**-j) for j in range(1, 8)),
        *(linear(max(lo, c - s), min(hi, c + s)) for s in zooms),
    ]


def cell_counts(rows, row_cuts, columns, column_cuts):
    """Counts of the grid: a list for each row; a value on a cut is in the cell above."""
    counts = [[0] * (len(column_cuts) + 1) for _ in range(len(row_cuts) + 1)]
    for u, v in zip(rows, columns, strict=True):
        counts[sum(cut <= u for cut in row_cuts)][sum(cut <= v for cut in column_cuts)] += 1
    return counts


def micc(
    x,
    y,
    bounds,
    S,
    columns,
    thresholds,
    penalty,
    rows=3,
    columns3=None,
    thresholds3=24,
    penalty3=None,
    maps=1,
):
    """The capped score, clipped to [0, 1].

    Each axis in turn has the columns: l equal parts of each of its first `maps` maps, for every
    l in `columns`. The other is cut in two at one of the cuts that its maps make at multiples of
    1 / thresholds. rows = 3 adds grids of three rows, without maps: two cuts at multiples of
    1 / thresholds3, l in `columns3` (as `columns`), penalty3 (twice `penalty`) for each column.
    """
    axes = [
        ([min(max(float(v), lo), hi) for v in values], axis_maps(float(lo), float(hi))[:maps])
        for values, (lo, hi) in zip((x, y), bounds, strict=True)
    ]
    best = 0.0
    for (across, across_maps), (up, up_maps) in (axes, axes[::-1]):
        cuts = {at(i / thresholds) for at in up_maps for i in range(1, thresholds)}
        for at, l, cut in product(across_maps, columns, sorted(cuts)):
            b, a = cell_counts(up, [cut], across, [at(j / l) for j in range(1, l)])
            best = max(best, capped_two(a, b, S) - penalty * (l - 1))
        if rows == 3:
            at, row_at = across_maps[0], up_maps[0]
            pairs = combinations([row_at(i / thresholds3) for i in range(1, thresholds3)], 2)
            for pair, l in product(pairs, columns if columns3 is None else columns3):
                counts = cell_counts(up, pair, across, [at(j / l) for j in range(1, l)])
                off = (2 * penalty if penalty3 is None else penalty3) * (l - 1)
                best = max(best, (capped_three(counts, S) - off) / math.log2(3))
    return min(best / len(x), 1.0)


def micc_nominal(codes, m, values, cuts, S, penalty, *, least=0):
    """The capped score of a nominal column, codes 0 .. m - 1, and a partitioned one.

    `cuts` has the partitions of the other column that may be columns, as lists of cuts, and under
    "rows" those that may be two or three rows. None among the values: the record is left out. The
    information is divided by the number of records that are left, or by `least` if that is more.
    """
    kept = [(c, v) for c, v in zip(codes, values, strict=True) if c is not None and v is not None]
    cell = [[(c, sum(cut <= v for cut in own)) for c, v in kept] for own in cuts["columns"]]
    best = 0.0
    for own, cells in zip(cuts["columns"], cell, strict=True):
        l = len(own) + 1
        tables = [[sum(1 for cv in cells if cv == (i, j)) for j in range(l)] for i in range(m)]
        best = max(best, _nominal_rows(tables, l, S, penalty, three=own in cuts["three columns"]))
    for own in cuts["rows"]:
        counts = [
            [
                sum(1 for c, v in kept if c == j and sum(cut <= v for cut in own) == i)
                for j in range(m)
            ]
            for i in range(len(own) + 1)
        ]
        if len(own) == 1:
            best = max(best, capped_two(counts[1], counts[0], S) - penalty * (m - 1))
        else:
            three = capped_three(counts, S) - 2 * penalty * (m - 1)
            best = max(best, three / math.log2(3))
    return min(best / max(len(kept), least, 1), 1.0)


def _nominal_rows(tables, l, S, penalty, *, three):
    """The best set of categories against the rest, `tables` being counts by category.

    One category, two of them, or the first ones of the list.
    """
    m, total = len(tables), [sum(column) for column in zip(*tables, strict=True)]
    best = 0.0
    first = [tuple(range(i)) for i in range(1, m)]
    for chosen in (*combinations(range(m), 1), *combinations(range(m), 2), *first):
        a = [sum(tables[i][j] for i in chosen) for j in range(l)]
        b = [t - p for t, p in zip(total, a, strict=True)]
        best = max(best, capped_two(a, b, S) - penalty * (l - 1))
        if three and len(chosen) == 2:
            i, j = chosen
            value = capped_three([tables[i], tables[j], b], S) - 2 * penalty * (l - 1)
            best = max(best, value / math.log2(3))
    return best
