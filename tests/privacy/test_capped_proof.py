"""The capped score moves by at most S when one record is replaced: every small table, and attacks.

This is docs/proofs/capped-sensitivity.md and docs/proofs/maps.md without the package: the score
is written here once more, for arrays of tables, and compared with tests/naive.py. Two neighbours
share the records that stay, E; so the largest change is the largest, over all E, of max - min
over the cells that complete E.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import combinations, pairwise, product

import naive
import numpy as np
import pytest
from sweeps import sweep

CAPS = [S / 2 for S in range(7, 17)]  # 3.5 .. 8
UNIT = 2.0**-24
EXTRA = 36  # units that rounding may add to S
TINY = 1e-9  # float64 where nothing is rounded on purpose


def round_to(values, unit):
    return values if unit is None else np.rint(np.asarray(values) / unit) * unit


def unit_for(n):
    return 2.0 ** -min(24, 51 - math.ceil(math.log2(n * math.log2(n))))


@dataclass(frozen=True)
class Capped:
    """The score of r classes: the shares' m_k and A_k, the range S and w = S u0.

    All of them are multiples of unit; None rounds nothing.
    """

    S: float
    w: float
    m: np.ndarray  # shares x classes
    unit: float | None

    @classmethod
    def two(cls, S, unit=None):
        theta = np.array(naive.capped_shares(S))
        s = round_to(np.log2(1 + 2.0 ** -abs(theta)), unit)
        m = np.stack([s + np.maximum(-theta, 0), s + np.maximum(theta, 0)], axis=1)
        return cls(S, float(round_to(S * 3 * 2.0**-S, unit)), m, unit)

    @classmethod
    def three(cls, S, unit=None):
        S3 = S * math.log2(3)
        if unit is not None:
            S3 = math.floor(S3 / unit) * unit
        parts = [(i, j, 12 - i - j) for i in range(2, 9) for j in range(2, 11 - i)]
        m = round_to(-np.log2(np.array(parts) / 12), unit)
        return cls(S3, float(round_to(S3 * 3 / 16, unit)), m, unit)

    @property
    def low(self):
        """The critics' least value for each share, mn = max m - S."""
        return self.m.max(axis=1) - self.S

    @property
    def caps(self):
        return self.m - self.low[:, None]

    def f(self, m):
        m = np.asarray(m, float)
        return round_to(m * np.log2(np.maximum(m, 1)), self.unit)

    def columns(self, counts):
        """sum a_k m_k - cost for counts[..., classes]: an array [..., shares]."""
        classes = range(counts.shape[-1])
        f = self.f(counts)
        least = None
        for size in classes:
            for A in map(list, combinations(classes, size + 1)):
                others = [k for k in classes if k not in A]
                entropy = self.f(counts[..., A].sum(-1)) - f[..., A].sum(-1)
                cost = entropy[..., None] + counts[..., others] @ self.caps[:, others].T
                least = cost if least is None else np.minimum(least, cost)
        return counts @ self.m.T - least

    def hinges(self, counts):
        """(S a_k - w c)+ for counts[..., classes]."""
        return np.maximum(self.S * counts - self.w * counts.sum(-1, keepdims=True), 0)

    def score(self, tables):
        """min(H, min F) of tables[..., columns, classes]."""
        F = self.columns(tables).sum(-2).min(-1)
        return np.minimum(F, self.hinges(tables).sum(-2).min(-1))


def compositions(n, cells):
    """All ways to put n records into cells: an array [ways, cells]."""
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, n + cells - 1)))
    return np.diff(edges) - 1


def completions(capped, n, columns, classes):
    """Scores of E and one record more, for all E of n - 1 records: [E, cell]; and those of E."""
    E = compositions(n - 1, columns * classes)
    full = E[:, None] + np.eye(columns * classes, dtype=int)
    shape = (columns, classes)
    return capped.score(full.reshape(*full.shape[:-1], *shape)), capped.score(E.reshape(-1, *shape))


def largest_change(capped, n, columns, classes):
    return np.ptp(completions(capped, n, columns, classes)[0], axis=1).max()


# --- the score here is that of the definition -------------------------------------------------


@sweep("S", CAPS)
def test_the_score_is_the_references(S, rng):
    for l, scale in product((1, 2, 5), (3, 1000)):
        a, b, c = rng.integers(0, scale, (3, l)) * rng.integers(0, 2, (3, l))
        two, three = np.stack([a, b], 1), np.stack([a, b, c], 1)
        expected = naive.capped_two(a.tolist(), b.tolist(), S)
        assert Capped.two(S).score(two) == pytest.approx(expected, abs=TINY)
        expected = naive.capped_three([v.tolist() for v in (a, b, c)], S)
        assert Capped.three(S).score(three) == pytest.approx(expected, abs=TINY)


