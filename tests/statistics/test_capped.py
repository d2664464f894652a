"""Capped information: the kernel against brute force and exact integers, and what it promises."""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import naive
import numpy as np
import pyarrow as pa
import pytest
from sweeps import sweep

import dpmic
from dpmic import _kernels, _validate, sensitivity
from dpmic.statistics import capped, maps
from dpmic.statistics.capped import CappedColumn, columns_of, critics_of, search, tabulated, unit_of
from dpmic.statistics.maps import Map, Refinement, public_maps

SQUARE = ((0.0, 1.0), (0.0, 1.0))


def score(x, y, cap=5.0, axes="any", bounds=SQUARE):
    each = zip((x, y), bounds, strict=True)
    binned = [CappedColumn.of(np.asarray(v, float), ends, axes) for v, ends in each]
    return search(tabulated(*binned), cap, len(x)).information


def tables(rng, cases):
    """Yield small tables of counts [part, cell], some sparse, some with a strong relation."""
    for _ in range(cases):
        shape = int(rng.integers(2, 7)), int(rng.integers(2, 6))
        counts = rng.integers(0, rng.choice([2, 5, 40]), shape)
        counts[rng.random(shape) < rng.choice([0.0, 0.5, 0.8])] = 0
        counts[0, 0] += 2
        yield counts.astype(np.int32)


def kernel(counts, cap, rows, limits=None):
    """Run a kernel on one partition, that into all parts; return the best and where it is."""
    n = int(counts.sum())
    unit = unit_of(n)
    critics, table = critics_of(cap, unit), capped._xlogx(n, unit)
    sums = _kernels.cumulate(counts)
    edges, offsets = np.arange(len(counts) + 1), np.array([0, len(counts) + 1])
    if rows == 2:
        own = critics.two, critics.cap, critics.hard
        limits = np.full(counts.shape[1] - 1, np.inf) if limits is None else limits
        return _kernels.two_rows(sums, edges, offsets, limits, table, unit, *own)
    pairs = np.array(list(itertools.combinations(range(counts.shape[1] - 1), 2))).T
    own = critics.three, critics.cap_of_three, critics.hard_of_three
    return _kernels.three_rows(sums, edges, offsets, pairs, table, unit, *own)


@sweep("cap", _validate.CAPS)
def test_two_rows_equal_brute_force(cap, rng):
    for counts in tables(rng, 12):
        (best,), (where,) = kernel(counts, cap, rows=2)
        below = counts.cumsum(axis=1)[:, :-1]
        found = [
            naive.capped_two(a.tolist(), (counts.sum(axis=1) - a).tolist(), cap) for a in below.T
        ]
        assert best == pytest.approx(max(found), abs=1e-5)
        assert found[where] == pytest.approx(max(found), abs=1e-5)
        limits = rng.random(len(found)) * max(found)
        (best,), (where,) = kernel(counts, cap, 2, limits)
        limited = np.minimum(found, limits)
        assert best == pytest.approx(limited.max(), abs=1e-5)
        assert limited[where] == pytest.approx(limited.max(), abs=1e-5)


@sweep("cap", _validate.CAPS)
def test_three_rows_equal_brute_force(cap, rng):
    for counts in tables(rng, 3):
        cells = counts.shape[1]
        if cells < 3:
            continue
        (best,), (where,) = kernel(counts, cap, rows=3)
        pairs = list(itertools.combinations(range(1, cells), 2))
        found = [
            naive.capped_three(
                [part.sum(axis=1).tolist() for part in np.split(counts, pair, 1)], cap
            )
            for pair in pairs
        ]
        assert best == pytest.approx(max(found), abs=1e-5)
        assert found[where] == pytest.approx(max(found), abs=1e-5)


def exact_two(a, b, critics, xlogx):
    """The least over all critics, in fractions of the very numbers that the kernel takes."""
    f = [Fraction(value) for value in xlogx]
    columns = list(zip(a, b, strict=True))
    cap, hard = Fraction(critics.cap), Fraction(critics.hard)
    ends = [
        sum(max(cap * own - hard * (p + q), 0) for own, p, q in each)
        for each in ([(p, p, q) for p, q in columns], [(q, p, q) for p, q in columns])
    ]
    least = min(ends)
    for m1, m0, A1, A0 in (map(Fraction, row) for row in critics.two):
        cost = sum(min(f[p + q] - f[p] - f[q], A1 * p, A0 * q) for p, q in columns)
        least = min(least, sum(a) * m1 + sum(b) * m0 - cost)
    return least


