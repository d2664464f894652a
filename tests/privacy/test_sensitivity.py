"""The sensitivities: values, rounding, the finite parts of their proofs, random neighbours."""

import math
from decimal import Context, Decimal, localcontext
from itertools import combinations

import numba
import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from project import ROOT
from sweeps import sweep

import dpmic
from dpmic import _kernels
from dpmic._validate import Limits
from dpmic.privacy import sensitivity
from dpmic.statistics.grids import MassAxis, steps
from dpmic.statistics.records import MOST_TABLED
from dpmic.statistics.search import Search, xlogx_table

BOX = ((-2.0, 2.0), (-2.0, 2.0))
UNIT = ((0.0, 1.0), (0.0, 1.0))
LN2 = Context(prec=60).ln(Decimal(2))


# --- values ---------------------------------------------------------------------------------


def log2(m):
    return Decimal(m).ln() / LN2


def f(m):
    return m * log2(m) if m > 0 else Decimal(0)


def g(m):
    return f(m) - f(m - 1)


@pytest.fixture(autouse=True)
def _many_digits():
    with localcontext() as context:
        context.prec = 60
        yield


@sweep(
    ("n", "paper", "exact"),
    [
        (25, 0.98302, 0.24229),
        (250, 0.15145, 0.03762),
        (1000, 0.04586, 0.01141),
        (5000, 0.01103, 0.002746),
        (10000, 0.005915, 0.001473),
    ],
)
def test_micr_beside_the_papers(n, paper, exact):
    assert sensitivity.micr_paper(n) == pytest.approx(paper, rel=5e-4)
    assert sensitivity.micr(n) == pytest.approx(exact, rel=5e-4)


@sweep(
    ("n", "paper", "proved"),
    [
        (25, 3.38, 0.623),
        (250, 2.24, 0.309),
        (1000, 1.56, 0.204),
        (5000, 0.969, 0.122),
        (10000, 0.788, 0.0975),
    ],
)
def test_mice_beside_the_papers(n, paper, proved):
    assert sensitivity.mice_paper(n, n**0.6) == pytest.approx(paper, rel=5e-3)
    assert sensitivity.mice(n, n**0.6) == pytest.approx(proved, rel=2e-3)


def is_just_above(found, exact):
    """Whether a float is not below a number, and the next float down is (or it is capped)."""
    if found == 0:
        return exact == 0
    if found == 1:
        return exact >= 1 - Decimal("1e-16")
    low = math.nextafter(math.nextafter(found, 0), 0)
    return Decimal(low) < exact <= Decimal(found)