@sweep("S", CAPS)
def test_rounding_moves_the_score_by_little(S, rng):
    tables = rng.integers(0, 300, (20, 7, 3)) * rng.integers(0, 2, (20, 7, 3))
    allowed = (3 * tables.sum((1, 2)) + 12 * 7) * UNIT
    for make, part in ((Capped.two, tables[..., :2]), (Capped.three, tables)):
        assert (abs(make(S, UNIT).score(part) - make(S).score(part)) <= allowed).all()


# --- columns: the largest value of critics that lie in an interval of length S ----------------


def critics_values(capped, columns, A, q):
    """Values of columns by the critic of A and q[columns, A] for each share; -inf if not allowed.

    It is m_k + log2 q_k on A and mn elsewhere, and allowed if it lies in [mn, mn + S].
    """
    critic = np.repeat(capped.low[:, None], columns.shape[1], axis=1) + np.zeros((len(q), 1, 1))
    with np.errstate(divide="ignore"):
        critic[..., A] = capped.m[:, A] + np.log2(q)[:, None]  # columns x shares x A
    low, high = (v[:, None] for v in (capped.low - 1e-12, capped.low + capped.S + 1e-12))
    allowed = ((critic >= low) & (critic <= high)).all(-1)
    critic[~allowed] = 0
    return np.where(allowed, (columns[:, None] * critic).sum(-1), -np.inf)


def check_critics(capped, columns, rng):
    """A column's value is that of an allowed critic, and no allowed critic has more."""
    values, classes = capped.columns(columns), columns.shape[1]
    largest = np.full(values.shape, -np.inf)
    for size in range(classes):
        for A in map(list, combinations(range(classes), size + 1)):
            total = columns[:, A].sum(1, keepdims=True)
            best = np.where(total > 0, columns[:, A] / np.maximum(total, 1), 1 / len(A))
            for q in (best, rng.dirichlet([0.5] * len(A), len(columns))):
                largest = np.maximum(largest, critics_values(capped, columns, A, q))
                assert (largest <= values + 1e-8).all()
    assert (largest >= values - 1e-8).all()


def check_increments(capped, columns, slack):
    """One record more adds a value of [mn, mn + S] to a column, and of [-w, S - w] to H."""
    values, hinges = capped.columns(columns), capped.hinges(columns)
    for k in range(columns.shape[1]):
        more = columns + np.eye(columns.shape[1], dtype=int)[k]
        rise = capped.columns(more) - values
        assert (rise >= capped.low - slack).all()
        assert (rise <= capped.low + capped.S + slack).all()
        rise = capped.hinges(more) - hinges
        assert (rise >= -capped.w - TINY).all()
        assert (rise <= capped.S - capped.w + TINY).all()


def columns_of(most, classes):
    return np.concatenate([compositions(n, classes) for n in range(most + 1)])


@sweep("S", CAPS)
def test_a_column_is_the_best_allowed_critic(S, rng):
    check_critics(Capped.two(S), columns_of(60, 2), rng)
    check_critics(Capped.three(S), columns_of(12, 3), rng)


@sweep("S", CAPS)
def test_one_record_adds_a_value_of_the_critics_interval(S):
    for make, columns in ((Capped.two, columns_of(60, 2)), (Capped.three, columns_of(12, 3))):
        check_increments(make(S), columns, TINY)


@sweep("S", CAPS)
def test_rounded_columns_keep_to_the_interval_and_a_few_units(S):
    """A column has three or four values of f, before and after: 6 or 8 errors of u / 2."""
    for unit in (UNIT, 2.0**-12):
        check_increments(Capped.two(S, unit), columns_of(60, 2), 3 * unit)
        check_increments(Capped.three(S, unit), columns_of(12, 3), 4 * unit)


@pytest.mark.full
@pytest.mark.parametrize("S", CAPS)
def test_larger_columns(S, rng):
    for make, columns in ((Capped.two, columns_of(300, 2)), (Capped.three, columns_of(40, 3))):
        check_critics(make(S), columns, rng)
        check_increments(make(S), columns, TINY)
    check_increments(Capped.two(S, UNIT), columns_of(300, 2), 3 * UNIT)
    check_increments(Capped.three(S, UNIT), columns_of(40, 3), 4 * UNIT)