@sweep("cap", (3.5, 5.0, 6.0, 6.5, 8.0))
def test_the_search_over_critics_is_exact_to_the_last_bit(cap, rng):
    for counts in tables(rng, 5):
        n = int(counts.sum())
        critics, table = critics_of(cap, unit_of(n)), capped._xlogx(n, unit_of(n))
        (best,), (where,) = kernel(counts, cap, rows=2)
        a = counts[:, : where + 1].sum(axis=1).tolist()
        b = counts[:, where + 1 :].sum(axis=1).tolist()
        assert Fraction(best) == exact_two(a, b, critics, table)


def every_zoom(values, ends):
    """Every zoom of every level: a function from g in [0, 1] to a cut, and the records inside."""
    low, high = ends
    clamped = [min(max(v, low), high) for v in values]
    for level in maps.LEVELS:
        edges = [low + (high - low) * i / 2 ** (level + 1) for i in range(2 ** (level + 1) + 1)]
        for a, b in zip(edges, edges[2:], strict=False):
            inside = sum(a <= v < b or v == b == high for v in clamped)
            yield (lambda g, a=a, b=b: a + g * (b - a)), inside


def brute(x, y, bounds, cap, axes):
    """The whole score by brute force: every grid of the family, by its definition."""
    n, best = len(x), 0.0
    global_maps = [naive.axis_maps(*ends)[: 1 if axes == "linear" else None] for ends in bounds]
    sizes = [capped.PLAIN] + [capped.MAPPED] * 12
    each = zip((x, y), bounds, strict=True)
    every = [list(every_zoom(*own)) if axes == "wide" else [] for own in each]
    for (along, along_maps, along_zooms), (up, up_maps, up_zooms) in itertools.permutations(
        list(zip((x, y), global_maps, every, strict=True))
    ):
        parts = [(capped.THRESHOLDS, up_maps[0]), (capped.THRESHOLDS_OF_THREE, up_maps[0])]
        parts += [(capped.THRESHOLDS_OF_MAPS, own) for own in up_maps[1:]]
        cuts = [(own(i / size), math.inf) for size, own in parts for i in range(1, size)]
        cuts += [(own(i / 8), inside) for own, inside in up_zooms for i in (1, 3, 5, 7)]
        # Thresholds between the same records count the same, up to the larger of their limits.
        kept = {}
        for cut, inside in sorted(cuts, key=lambda each: each[1]):
            kept[sum(v < cut for v in up)] = cut, inside
        shown = [(own, math.inf, sizes[i]) for i, own in enumerate(along_maps)]
        shown += [(own, inside, capped.ZOOMED) for own, inside in along_zooms]
        for own, held, tried in shown:
            for l in (l for l in tried if l <= max(math.ceil(2 * math.sqrt(n)), tried[0])):
                edges = [own(j / l) for j in range(1, l)]
                for cut, inside in kept.values():
                    b, a = naive.cell_counts(up, [cut], along, edges)
                    limit = cap * (min(held, inside) - math.ceil(n / 3))
                    found = min(naive.capped_two(a, b, cap), limit)
                    best = max(best, found - capped.PENALTY * (l - 1))
        for l in (l for l in capped.THREE if l <= max(math.ceil(math.sqrt(n)), capped.THREE[0])):
            edges = [along_maps[0](j / l) for j in range(1, l)]
            rows = [up_maps[0](i / 24) for i in range(1, 24)]
            kept3 = {
                tuple(sum(v < cut for v in up) for cut in pair): pair
                for pair in itertools.combinations(rows, 2)
            }
            for pair in kept3.values():
                counts = naive.cell_counts(up, pair, along, edges)
                found = naive.capped_three(counts, cap) - 2 * capped.PENALTY * (l - 1)
                best = max(best, found / math.log2(3))
    return min(best / n, 1.0)


@pytest.mark.slow
@sweep("axes", ["linear", "any"])
def test_the_score_equals_brute_force(axes, rng):
    for n, bounds in ((6, SQUARE), (9, ((-2.0, 1.0), (0.25, 8.0)))):
        x = rng.choice([0.1, 0.2, 0.5, 0.9], n) if n == 6 else rng.normal(0, 0.5, n)
        y = np.abs(x) + rng.choice([0.0, 0.25], n)
        found = dpmic.micc(x, y, bounds=bounds, cap=4, axes=axes).mic if n >= 4 else 0
        assert found == pytest.approx(brute(x.tolist(), y.tolist(), bounds, 4.0, axes), abs=1e-5)