@sweep("n", [2, 3, 4, 5, 6, 7, 10, 64, 299, 1000, 12_345, 10**6, 2**31 - 1, 2**40])
def test_values_are_rounded_up(n):
    S = g((n + 2) // 2) + g((n + 1) // 2)
    entry = {2: g(n) / n, 3: S / (n * log2(3)), 4: S / (n * log2(4))}
    assert is_just_above(sensitivity.micr(n), entry[2])
    assert is_just_above(sensitivity.micr(n), (log2(n) + (n - 1) * log2(Decimal(n) / (n - 1))) / n)
    assert is_just_above(sensitivity.micr(n, statistic="mev"), entry[2])
    for B in (4, 5.5, 9, 16, 19):
        entries = [(k, l) for k in range(2, 20) for l in range(2, 20) if k * l <= B]
        changes = [entry[min(e)] for e in entries]
        tic = sensitivity.micr(n, B, statistic="tic")
        assert is_just_above(tic, sum(changes) / len(changes))
        assert is_just_above(sensitivity.micr(n, B, statistic="mas"), min(2 * max(changes), 1))
        assert sensitivity.micr(n, B) == sensitivity.micr(n)
        for lmax in (None, 2, 3, 100):
            assert is_just_above(sensitivity.mice(n, B, lmax=lmax), theorem_2(n, B, lmax))
    assert is_just_above(sensitivity.micr_paper(n), (4 * log2(n) + 6) / n)
    assert is_just_above(sensitivity.mice_paper(n, 63), 63 * (2 * log2(n) + Decimal("4.8")) / n)
    assert is_just_above(sensitivity.rounding(n, 63), 95 * log2(n) / 2**50)


def theorem_2(n, B, lmax):
    """Theorem 2 from the column sizes of the package's own equipartition."""
    best = Decimal(0)
    axis = MassAxis.ranked(np.zeros(min(n, 5000)), np.arange(min(n, 5000)))
    for l in range(2, min(lmax or 100, int(B) // 2) + 1):
        if n <= 5000:
            sizes = np.diff(axis.columns(l)).tolist()
        else:
            sizes = [n // l + (j < n % l) for j in range(l)]
        total, M = sum(map(g, sizes)), max(sizes)
        again = g(M - 1) if M > 1 else Decimal(0)
        for k in range(2, min(l, int(B) // l) + 1):
            moved = total + (max(Decimal(0), again - 2) if k == 2 else (k - 1) * again)
            best = max(best, moved / (n * log2(k)))
    return min(best, Decimal(1))


def test_the_columns_of_equal_mass_are_those_of_the_theorem():
    """floor(n / l) or ceil(n / l) records, n mod l times the latter; one record if l > n."""
    for n in range(2, 60):
        axis = MassAxis.ranked(np.zeros(n), np.arange(n))
        for l in range(2, 80):
            sizes = sorted(np.diff(axis.columns(l)).tolist())
            wished = sorted(n // l + (j < n % l) for j in range(l))
            assert sizes == [size for size in wished if size > 0]


def test_bounds_are_monotone_and_at_most_one():
    for B in (4, 9, 63, 400):
        by_lmax = [sensitivity.mice(500, B, lmax=l) for l in range(2, B // 2 + 2)]
        assert by_lmax == sorted(by_lmax)
        assert by_lmax[-1] == sensitivity.mice(500, B) <= 1
    by_n = [sensitivity.micr(n) for n in range(2, 2000)]
    assert by_n == sorted(by_n, reverse=True)
    assert by_n[0] == 1


@sweep(
    ("call", "words"),
    [
        (lambda: sensitivity.micr(1), "n = 1.*2 or more"),
        (lambda: sensitivity.micr(2.0), "n = 2.0: n must be an integer"),
        (lambda: sensitivity.micr(True), "n = True"),
        (lambda: sensitivity.mice("9", 9), "n = '9'"),
        (lambda: sensitivity.rounding(2**40 + 1, 9), "rounding proof"),
        (lambda: sensitivity.micr(9, 3), "2 x 2"),
        (lambda: sensitivity.mice(9, 3.99), "2 x 2"),
        (lambda: sensitivity.mice(9, None), "B = None"),
        (lambda: sensitivity.mice(9, math.nan), "real number"),
        (lambda: sensitivity.mice(9, 9, lmax=1), "lmax = 1"),
        (lambda: sensitivity.micr(9, statistic="tic"), "B = None.*tic depends"),
        (lambda: sensitivity.micr(9, statistic="mas"), "B = None.*mas depends"),
        (lambda: sensitivity.micr(9, 9, statistic="mcn"), "mcn.*no useful.*across its range"),
        (lambda: sensitivity.micr(9, 9, statistic="gmic"), "gmic.*no useful.*0.5 or more"),
        (lambda: sensitivity.micr(9, 9, statistic="median"), "no such statistic.*'tic' or 'mas'"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(dpmic.ParameterError, match=words):
        call()


def test_every_bound_has_its_page():
    functions = set(sensitivity.__all__) - {"PROOFS", "micr_paper", "mice_paper"}
    assert functions <= set(sensitivity.PROOFS)
    for page in sensitivity.PROOFS.values():
        assert (ROOT / page).is_file(), page
    for name in functions:
        assert sensitivity.PROOFS[name] in getattr(sensitivity, name).__doc__


# --- the statistics that are refused --------------------------------------------------------


@sweep("n", [10, 1000, 300_000])
@sweep("B", [8, 20])
def test_one_record_moves_mcn_through_its_range(n, B):
    """docs/proofs/other-statistics.md: t of n records where only B / 2 columns tell them apart."""

    def h2(p):
        return -p * math.log2(p) - (1 - p) * math.log2(1 - p)

    t = next(t for t in range(1, n) if h2(t / n) > 1.001e-4)
    mcn = []
    for moved in (t - 1, t):
        x, y = np.zeros(n), np.zeros(n)
        x[:moved], y[:moved] = 2 / B, 1
        mcn.append(dpmic.micr(x, y, bounds=UNIT, B=B, c=1).mcn())
    assert mcn == pytest.approx([2, math.log2(B)])


@pytest.mark.parametrize(("n", "B"), [(100, 16), (1000, 63)])
def test_one_record_moves_gmic_from_nothing(n, B):
    x = np.repeat([0.0, 0.49], n // 2)
    before = dpmic.micr(x, x, bounds=UNIT, B=B)
    x[-1] = 1
    after = dpmic.micr(x, x, bounds=UNIT, B=B)
    entries = np.count_nonzero(~np.isnan(after.matrix))
    harmonic = entries / (1 / sensitivity.micr(n) + entries - 1)
    assert before.gmic() == 0
    assert after.gmic() == pytest.approx(harmonic, rel=1e-9)
    assert after.gmic() > 0.5


# --- conditions of the theorems, and the finite part of Theorem 1 ----------------------------


@given(B=st.floats(4, 500), c=st.floats(1, 30), master=st.sampled_from(["reshef", "paper"]))
def test_steps_keep_the_conditions(B, c, master):
    """One master for each l, of at least as many parts as rows; k = 2 wherever k = 3; k <= l."""
    plan = steps(Limits(B, c, master))
    assert [step.columns for step in plan] == list(range(2, int(B) // 2 + 1))
    for step in plan:
        assert step.rows == min(step.columns, int(B // step.columns)) >= 2
        assert step.master >= step.rows


@numba.njit
def finite_part(n, f, g):
    """Return how many (r, c, a, r', y) satisfy (H), and the largest right side of (*) - g(n).

    Names as in docs/proofs/micr-sensitivity.md; p stands for r'. (H) is weakened by 1e-9, so
    that rounding loses no case.
    """
    lam = math.log2(3.0)
    bar = lam * g[n] - 1e-9
    count, largest = 0, -np.inf
    for r in range(1, n + 1):
        for c in range(1, n + 1):
            for a in range(max(1, r + c - n), min(r, c) + 1):
                if g[r] + g[c] - g[a] <= bar:
                    break  # g grows, so no larger a satisfies (H)
                for p in range(1, n - r + 2):
                    if g[r] + g[c] - g[a] - g[p] <= bar:
                        break
                    third = n - r - p + 1
                    # (b) row i' merged with the third row
                    w = f[n - r + 1] - f[p] - f[third]
                    moved = min(g[n], g[r] + g[c] - g[a] - g[n - r + 1])
                    right = w / lam + moved - (1 - 1 / lam) * two_by_two(a - 1, r - 1, c - 1, n, f)
                    largest = max(largest, right - g[n])
                    # (a) row i' merged with row i
                    w = f[r + p - 1] - f[p] - f[r - 1]
                    for y in range(max(0, c - a - third), min(p - 1, c - a) + 1):
                        count += 1
                        table = two_by_two(a - 1 + y, r - 1 + p, c - 1, n, f)
                        right = w / lam + g[c] - g[a + y] - (1 - 1 / lam) * table
                        largest = max(largest, right - g[n])
    return count, largest


@numba.njit
def two_by_two(x, row, column, n, f):
    """Return n I of the table with cell x, row sum and column sum."""
    cells = f[x] + f[row - x] + f[column - x] + f[n - row - column + x]
    return cells - f[row] - f[n - row] - f[column] - f[n - column] + f[n]


def check_finite_part(sizes):
    counts = {}
    for n in sizes:
        xlogx = xlogx_table(n)
        counts[n], largest = finite_part(n, xlogx, np.diff(xlogx, prepend=0.0))
        assert counts[n] == 0 if n <= 8 else largest < -0.6, n
    return counts


@pytest.mark.slow
def test_the_finite_part_of_theorem_1():
    counts = check_finite_part(range(2, 301))
    assert counts[9] == 1
    assert sum(counts.values()) > 2e6


@pytest.mark.full
def test_the_finite_part_overlaps_the_analytic_one():
    assert sum(check_finite_part(range(301, 1001)).values()) > 1.7e8


def test_the_constants_for_300_records_and_more():
    """Each numbered inequality of the page, at n = 300, where it is tightest."""
    lam, e, n = log2(3), Decimal(1).exp(), Decimal(300)
    power = (lam - 1) * n.ln()
    power = power.exp()  # n ** (lam - 1)
    assert (lam * (1 - 1 / (2 * (n - 1)))).exp() >= Decimal("4.866")
    assert Decimal("4.866") / e**2 >= Decimal("0.6585")
    assert Decimal("0.6585") * power >= Decimal("18.5")
    assert Decimal("0.6585") * (1 - 2 / Decimal("18.5")) >= Decimal("0.587")
    z = 1 / Decimal("16.5")
    assert 1 - z + z * z.ln() >= Decimal("0.769")
    slope = (lam - 1) * Decimal("0.769") * Decimal("0.587") / LN2
    assert slope >= Decimal("0.38")
    assert Decimal("0.38") * power > log2(e * n) > g(300)
    assert (lam - 1) * Decimal("0.38") * power > 1 / LN2  # and it grows faster


# --- rounding -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_table_of_x_log_x_is_within_what_the_proof_assumes():
    """m log2 m: 4 units in the last place of log2 m, and one rounded product."""
    n = 2**20
    table = xlogx_table(n)
    rng = np.random.default_rng(5)
    tried = {*range(3000), *(2**i for i in range(21)), *(2**i - 1 for i in range(1, 21))}
    tried |= set(rng.integers(3000, n, 3000).tolist())
    above = [*rng.integers(n, 2**40, 3000).tolist(), *(2**i - 1 for i in range(21, 41)), 2**40]
    computed = {m: table[m] for m in tried} | dict(zip(above, _kernels.f(above), strict=True))
    for m, value in computed.items():
        error = abs(Decimal(float(value)) - f(m))
        assert error <= f(m) * (Decimal(2) ** -50 + Decimal(2) ** -53), m
    for k in range(2, 2501):
        assert abs(Decimal(float(np.log2(k))) - log2(k)) <= log2(k) * Decimal(2) ** -50


@sweep("n", [4, 50, 1000, 100_000, 2**20, 2**33, 2**40])
@sweep(("columns", "rows"), [(2, 6), (3, 6), (5, 5), (40, 4)])
def test_computed_entries_are_within_rounding_of_exact_ones(n, columns, rows, rng):
    B = columns * min(columns, 3)
    for skew in (1.0, 0.05):
        table = rng.multinomial(n, rng.dirichlet(np.full(columns * rows, skew)))
        counts = table.reshape(columns, rows)
        k_max = min(columns, 3)
        if n > MOST_TABLED:
            bits = _kernels.reference.information(counts, k_max, None)
        else:
            bits = _kernels.information(counts.astype(np.int32), k_max, xlogx_table(n))
        for k in range(2, k_max + 1):
            exact = max(
                information(np.add.reduceat(counts, (0, *cuts), axis=1))
                for cuts in combinations(range(1, rows), k - 1)
            )
            computed = Decimal(float(bits[k] / np.log2(k)))
            allowed = Decimal(sensitivity.rounding(n, B))
            assert abs(computed - exact / log2(k)) <= allowed


def information(counts):
    cells, columns, rows = counts.ravel(), counts.sum(axis=1), counts.sum(axis=0)
    n = int(counts.sum())
    with localcontext() as context:
        context.prec = 40
        total = [sum((f(int(m)) for m in part), Decimal(0)) for part in (cells, columns, rows)]
        return (total[0] - total[1] - total[2] + f(n)) / n


def test_the_mean_has_few_enough_entries():
    """docs/proofs/rounding.md: at most 7 B entries for B up to 5000."""
    for B in range(4, 5001):
        assert sum(B // k - 1 for k in range(2, B // 2 + 1)) <= 7 * B


# --- random neighbours ----------------------------------------------------------------------

CORNERS = [-3.0, -2.0, 0.0, 2.0, 3.0]


@st.composite
def neighbours(draw, replaced=1):
    """Draw two columns, and the same with some records replaced."""
    if draw(st.booleans()):
        x, y = (np.array(v, float) for v in draw(strategies.pairs(max_n=40)))
    else:  # nearly everything in one place
        n = draw(st.integers(4, 40))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        x, y = (np.where(rng.random(n) < 0.2, rng.choice(CORNERS, n), -1.0) for _ in "xy")
    x_after, y_after = x.copy(), y.copy()
    value = st.one_of(
        st.sampled_from(CORNERS),
        st.floats(-2, 2),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(x.tolist()),
    )
    for _ in range(replaced):
        i = draw(st.integers(0, x.size - 1))
        x_after[i], y_after[i] = draw(value), draw(value)
    return (x, y), (x_after, y_after)


def limits_to_try():
    return st.tuples(
        st.sampled_from([4, 6, 9, 12, 20.5, 30]),
        st.sampled_from([1, 2, 15, math.inf]),
        st.sampled_from(["reshef", "paper"]),
    )


READ_OFF = {
    "mic": lambda score: score.mic,
    "mev": lambda score: score.mev,
    "tic": lambda score: score.tic(normalised=True),
    "mas": lambda score: score.mas,
}


@given(pair=neighbours(), limits=limits_to_try())
def test_random_neighbours_of_micr(pair, limits):
    B, c, master = limits
    before, after = (dpmic.micr(x, y, bounds=BOX, B=B, c=c, master=master) for x, y in pair)
    for name, read in READ_OFF.items():
        allowed = sensitivity.micr(before.n, B, statistic=name)
        allowed += 2 * sensitivity.rounding(before.n, B)
        assert abs(read(before) - read(after)) <= allowed, name


@given(pair=neighbours(replaced=3))
def test_three_rows_of_one_person(pair):
    before, after = (dpmic.micr(x, y, bounds=BOX, B=9) for x, y in pair)
    allowed = sensitivity.micr(before.n) + 2 * sensitivity.rounding(before.n, 9)
    assert abs(before.mic - after.mic) <= 3 * allowed


@given(pair=neighbours(), limits=limits_to_try(), seed=st.integers(0, 99), lmax=st.integers(2, 15))
def test_random_neighbours_of_mice(pair, limits, seed, lmax):
    """Both have the same priorities, by record, on each axis."""
    n, plan = pair[0][0].size, steps(Limits(*limits, lmax))
    rng = np.random.default_rng(seed)
    priorities = rng.permutation(n), rng.permutation(n)
    values = []
    for columns in pair:
        x, y = (MassAxis.ranked(*axis) for axis in zip(columns, priorities, strict=True))
        values.append(np.nanmax(Search.of(x, y, plan).matrix()))
    allowed = sensitivity.mice(n, limits[0], lmax=lmax) + 2 * sensitivity.rounding(n, limits[0])
    assert abs(values[0] - values[1]) <= allowed


def test_grouped_ties_have_no_such_bound():
    """Why ties must be broken: one record moves the cut past a heavy value, and all its records."""
    x = np.repeat([0.0, 1.0, 2.0], [100, 200, 100])
    y = np.minimum(x, 1)
    before = dpmic.mice(x, y, B=4, c=1).mic
    x[0] = 2
    after = dpmic.mice(x, y, B=4, c=1).mic
    assert before - after > 5 * sensitivity.mice(400, 4)


def test_what_digits_lose_is_added():
    """Fifty digits leave less than this; a sum in the default context would be exactly 1."""
    assert sensitivity._SLACK > 1