def test_the_conditions_on_the_constants():
    """A_k >= 0, max m between log2 r and S, and w between 0 and S - log2 r: for one record more."""
    for S, unit in product(CAPS, [None, *(2.0**-q for q in range(15, 25))]):
        for capped, bits in ((Capped.two(S, unit), 1), (Capped.three(S, unit), math.log2(3))):
            assert (capped.caps >= 0.5).all()
            assert (2.0**-capped.caps).sum(1).max() <= 1
            assert capped.m.max(axis=1).min() >= bits - (unit or 0) - 1e-15
            assert capped.m.max() < capped.S
            assert 0 < capped.w < capped.S - bits


# --- tables -----------------------------------------------------------------------------------


@sweep("S", CAPS)
def test_all_tables_of_two_classes(S):
    for n in range(2, 13):
        assert largest_change(Capped.two(S), n, 2, 2) <= S + TINY
        assert largest_change(Capped.two(S, UNIT), n, 2, 2) <= S + EXTRA * UNIT


@sweep("S", [3.5, 5, 8])
def test_all_tables_of_three_classes(S):
    for n, columns in ((8, 2), (4, 3)):
        assert largest_change(Capped.three(S), n, columns, 3) <= S * math.log2(3) + TINY
        rounded = largest_change(Capped.three(S, UNIT), n, columns, 3)
        assert rounded / math.log2(3) <= S + EXTRA * UNIT


@pytest.mark.full
@pytest.mark.parametrize("S", CAPS)
def test_all_larger_tables(S):
    found = [largest_change(Capped.two(S), n, 2, 2) for n in range(13, 41)]
    assert max(found) <= S + TINY
    found += [largest_change(Capped.two(S), n, 3, 2) for n in range(2, 13)]
    assert max(found) <= S + TINY
    assert max(found) > 0.75 * S
    for n in range(2, 8):
        assert largest_change(Capped.three(S), n, 3, 3) <= S * math.log2(3) + TINY


def test_a_bound_one_per_cent_too_low_is_caught():
    assert largest_change(Capped.two(3.5), 12, 2, 2) > 0.99 * 3.5


@sweep("S", CAPS)
def test_one_record_more_or_less(S):
    """Changes n T by no less than 1 - S and no more than S: what a private n needs."""
    for make, shape, bits in ((Capped.two, (10, 2, 2), 1), (Capped.three, (6, 2, 3), math.log2(3))):
        after, before = completions(make(S), *shape)
        rise = (after - before[:, None]) / bits
        assert rise.min() >= 1 - S - TINY
        assert rise.max() <= S + TINY


# --- attained ---------------------------------------------------------------------------------


def diagonal(classes, N):
    return N * np.eye(classes, dtype=int)


@sweep("S", CAPS)
def test_the_bound_is_attained(S):
    """N records in each cell of the diagonal; one of them moves to another class."""
    for make, classes in ((Capped.two, 2), (Capped.three, 3)):
        for unit in (None, UNIT):
            before = diagonal(classes, 40000)
            after = before.copy()
            after[0, :2] += [-1, 1]
            capped = make(S, unit)
            change = capped.score(before) - capped.score(after)
            assert change == pytest.approx(capped.S, abs=1e-6)
            assert change <= capped.S + 1e-6


@sweep("S, N", [(3.5, 12), (5, 60)])
def test_the_whole_family_attains_it(S, N):
    corner = [(0.0, 1.0)] * N + [(1.0, 0.0)] * N
    scores = [
        naive.micc(*zip(*data, strict=True), [(0, 1)] * 2, S, [2, 3], 4, 0.72, 3, [3], 4, maps=2)
        for data in (corner, [(0.0, 0.0), *corner[1:]])
    ]
    assert 2 * N * (scores[0] - scores[1]) == pytest.approx(S, abs=TINY)


# --- families: an adversary -------------------------------------------------------------------