@pytest.mark.slow
@sweep("seed", range(2))
def test_with_zooms_the_score_equals_brute_force(seed, monkeypatch):
    """All zooms of both axes, not the fullest alone; where limits decide, and where they do not."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(maps, "LEVELS", (2, 6))
    monkeypatch.setattr(capped, "ZOOMED", (2, 5))
    monkeypatch.setattr(capped, "PENALTY", 0.01)
    box, gains = ((0.0, 64.0), (-64.0, 64.0)), []
    for n, away, side in ((12, 1, 0.0), (20, 12, 0.0), (20, 12, 50.0)):
        classes = np.arange(n) % 2  # no cut of a map lies between them
        x = 37.02 + 0.2 * classes + 0.19 * rng.random(n)
        x[:away] = 10 + side * classes[:away] + 0.4 * rng.random(away)
        y = 21.05 + 0.4 * classes + 0.1 * rng.random(n)
        found = score(x, y, 4.0, "wide", box)
        wanted = brute(x.tolist(), y.tolist(), box, 4.0, "wide")
        assert found / n == pytest.approx(wanted, abs=1e-5)
        assert score(y, x, 4.0, "wide", box[::-1]) == found
        gains.append(found - score(x, y, 4.0, "any", box))
    assert min(gains[:2]) > 1


def test_scores_lie_in_their_order(rng):
    for n in (4, 5, 17, 200):
        x = rng.standard_cauchy(n)
        for y in (x**2, rng.random(n), np.zeros(n), np.sign(x)):
            box = ((-100.0, 100.0), (0.0, 1000.0))
            linear, many, wide = (score(x, y, 5.0, axes, box) for axes in ("linear", "any", "wide"))
            assert 0 <= linear <= many <= wide
            assert score(y, x, 5.0, "any", box[::-1]) == many


def test_constants_score_nothing_and_diagonals_all(rng):
    x = rng.random(400)
    assert dpmic.micc(x, np.full(400, 0.3), bounds=SQUARE).mic == 0
    assert dpmic.micc(x, x, bounds=SQUARE).mic > 0.95
    steps = np.repeat([0.2, 0.8], 200)
    assert dpmic.micc(steps, steps, bounds=SQUARE, cap=4, axes="linear").mic > 0.99


def test_the_grid_is_the_one_that_scores(rng):
    x = rng.random(300)
    y = np.abs(x - 0.5) + rng.normal(0, 0.02, 300)
    found = dpmic.micc(x, y, bounds=SQUARE, cap=5)
    counts = found.grid.counts(x, y)
    rows = counts if counts.shape[0] == 2 else counts.T
    l = rows.shape[1]
    again = naive.capped_two(*rows.tolist(), 5) - capped.PENALTY * (l - 1)
    assert found.mic == pytest.approx(again / 300, abs=1e-6)
    assert dpmic.CappedScore.from_json(found.to_json()) == found


def neighbours(rng, n, axes):
    """Yield samples and the same with one record replaced, near what moves a score most."""
    for _ in range(12):
        x = rng.choice([rng.random(n), rng.integers(0, 4, n) / 4, np.full(n, 0.1)])
        y = x + rng.choice([0.0, 0.3]) * rng.normal(size=n)
        moved = x.copy(), y.copy()
        moved[0][0], moved[1][0] = rng.random(2)
        yield (x, y), moved


@pytest.mark.slow
@sweep("axes", ["linear", "any", "wide"])
@sweep("cap", (3.5, 5.0, 8.0))
def test_one_record_moves_the_score_by_no_more_than_the_cap(axes, cap, rng):
    for n in (5, 40):
        most = n * sensitivity.micc(n, cap)
        for first, second in neighbours(rng, n, axes):
            assert abs(score(*first, cap, axes) - score(*second, cap, axes)) <= most


@pytest.mark.slow
@sweep("cap", (3.5, 5.0, 8.0))
def test_one_record_moves_zooms_by_no_more_than_the_cap(cap, rng, monkeypatch):
    """Records of a narrow relation move out of a zoom one by one, until it does not count."""
    monkeypatch.setattr(maps, "LEVELS", range(1, 10))
    n, box, changes = 40, ((0.0, 1000.0), (0.0, 1000.0)), []
    x = 371 + rng.random(n)
    y = 371 + (x > 371.5) * 0.8 + rng.random(n) * 0.1
    before = score(x, y, cap, "wide", box)
    for i in range(n):
        side = [x, y][i % 2]
        side[i] = rng.choice([0.0, 371.5, 1000.0, rng.uniform(0, 1000)])
        after = score(x, y, cap, "wide", box)
        changes.append(abs(after - before))
        before = after
    assert max(changes) <= n * sensitivity.micc(n, cap)
    assert max(changes) > 0.5 * cap


def test_one_record_can_move_the_score_by_the_cap():
    x = np.repeat([0.1, 0.9], 13)
    y = x.copy()
    moved = y.copy()
    moved[0] = 0.9
    change = score(x, y, 5.0, "linear") - score(x, moved, 5.0, "linear")
    assert change == pytest.approx(5.0, abs=1e-5)


def test_above_the_table_f_is_computed_to_the_same_bits(monkeypatch, rng):
    x = rng.random(500)
    y = x**2 + rng.normal(0, 0.1, 500)
    looked_up = score(x, y)
    monkeypatch.setattr(capped, "MOST_TABLED", 10)
    capped._xlogx.cache_clear()
    assert score(x, y) == looked_up
    capped._xlogx.cache_clear()


def test_f_without_a_table_errs_as_the_proof_allows(rng):
    """At most 3 units, by the compiler's log2; exactly m log2 m in 60 digits."""
    with localcontext(Context(prec=60)):
        for n in (2**21, 2**25, 2**31 - 1):
            unit, none = unit_of(n), np.empty(0)
            for m in (0, 1, 2, 3, n - 1, n, *rng.integers(4, n, 300).tolist()):
                exact = m * Decimal(m).ln() / Decimal(2).ln() if m else Decimal(0)
                found = Decimal(float(_kernels.reference.critics.xlogx(np.int32(m), none, unit)))
                assert found % Decimal(unit) == 0
                assert abs(found - exact) <= 3 * Decimal(unit)


def test_more_records_than_are_exact_are_refused(rng):
    table = dpmic.CountTable({"x": (0, 1), "y": (0, 1)}, statistic="micc", axes="linear")
    table.update(pa.table({"x": rng.random(1000), "y": rng.random(1000)}))
    for _ in range(21):
        table += table
    assert 0 <= dpmic.micc("x", "y", data=table).mic <= 1
    with pytest.raises(dpmic.InputError, match="can count at most 2147483647"):
        table += table


def test_numbers_are_multiples_of_the_unit():
    for n in (2, 1000, 2**20, 6_000_000, 2**31 - 1):
        unit = unit_of(n)
        for cap in _validate.CAPS:
            critics = critics_of(cap, unit)
            for numbers in (critics.two, critics.three, critics.hard, critics.hard_of_three):
                assert np.all(np.asarray(numbers) / unit == np.round(np.asarray(numbers) / unit))
            assert critics.cap_of_three <= cap * math.log2(3)
            m1, m0, A1, A0 = critics.two.T
            # The range of every critic is the cap, to the last bit.
            assert np.all(np.maximum(m1, m0) - np.minimum(m1 - A1, m0 - A0) == cap)
            assert np.all(np.diff(m1, 2) >= 0)
            assert np.all(np.diff(m0, 2) >= 0)


def test_counts_are_enough(rng, tmp_path):
    frame = pa.table({"x": rng.normal(size=700), "y": rng.normal(size=700), "z": np.zeros(700)})
    frame = frame.set_column(2, "z", pa.array(np.asarray(frame["x"]) ** 2))
    box = {"x": (-4.0, 4.0), "y": (-9.0, 9.0), "z": (0.0, 100.0)}
    for axes in ("any", "linear"):
        table = dpmic.CountTable(box, statistic="micc", axes=axes)
        for start in range(0, 700, 300):
            table.update(frame.slice(start, 300))
        stored = dpmic.CountTable.from_bytes(table.to_bytes())
        for a, b in itertools.permutations(box, 2):
            held = dpmic.micc(a, b, data=frame, bounds=(box[a], box[b]), axes=axes)
            assert dpmic.micc(a, b, data=frame, bounds=box, axes=axes) == held
            assert dpmic.micc(a, b, data=stored, axes=axes) == held
            assert dpmic.micc(a, b, data=stored) == held