def family_score(capped, classes, tables, penalty):
    """The largest score of tables[..., g, g] over grids: l columns (or rows) and thresholds."""
    g, best = tables.shape[-1], 0.0
    for turned in (tables, np.swapaxes(tables, -1, -2)):
        for l in (l for l in range(2, g + 1) if g % l == 0):
            parts = turned.reshape(*turned.shape[:-2], l, g // l, g).sum(-2)
            below = parts.cumsum(-1)[..., :-1]
            for cuts in combinations(range(g - 1), classes - 1):
                edges = np.concatenate([below[..., cuts], parts.sum(-1, keepdims=True)], -1)
                rows = np.diff(edges, prepend=0, axis=-1)
                best = np.maximum(best, capped.score(rows) - penalty * (l - 1))
    return best


def attack(capped, classes, n, g, rounds, rng):
    """Anneal E so that completing it matters most; the largest change seen."""
    atoms = np.eye(g * g, dtype=int).reshape(-1, g, g)
    E = rng.integers(0, g * g, n - 1)
    start = np.arange(n - 1) % classes * ((g * g - 1) // (classes - 1))  # corners
    E = np.where(rng.random(n - 1) < 0.8, start, E)
    current = largest = 0.0
    for i in range(rounds):
        trial = E.copy()
        aim = rng.integers(0, g * g) if rng.random() < 0.5 else E[rng.integers(0, n - 1)]
        trial[rng.integers(0, n - 1, rng.integers(1, 4))] = aim
        counts = np.bincount(trial, minlength=g * g).reshape(g, g)
        change = np.ptp(family_score(capped, classes, counts + atoms, 0.72 * (classes - 1)))
        largest = max(largest, change)
        heat = 0.1 * (1 - i / rounds) + 1e-9
        if change >= current or rng.random() < math.exp((change - current) / heat):
            E, current = trial, change
    return largest


@sweep("make, classes, g, rounds", [(Capped.two, 2, 4, 40), (Capped.three, 3, 3, 20)])
def test_an_adversary_never_exceeds_the_bound(make, classes, g, rounds, rng):
    capped = make(3.5)
    assert 0.5 * capped.S < attack(capped, classes, 40, g, rounds, rng) <= capped.S + TINY


@pytest.mark.full
@pytest.mark.parametrize("S", [3.5, 5, 6.5])
@pytest.mark.parametrize("n", [12, 40, 150])
@pytest.mark.parametrize(("make", "classes"), [(Capped.two, 2), (Capped.three, 3)])
def test_a_patient_adversary_never_exceeds_the_bound(make, classes, n, S, rng):
    for unit, slack in ((None, TINY), (UNIT, 4 * (classes + 1) * UNIT)):
        capped = make(S, unit)
        found = attack(capped, classes, n, 6, 400, rng)
        assert found <= capped.S + slack
    assert n < 40 or S > 5 or found > 0.9 * capped.S  # larger caps need more records


# --- exact arithmetic -------------------------------------------------------------------------

LARGE = [2, 3, 1000, 5_963_203, 5_963_204, 2**26, 2**31 - 1]


def test_the_unit():
    assert [-math.log2(unit_for(n)) for n in LARGE] == [24, 24, 24, 24, 23, 20, 15]
    for n in LARGE:
        assert n * math.log2(n) <= 2**51 * unit_for(n)
        assert 16 * n <= 2**53 * unit_for(n)


@sweep("n", LARGE)
def test_rounded_f_is_within_three_units(n, rng):
    unit = unit_for(n)
    sizes = np.unique([*rng.integers(0, n + 1, 100), *range(min(n, 50)), n])
    rounded = Capped.two(4, unit).f(sizes)
    assert rounded.max() <= 2**53 * unit
    with localcontext(prec=60):
        two = Decimal(2).ln()
        for m, value in zip(sizes.tolist(), rounded.tolist(), strict=True):
            exact = m * Decimal(max(m, 1)).ln() / two
            assert abs(Decimal(value) - exact) <= 3 * Decimal(unit)
            assert m > 1 or value == 0


def test_three_classes_have_a_range_that_is_rounded_down():
    with localcontext(prec=60):
        lam = Decimal(3).ln() / Decimal(2).ln()
        for S, q in product(CAPS, range(15, 25)):
            S3 = Decimal(Capped.three(S, 2.0**-q).S)
            assert 0 <= Decimal(S) * lam - S3 <= Decimal(2.0**-q)
            # and the division of the range and 16 errors of 3 units gives S and fewer than 36
            most = (S3 + 48 * Decimal(2.0**-q)) / Decimal(math.log2(3))
            assert most <= Decimal(S) + EXTRA * Decimal(2.0**-q)


def multiples(values, unit):
    """Values as integer multiples of unit: Python integers, or an error."""
    scaled = np.asarray(values, float) / unit
    assert (scaled == np.rint(scaled)).all()
    assert abs(scaled).max() <= 2**53
    return np.rint(scaled).astype(np.int64).astype(object)


def integer_score(capped, table):
    """The score in units, by Python integers of any size."""
    m, S, w = (multiples(v, capped.unit) for v in (capped.m, capped.S, capped.w))
    low = m.max(1) - S
    classes, counts, F = range(table.shape[1]), table.astype(object), []
    for share in range(len(m)):
        total = 0
        for column in counts:
            f = multiples(capped.f(column.astype(float)), capped.unit)
            costs = []
            for size in classes:
                for A in map(list, combinations(classes, size + 1)):
                    inside = multiples(capped.f(float(column[A].sum())), capped.unit) - f[A].sum()
                    out = [k for k in classes if k not in A]
                    costs.append(inside + sum(column[out] * (m[share, out] - low[share])))
            total += sum(column * m[share]) - min(costs)
        F.append(total)
    H = [sum(max(S * c[k] - w * sum(c), 0) for c in counts) for k in classes]
    return min(*F, *H)


@sweep("n", LARGE[2:])
def test_sums_are_exact_in_any_order(n, rng):
    unit = unit_for(n)
    for make, S, classes in ((Capped.two, 7.5, 2), (Capped.three, 4.5, 3)):
        capped = make(S, unit)
        shares = rng.dirichlet([0.3] * 5 * classes)
        table = np.floor(n * shares).astype(np.int64).reshape(5, classes)
        found = capped.score(table)
        assert found == capped.score(table[rng.permutation(5)])
        assert int(found / unit) == integer_score(capped, table)


@sweep("n", LARGE[2:])
def test_large_tables_move_by_the_range_and_a_few_units(n, rng):
    unit = unit_for(n)
    for make, S, classes in ((Capped.two, 3.5, 2), (Capped.two, 8, 2), (Capped.three, 5, 3)):
        capped = make(S, unit)
        for shape in range(10):
            shares = rng.dirichlet([0.1 + shape / 5] * 4 * classes)
            table = np.floor((n - 20) * shares).astype(np.int64)
            table += rng.integers(0, 2, table.size) * (table == 0)
            full = table + np.eye(table.size, dtype=int)
            change = np.ptp(capped.score(full.reshape(-1, 4, classes)))
            assert change <= capped.S + 4 * (classes + 1) * 3 * unit


def test_the_arithmetic_needs_one_unit():
    """Constants that are multiples of 2^-24 whatever n is: sums then depend on the order."""
    n = 2**31 - 1
    one, other = Capped.two(6.5, UNIT).m[3]
    a, b = n // 3, n - n // 3
    exact = a * int(one / UNIT) + b * int(other / UNIT)
    assert int((a * one + b * other) / UNIT) != exact


# --- the search over shares -------------------------------------------------------------------


def fibonacci_search(value, count):
    """The least of value(1) .. value(count), a convex sequence, and how many were evaluated.

    The open interval (low, low + a + b) holds a minimum; low + a and low + b are evaluated.
    """
    a, b = 1, 2
    while a + b <= count:
        a, b = b, a + b
    seen = []

    def at(i):
        seen.append(value(i) if i <= count else math.inf)
        return seen[-1]

    low, left, right = 0, at(a), at(b)
    while b > 2:
        a, b = b - a, a
        if left <= right:
            left, right = at(low + a), left
        else:
            low += b
            left, right = right, at(low + b)
    return min(seen), len(seen)


@sweep("count, evaluations", [(33, 7), (65, 9)])
def test_the_search_finds_the_least_of_every_convex_sequence(count, evaluations, rng):
    falls = [(i, j) for i in range(count) for j in range(count - i)]
    slopes = [[-1] * i + [0] * j + [1] * (count - 1 - i - j) for i, j in falls]
    slopes += [sorted(rng.integers(-3, 4, count - 1).tolist()) for _ in range(300)]
    for slope in slopes:
        values = np.concatenate([[0], np.cumsum(slope)]).tolist()
        found = fibonacci_search(lambda i, values=values: values[i - 1], count)
        assert found == (min(values), evaluations)


def test_the_search_fails_where_a_sequence_is_not_convex():
    values = [0, *range(40, 8, -1)]
    assert fibonacci_search(lambda i: values[i - 1], 33)[0] != 0


@sweep("S", CAPS)
def test_rounded_shares_are_convex(S):
    for q in range(13, 25):
        m = Capped.two(S, 2.0**-q).m
        assert (np.diff(m, 2, axis=0) >= 0).all()
        assert (m == m[::-1, ::-1]).all()
        assert (m[:, 1] - m[:, 0] == naive.capped_shares(S)).all()


def test_a_coarse_unit_is_not_convex():
    assert (np.diff(Capped.two(8, 2.0**-9).m, 2, axis=0) < 0).any()


@sweep("S", CAPS)
def test_the_search_finds_the_least_value_of_tables(S, rng):
    capped = Capped.two(S, UNIT)
    for scale in (2, 10, 1000):
        tables = rng.integers(0, scale, (10, 5, 2)) * rng.integers(0, 2, (10, 5, 2))
        F = capped.columns(tables).sum(1)
        assert (np.diff(F, 2, axis=1) >= 0).all()
        for values in F.tolist():
            found = fibonacci_search(lambda i, values=values: values[i - 1], len(values))
            assert found == (min(values), 9 if S > 6 else 7)


# --- maps and zooms ---------------------------------------------------------------------------

BOUNDS = [(0, 1), (-1, 1), (-5, 2), (2, 9), (-9, -2), (0, 1e9), (-1e-9, 3), (1e6, 1e6 + 1)]


@sweep("lo, hi", BOUNDS)
def test_cuts_of_maps_rise_and_lie_within_the_bounds(lo, hi):
    maps = naive.axis_maps(lo, hi)
    assert len(maps) == 13
    for at in maps:
        cuts = [at(j / 64) for j in range(1, 64)]
        assert all(a < b for a, b in pairwise(cuts))
        assert lo < cuts[0]
        assert cuts[-1] < hi
    nearest = min(max(0, lo), hi)
    ends = [(at(0), at(1)) for at in maps[:8]]
    assert ends == [pytest.approx((lo, hi), rel=1e-9, abs=1e-9 * (hi - lo))] * 8
    for at in maps[8:]:
        assert at(0) <= nearest <= at(1)


@sweep("seed", range(2))
def test_the_maximum_over_maps_moves_by_the_range(seed):
    rng = np.random.default_rng(seed)
    n, S = 12, 3.5
    data = np.repeat([[0.01, 0.02], [9.0, 9.0]], n // 2, axis=0) * rng.choice([1, 0.1], (n, 2))
    scores = []
    for new in ((0.01, 0.02), (0.01, 9.0), (9.0, 0.02)):
        data[0] = new
        scores.append(naive.micc(*data.T, [(-2, 10)] * 2, S, [2], 3, 0.72, rows=2, maps=13))
    assert n * np.ptp(scores) <= S + TINY


def zooms(level):
    """Half-shifted intervals of width 2^-level in [0, 1], by the edges that they share."""
    edges = np.arange(2 ** (level + 1) + 1) / 2 ** (level + 1)
    return [(edges[i], edges[i + 2]) for i in range(len(edges) - 2)]


def inside(x, zoom):
    lo, hi = zoom
    return int(((lo <= x) & ((x < hi) | (hi == 1))).sum())


def four_fullest(values, counts, prefer):
    """The maximum over the four fullest zooms; prefer breaks ties."""
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], prefer[i]))
    return max(0.0, *(values[i] for i in order[:4]))


@sweep("level", [1, 2, 3, 4, 6])
def test_the_four_fullest_zooms_are_enough(level, rng):
    S, n = 4, 20
    for _ in range(100):
        places = rng.random(rng.integers(1, 8))
        x = rng.choice([*places, 0.0, 0.5, 1.0], n)
        counts = [inside(x, zoom) for zoom in zooms(level)]
        assert sum(counts[::2]) <= n
        assert sum(counts[1::2]) <= n
        assert sum(3 * count > n for count in counts) <= 4
        T = rng.random(len(counts)) * n
        values = np.minimum(T, S * (np.array(counts) - math.ceil(n / 3)))
        ties = [rng.permutation(len(counts)) for _ in range(3)]
        assert {four_fullest(values, counts, tie) for tie in ties} == {max(0.0, *values)}


def test_three_zooms_would_not_be_enough():
    x = np.repeat([0.3, 0.7], 5)
    assert sum(3 * inside(x, zoom) > 10 for zoom in zooms(4)) == 4


def test_the_constant_of_zooms_is_rounded_up():
    """Rounded down, six zooms of a third each are above it, and which four are searched matters."""
    counts, S, n = [4] * 6, 3.5, 12
    for C, expected in ((n / 3, 1), (n / 3 - 1 / 16, 2)):
        values = np.minimum([10.0] + [-1.0] * 5, S * (np.array(counts) - C))
        found = {four_fullest(values, counts, tie) for tie in (range(6), range(6)[::-1])}
        assert len(found) == expected