def test_a_table_of_micc_has_no_cells_of_micr(rng):
    box = {"x": (0, 1), "y": (0, 1)}
    table = dpmic.CountTable(box, statistic="micc")
    table.update(pa.table({"x": rng.random(50), "y": rng.random(50)}))
    with pytest.raises(dpmic.InputError, match="grids of micc"):
        dpmic.micr("x", "y", data=table)
    with pytest.raises(dpmic.ParameterError, match="none"):
        dpmic.CountTable(box, statistic="micc", B=20)
    with pytest.raises(dpmic.ParameterError, match="wide"):
        dpmic.CountTable(box, statistic="micc", axes="wide")
    with pytest.raises(dpmic.InputError, match="other grids"):
        dpmic.micc("x", "y", data=table, axes="linear")
    with pytest.raises(dpmic.ParameterError, match="linear axes"):
        dpmic.CountTable(box, B=20, axes="any")


def test_options_are_checked(rng):
    x = rng.random(20)
    for cap in (3, 8.5, 4.25, math.nan, "5", True):
        with pytest.raises(dpmic.ParameterError, match="cap"):
            dpmic.micc(x, x, bounds=SQUARE, cap=cap)
    with pytest.raises(dpmic.ParameterError, match="axes"):
        dpmic.micc(x, x, bounds=SQUARE, axes="log")
    with pytest.raises(dpmic.ParameterError, match="bounds"):
        dpmic.micc(x, x)


@sweep(
    "interval",
    [(0.0, 1.0), (-3.0, 50.0), (2.0, 9.0), (-8.0, -1e-3), (-1e300, 1e300), (0.0, 1e-300)],
)
def test_maps_are_those_of_the_definition(interval):
    fractions = np.arange(1, 64) / 64
    for own, definition in zip(public_maps(interval), naive.axis_maps(*interval), strict=True):
        cuts = own.cuts(fractions)
        assert np.all(np.diff(cuts) >= 0)
        assert interval[0] <= cuts[0] <= cuts[-1] <= interval[1]
        wanted = [definition(g) for g in fractions]
        assert cuts == pytest.approx(wanted, rel=1e-9, abs=1e-9 * (interval[1] - interval[0]))


def test_a_refinement_keeps_every_partition(rng):
    partitions = [np.sort(rng.integers(0, 9, 4).astype(float)), np.array([2.0, 2.0, 5.5])]
    refined = Refinement.of(partitions)
    values = np.concatenate((rng.uniform(-1, 10, 200), np.arange(10.0)))
    atoms = refined.atoms(values)
    for cuts, parts in zip(partitions, refined.parts, strict=True):
        assert np.array_equal(parts[atoms], np.searchsorted(cuts, values, side="right"))


def test_the_fullest_zooms_are_enough(monkeypatch, rng):
    """No other zoom counts, for none holds more than a third of the records."""
    x = np.concatenate((37 + rng.random(30), 99 + rng.random(30)))
    y = np.sin(9 * x) + np.where(rng.random(60) < 0.5, 20, 110)
    box = ((0.0, 128.0), (0.0, 128.0))
    monkeypatch.setattr(maps, "LEVELS", (2, 5))
    found = score(x, y, 5.0, "wide", box)
    monkeypatch.setattr(maps, "FULLEST", 10**6)
    assert score(x, y, 5.0, "wide", box) == found


def test_as_many_zooms_are_searched_as_can_be_full(monkeypatch):
    monkeypatch.setattr(maps, "LEVELS", (1, 4, 6))
    x = np.repeat([0.3, 0.7], 10)
    searched = [zoom.inside for zoom in maps.fullest_zooms(x, (0.0, 1.0))]
    assert len(searched) == 3 + 4 + 4
    full = [inside for _, inside in every_zoom(x, (0.0, 1.0)) if 3 * inside > 20]
    assert sorted(inside for inside in searched if 3 * inside > 20) == sorted(full)
    assert len(full) == 3 + 4 + 4


def test_work_does_not_depend_on_where_records_lie(rng):
    shapes = set()
    for x in (
        rng.random(50),
        np.zeros(50),
        3 + rng.random(50) / 1000,
        rng.integers(0, 9, 50) + 0.0,
    ):
        own = CappedColumn.of(x, (0.0, 9.0), "wide")
        shapes.add(tuple((table.sizes, table.counts.shape) for table in tabulated(own, own)))
    assert len(shapes) == 1


def test_columns_are_equal_parts():
    columns = columns_of(capped.PLAIN)
    for k, size in enumerate(columns.sizes):
        edges = columns.edges[columns.offsets[k] : columns.offsets[k + 1]]
        assert np.array_equal(columns.fractions[edges[1:-1] - 1], np.arange(1, size) / size)
    assert Map(2.0, 4.0).cuts(np.array([0.5])) == 3.0
