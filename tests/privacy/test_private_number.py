"""A private number of records: gaps, several rows a person, groups, categories."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sweeps import sweep

import dpmic
from dpmic import sensitivity
from dpmic._validate import Categories
from dpmic.privacy import CappedLaplace, MICrLaplace
from dpmic.privacy._gaps import Gaps, Size
from dpmic.privacy.query import Terms
from dpmic.privacy.release import prepare

SQUARE = ((0.0, 1.0), (0.0, 1.0))
ABC = Categories(("a", "b", "c"))
NOISY = {"allow_noisy": True}


def h2(n):
    return math.log2(n) / n + (n - 1) / n * math.log2(n / (n - 1))


def information(table):
    def f(m):
        return sum(v * math.log2(v) for v in np.ravel(m) if v)

    n = table.sum()
    return (f(table) - f(table.sum(0)) - f(table.sum(1)) + f(n)) / n if n else 0.0


def tables(shape, most):
    """Yield all tables of counts of at most so many records."""
    cells = math.prod(shape)
    for counts in itertools.product(range(most + 1), repeat=cells):
        if 2 <= sum(counts) <= most:
            yield np.array(counts).reshape(shape)


@pytest.mark.slow
@sweep(("shape", "most"), [((2, 2), 14), ((2, 3), 7), ((3, 3), 4)])
def test_one_record_more_or_less_on_all_small_tables(shape, most):
    """Theorem 6: never more than h2(1 / N), and attained."""
    largest = {}
    for table in tables(shape, most):
        n, before = int(table.sum()), information(table)
        for cell in zip(*np.nonzero(table), strict=True):
            less = table.copy()
            less[cell] -= 1
            change = abs(before - information(less)) / math.log2(min(shape))
            assert change <= h2(n) + 1e-12
            largest[n] = max(largest.get(n, 0), change)
    if min(shape) == 2:
        assert all(largest[n] == pytest.approx(h2(n), abs=1e-12) for n in largest)


def score_of(mechanism, points, size):
    """Return what noise would be added to."""
    columns = np.array(points, float).T
    setting = mechanism.setting(size)
    return mechanism.scores(columns, mechanism.bounds, [(0, 1)], setting.limits, size)[0]


def changes(mechanism, points, size, lattices):
    """Yield by how much the score changes for every replacement of one record."""
    before = score_of(mechanism, points, size)
    for record in {tuple(point) for point in points}:
        for other in itertools.product(*lattices):
            after = list(points)
            after[after.index(record)] = other
            yield abs(score_of(mechanism, after, size) - before)


NAN = None  # a value that is missing; NaN is not equal to itself


def exhaustive(mechanism, lattices, n, least):
    """Return the largest change over all data sets of n records, and what was promised."""
    size = Size(n, least, n, gaps=True)
    known = {}

    def score(points):
        key = tuple(sorted(points, key=str))
        if key not in known:
            values = [[math.nan if v is NAN else v for v in point] for point in key]
            known[key] = score_of(mechanism, values, size)
        return known[key]

    cells = list(itertools.product(*lattices))
    largest = 0.0
    for points in itertools.combinations_with_replacement(cells, n):
        for place, other in itertools.product(range(n), cells):
            after = [*points[:place], other, *points[place + 1 :]]
            largest = max(largest, abs(score(points) - score(after)))
    return largest, mechanism.setting(size).one_row


@pytest.mark.slow
@sweep(
    ("kind", "options", "domains", "lattices", "n", "least"),
    [
        *((CappedLaplace, {"cap": 3.5}, SQUARE, ((0, 1, NAN), (0, 1)), 5, m) for m in (4, 5)),
        (CappedLaplace, {"cap": 4}, (ABC, SQUARE[0]), ((0, 1, 2), (0, 1, NAN)), 4, 4),
        (CappedLaplace, {"cap": 3.5}, (ABC, ABC), ((0, 1, NAN), (0, 1, 2)), 5, 4),
        *((MICrLaplace, {"B": 6, "c": 1}, SQUARE, ((0, 1, NAN), (0, 1)), 5, m) for m in (4, 5)),
        (MICrLaplace, {"B": 9, "c": 1}, (ABC, ABC), ((0, 1, 2), (0, 1, NAN)), 4, 4),
        (MICrLaplace, {"B": 9, "c": 1}, (ABC, SQUARE[0]), ((0, 1, 2), (0, 0.5, 1)), 4, 4),
    ],
)
def test_one_record_on_all_small_data_sets(kind, options, domains, lattices, n, least):
    """Theorems 7 and 8 and the capped score, by the code that publishes."""
    mechanism = kind(1.0, domains, axes="linear", **options, **NOISY)
    largest, bound = exhaustive(mechanism, lattices, n, least)
    assert largest <= bound
    if kind is MICrLaplace and NAN in lattices[0]:
        assert largest == pytest.approx(h2(least), abs=1e-9)


@pytest.mark.slow
@sweep("kind", [CappedLaplace, MICrLaplace])
@sweep("domains", [SQUARE, (ABC, SQUARE[0]), (ABC, ABC)], ids=str)
def test_climbing_finds_no_larger_change(kind, domains, rng):
    options = {"cap": 3.5} if kind is CappedLaplace else {"B": 12, "c": 2}
    mechanism = kind(1.0, domains, axes="linear", **options, **NOISY)
    for _ in range(4):
        n = int(rng.integers(6, 14))
        size = Size(n, int(rng.integers(4, n + 1)), n, gaps=True)
        bound, widest = mechanism.setting(size).one_row, 0.0

        def drawn():
            values = [
                rng.integers(0, 3) if isinstance(own, Categories) else rng.integers(0, 5) / 4
                for own in domains
            ]
            return [math.nan if rng.random() < 0.15 else float(v) for v in values]

        first = [drawn() for _ in range(n)]
        second = [drawn(), *first[1:]]
        for _ in range(80):
            a, b = [list(p) for p in first], [list(p) for p in second]
            record = int(rng.integers(n))
            a[record] = drawn()
            b[record] = list(a[record]) if record else drawn()
            gap = abs(score_of(mechanism, a, size) - score_of(mechanism, b, size))
            assert gap <= bound
            if gap >= widest:
                first, second, widest = a, b, gap


@pytest.mark.slow
def test_a_person_of_several_rows(rng):
    """A replaced person is a chain of rows_per_person steps."""
    mechanism = CappedLaplace(1.0, SQUARE, cap=3.5, rows_per_person=3, axes="linear", **NOISY)
    for _ in range(150):
        people = int(rng.integers(5, 12))
        size = Size(people, people, 3 * people)
        setting = mechanism.setting(size)
        assert setting.sensitivity == pytest.approx(min(3 * 3.5 / people, 1), rel=1e-6)
        rest = rng.integers(0, 2, (int(rng.integers(people - 1, 3 * people - 2)), 2))
        scores = []
        for _ in range(2):
            own = rng.integers(0, 2, (int(rng.integers(1, 4)), 2))
            columns = np.concatenate((own, rest)).astype(float).T
            scores += mechanism.scores(columns, SQUARE, [(0, 1)], setting.limits, size)
        assert abs(scores[0] - scores[1]) <= setting.sensitivity


def test_a_promise_that_is_too_high_lowers_the_score(rng):
    """And the noise follows from what was promised, not from how many records are complete."""
    x = rng.random(2000)
    y = np.where(rng.random(2000) < 0.5, math.nan, x)
    sizes = [Size(2000, least, 2000, gaps=True) for least in (800, 1000, 1600, 2000)]
    for mechanism in (CappedLaplace(1.0, SQUARE, cap=6), MICrLaplace(1.0, SQUARE, B=20, c=2)):
        found = [score_of(mechanism, np.stack((x, y), 1), size) for size in sizes]
        assert found[0] == pytest.approx(found[1], abs=0.05)
        assert found[0] > 0.95
        assert found[2] == pytest.approx(0.62, abs=0.05)
        assert found[3] == pytest.approx(0.5, abs=0.05)
        scales = [mechanism.setting(size).noise.scale for size in sizes]
        assert scales == sorted(scales, reverse=True)


def hospital(n, rng):
    """Return a table with gaps, text, dates and several rows a person."""
    age = rng.uniform(0, 100, n)
    ward = np.where(age > 70, "geriatrics", np.where(rng.random(n) < 0.5, "surgery", "medicine"))
    stay = np.clip(age / 10 + rng.normal(0, 0.5, n), 0, 30)
    sex = rng.choice(["f", "m"], n)
    table = pd.DataFrame({"age": age, "ward": ward, "stay": stay, "sex": sex})
    table["patient"] = rng.integers(0, n // 2, n)
    table.loc[rng.random(n) < 0.1, ["age", "stay"]] = np.nan
    table.loc[rng.random(n) < 0.05, "ward"] = None
    return table


WARDS = ["geriatrics", "surgery", "medicine"]
BOUNDS = {"age": (0, 120), "stay": (0, 60)}
DROPPED = {"missing": "drop", "complete": 0.8, "bounds": BOUNDS}


def test_released_values_are_those_of_complete_records(rng):
    """Values with their interval hold what micc gives without noise for the complete records."""
    table = hospital(4000, rng)
    given = {"data": table, "epsilon": 2.0, **DROPPED}
    for x, y, categories in (("age", "stay", None), ("age", "ward", {"ward": WARDS})):
        bounds = {name: ends for name, ends in BOUNDS.items() if name in (x, y)}
        released = dpmic.release(x, y, **{**given, "bounds": bounds}, categories=categories)
        box = (BOUNDS[x], BOUNDS[y] if categories is None else WARDS)
        cap = released.parameters["cap"]
        exact = dpmic.micc(x, y, data=table, bounds=box, cap=cap, missing="drop").mic
        low, high = released.interval(1 - 1e-9)
        assert low - 0.01 <= exact <= high + 0.01, (x, y)  # fewer columns: of 3200, not 3600
        assert released.n == 4000
        assert released.parameters["promised"] == 3200


@sweep("mechanism", ["auto", "micr-laplace"])
def test_nominal_columns_of_a_screening(mechanism, rng):
    table = hospital(3000, rng)
    found = dpmic.screen(
        table,
        epsilon=4.0,
        top=1,
        target="ward",
        mechanism=mechanism,
        axes="linear",
        categories={"ward": WARDS, "sex": ["f", "m"]},
        **DROPPED,
    )
    ((x, y),) = found.pairs
    assert {x, y} in ({"ward", "age"}, {"ward", "stay"})
    assert found.parameters["categories"] == {"ward": WARDS, "sex": ["f", "m"]}
    assert "missing = drop" in found.guarantee
    assert "how many is not published" in found.guarantee


def test_the_number_of_people_is_public_and_that_of_rows_is_not(rng):
    table = hospital(4000, rng).dropna()
    people = table["patient"].nunique()
    given = {"data": table, "epsilon": 3.0, "bounds": BOUNDS, "person": "patient"}
    several = dpmic.release("age", "stay", rows_per_person=4, **given)
    assert several.n == several.parameters["promised"] == people
    assert several.sensitivity == pytest.approx(4 * several.parameters["cap"] / people, rel=1e-6)
    one = dpmic.release("age", "stay", **given)
    assert one.n == people
    assert "promised" not in one.parameters
    # As many people with other numbers of rows: everything that is public is the same.
    other = table.drop_duplicates("patient")
    again = dpmic.release("age", "stay", rows_per_person=4, **{**given, "data": other})
    assert (again.n, again.parameters, again.scale) == (
        several.n,
        several.parameters,
        several.scale,
    )


class TestGaps:
    def test_values_outside_the_categories_are_missing(self):
        frame = pd.DataFrame({"x": np.linspace(0, 1, 600), "ward": ["a", "b", "z"] * 200})
        given = {"data": frame, "bounds": {"x": (0, 1)}, "epsilon": 5.0}
        with pytest.raises(dpmic.InputError, match="column ward.*missing='drop'") as caught:
            dpmic.release("x", "ward", categories={"ward": ["a", "b"]}, **given)
        assert "'z'" not in str(caught.value)
        for labels, missing in ((["a", "b", "other"], "refuse"), (["a", "b"], "drop")):
            listed = {"categories": {"ward": labels}, "missing": missing}
            complete = {"complete": 0.6} if missing == "drop" else {}
            assert dpmic.release("x", "ward", **listed, **complete, **given).value < 0.2

    @sweep("missing", ["scatter", {"x": 0.5, "y": 0.5}], ids=str)
    @sweep("mechanism", ["auto", "micr-laplace", "micr-geometric", "mice-laplace"])
    def test_values_in_place_of_missing_ones_work_everywhere(self, mechanism, missing, rng):
        x, y = rng.random((2, 2000))
        x[::7] = np.nan
        bounds = None if mechanism == "mice-laplace" else SQUARE
        given = {"epsilon": 5.0, "mechanism": mechanism, "missing": missing, **NOISY}
        if missing == "scatter" and bounds is None:
            with pytest.raises(dpmic.ParameterError, match="x has no bounds to draw"):
                dpmic.release(x, y, **given)
            bounds = SQUARE  # which it needs for this alone
        released = dpmic.release(x, y, bounds=bounds, **given)
        assert released.n == 2000
        expected = missing if missing == "scatter" else dict(missing)
        assert released.parameters["missing"] == expected

    def test_of_a_test_of_independence(self, rng):
        x, y = rng.random((2, 500))
        x[:50] = np.nan
        given = {"epsilon": 3.0, "draws": 99}
        with pytest.raises(dpmic.InputError, match="column x"):
            dpmic.release_test(x, y, **given)
        tested = dpmic.release_test(x, y, missing="scatter", bounds=SQUARE, **given)
        assert tested.parameters["missing"] == "scatter"
        assert dpmic.release_test(x, y, missing={"x": 0.5}, **given).n == 500
        with pytest.raises(dpmic.ParameterError, match="missing = 'drop'.*proved for"):
            dpmic.release_test(x, y, missing="drop", **given)

    @sweep("mechanism", ["micr-geometric", "mice-laplace"])
    def test_other_mechanisms_refuse_what_is_not_proved(self, mechanism):
        x = np.linspace(0, 1, 300)
        bounds = {} if mechanism == "mice-laplace" else {"bounds": SQUARE}
        given = {"epsilon": 1.0, "mechanism": mechanism, **bounds, **NOISY}
        with pytest.raises(dpmic.ParameterError, match="only capped-laplace and micr-laplace"):
            dpmic.release(x, x, missing="drop", **given)
        with pytest.raises(dpmic.ParameterError, match="only capped-laplace and micr-laplace"):
            dpmic.release(x, x, person=np.arange(300) // 2, rows_per_person=2, **given)
        given |= {"bounds": {"x": (0, 1)}, "categories": {"y": ["a", "b"]}}
        with pytest.raises(dpmic.ParameterError, match=r"^categories: .* micr-laplace alone"):
            dpmic.release(x, x, **given)

    @sweep(
        ("options", "words"),
        [
            ({"missing": "ignore"}, "there is no such choice"),
            ({"missing": "drop", "complete": 0}, "complete = 0"),
            ({"missing": "drop", "complete": 1.5}, "complete = 1.5"),
            ({"complete": 0.9}, "it applies only to dropped records"),
            ({"missing": {"x": 7}}, "outside the bounds"),
            ({"missing": {"z": 0.5}}, "this column is not scored"),
            ({"missing": {"x": "many"}}, "must be a real number"),
            ({"categories": {"x": ["a"]}, "bounds": {"y": (0, 1)}}, "from 2 to 100"),
            ({"categories": {"x": ["a", "a"]}, "bounds": {"y": (0, 1)}}, "listed twice"),
            ({"categories": {"x": ["a", "b"]}}, "must be given by column name"),
            ({"categories": ["a", "b"], "bounds": None}, "its own list"),
        ],
        ids=str,
    )
    def test_wrong_options_are_refused_before_a_value_is_read(self, options, words, tmp_path):
        frame = pd.DataFrame({"x": ["unread"] * 100, "y": ["unread"] * 100})
        ledger = dpmic.Ledger(tmp_path / "l", epsilon=5.0)
        given = {"bounds": SQUARE, **options}
        with pytest.raises(dpmic.ParameterError, match=words):
            dpmic.release("x", "y", data=frame, epsilon=1, ledger=ledger, dataset="d", **given)
        assert ledger.spent == 0

    def test_a_missing_value_is_scattered_over_its_whole_interval(self):
        gaps = Gaps("scatter")
        drawn = gaps.filled(np.full(4000, np.nan), "x", (10.0, 20.0))
        assert 10 <= drawn.min() < 10.1
        assert 19.9 < drawn.max() < 20
        assert abs(drawn.mean() - 15) < 0.3  # six standard errors
        codes = gaps.filled(np.full(4000, np.nan), "ward", ABC)
        assert set(codes) == {0.0, 1.0, 2.0}
        kept = gaps.filled(np.array([12.5, np.nan]), "x", (10.0, 20.0))
        assert kept[0] == 12.5


BY_WARD = {"epsilon": 4.0, "bounds": BOUNDS, "categories": {"ward": WARDS}, "by": "ward"}


class TestGroups:
    def test_each_group_has_a_result_of_its_own(self, rng):
        table = hospital(6000, rng)
        of = {"geriatrics": 800, "surgery": 900, "medicine": 1000}
        found = dpmic.release("age", "stay", data=table, at_least=of, missing="drop", **BY_WARD)
        assert list(found) == WARDS
        assert len(found) == 3
        assert 3.99 < found.epsilon <= 4.0
        for group, member in found.items():
            inside = table[table["ward"] == group]
            cap = member.parameters["cap"]
            box = (BOUNDS["age"], BOUNDS["stay"])
            exact = dpmic.micc("age", "stay", data=inside, bounds=box, cap=cap, missing="drop").mic
            low, high = member.interval(1 - 1e-9)
            assert low - 0.02 <= exact <= high + 0.02, group
            assert member.n == of[group]
            assert member.parameters["promised"] == int(of[group] * 0.8)
            assert member.epsilon == pytest.approx(2.0, rel=1e-5)
        again = dpmic.Groups.from_json(found.to_json())
        assert again == found
        assert again["surgery"].value == found["surgery"].value
        assert "all 3 groups by ward is, in total" in found.guarantee

    def test_two_steps_for_every_row_of_a_person(self, rng):
        table = hospital(6000, rng).dropna()
        terms = {"epsilon": 4.0, "categories": {"ward": WARDS}, "by": "ward", "at_least": 500}
        for rows in (1, 3):
            own = Terms(person="patient", rows_per_person=rows, **terms)
            query = prepare("age", "stay", own, data=table, bounds=BOUNDS)
            (part, *_), steps = query.parts, 2 * rows
            one = part.setting.noise.loss(part.setting.one_row)
            assert steps * one <= query.epsilon <= 4.0
            assert part.setting.one_row == pytest.approx(part.setting.limits.cap / 500, rel=1e-6)
            assert query.n == table["patient"].nunique()

    def test_the_strongest_pairs_of_each_group(self, rng, tmp_path):
        table = hospital(6000, rng)
        ledger = dpmic.Ledger(tmp_path / "l", epsilon=10)
        asked = {
            **BY_WARD,
            "top": 1,
            "at_least": 800,
            "missing": "drop",
            "ledger": ledger,
            "categories": {"ward": WARDS, "sex": ["f", "m"]},
            "dataset": "visits",
        }
        found = dpmic.screen(table, **asked)
        for member in found.members:
            assert member.pairs == (("age", "stay"),)
        assert ledger.spent == pytest.approx(found.epsilon)
        assert dpmic.screen(table, **asked).replayed is not None
        assert {row["group"] for row in found.rows()} == set(WARDS)

    @sweep(
        ("options", "words"),
        [
            ({"categories": None}, "the groups must be public"),
            ({"at_least": {"surgery": 300}}, "'geriatrics' has no promised size"),
            ({"at_least": None}, "no promised size"),
            ({"at_least": {**dict.fromkeys(WARDS, 300), "z": 3}}, "no such category"),
            ({"at_least": 1.5}, "must be an integer"),
            ({"by": "nothing", "categories": {"nothing": ["a", "b"]}}, "no such column"),
        ],
        ids=str,
    )
    def test_wrong_groups_are_refused(self, options, words, rng):
        given = {**BY_WARD, "at_least": 300, **options}
        with pytest.raises(dpmic.DpmicError, match=words):
            dpmic.release("age", "stay", data=hospital(600, rng), **given)

    @sweep("count", [20, 2000])
    def test_a_group_for_each_record_or_nothing_is_spent(self, count, rng, tmp_path):
        ledger = dpmic.Ledger(tmp_path / "people.ledger", epsilon=3.0)
        x, y = (pd.Series(rng.random(600), name=name) for name in "xy")
        given = {"by": pd.Series(["a", "b"] * (count // 2), name="ward"), "at_least": 4, **NOISY}
        given |= {"categories": {"ward": ["a", "b"]}, "bounds": {"x": (0, 1), "y": (0, 1)}}
        with pytest.raises(dpmic.InputError, match=r"column 'ward': .* value for each record"):
            dpmic.release(x, y, epsilon=1.0, ledger=ledger, dataset="visits", **given)
        assert ledger.spent == 0


class Attacked:
    """Releases of columns with gaps, categories or groups, for an audit."""

    name, epsilon = "capped-laplace", 1.0

    def __init__(self, share=1.0, **terms):
        self.share, self.terms = share, {"epsilon": 1.0, **NOISY, **terms}

    def draws(self, table, _, runs):
        """Return independent outputs: values, or of two groups their difference."""
        bounds = {} if "x" in self.terms.get("categories", ()) else {"x": (0, 1), "y": (0, 1)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {"data": table, "bounds": bounds, "cap": 3.5, "axes": "linear"}
            query = prepare("x", "y", Terms(**self.terms), **given)
        exact, parts = query.compute(query.read()), getattr(query, "parts", (query,))
        exact = exact if len(parts) > 1 else [exact]
        noises = [part.setting.noise for part in parts]
        weaker = [type(own)(own.scale * self.share, own.epsilon) for own in noises]
        drawn = np.clip(
            [[own.add(v) for own, v in zip(weaker, exact, strict=True)] for _ in range(runs)], 0, 1
        )
        return drawn[:, 0] - drawn[:, 1:].sum(axis=1)


def half_and_half(n, one):
    """Half of the records in each of two opposite corners; the last one as is given."""
    x = (np.arange(n) >= n // 2).astype(float)
    table = pd.DataFrame({"x": x, "y": x})
    table.loc[n - 1] = one
    return table


def two_groups(n, group):
    """Two groups of n records; the last record of one, at odds with all others, can move."""
    table = pd.concat([half_and_half(n, (1.0, 1.0)), half_and_half(n, (0.0, 1.0))])
    table["ward"] = ["a"] * n + ["b"] * (n - 1) + [group]
    return table


def in_words(table, names):
    """Write the values as categories; values between them are those between the names."""
    places = (table * (len(names) - 1)).astype(int)
    return places.map(lambda place: names[place])


TWO, THREE = ["a", "b"], ["a", "b", "c"]
ALL = {"missing": "drop", "complete": 1.0}
NEIGHBOURS = [half_and_half(26, (0.0, 1.0)), half_and_half(26, (1.0, 1.0))]


@pytest.mark.full
@sweep(
    ("terms", "tables", "least", "share"),
    [
        # A complete record against one without a value, and one at odds with all others.
        (ALL, NEIGHBOURS, 0.85, 0.8),
        (ALL, (half_and_half(26, (0.0, 1.0)), half_and_half(26, (math.nan, 1.0))), 0.4, 0.5),
        (ALL, (half_and_half(26, (1.0, 1.0)), half_and_half(26, (math.nan, 1.0))), 0.0, None),
        # The same in words.
        (
            {"categories": {"x": TWO, "y": TWO}},
            [in_words(own, TWO) for own in NEIGHBOURS],
            0.85,
            0.8,
        ),
        (
            {"categories": {"x": THREE, "y": THREE}},
            [in_words(own, THREE) for own in NEIGHBOURS],
            0.85,
            0.8,
        ),
        # The record at odds moves to another group.
        (
            {**ALL, "by": "ward", "categories": {"ward": TWO}, "at_least": 100},
            (two_groups(100, "a"), two_groups(100, "b")),
            0.4,
            0.5,
        ),
    ],
    ids=["odds", "gap", "fitting gap", "two categories", "three categories", "groups"],
)
def test_attacks_on_gaps_categories_and_groups(terms, tables, least, share):
    neighbours = tuple((table, None) for table in tables)
    sure = 1 - 1e-6
    bound = dpmic.audit(Attacked(**terms), neighbours=neighbours, runs=100_000, confidence=sure)
    assert least <= bound.lower <= 1
    if share is not None:
        weak = Attacked(share, **terms)
        assert dpmic.audit(weak, neighbours=neighbours, runs=100_000).disproved


def test_bounds_of_categories():
    assert sensitivity.micr(1000, nominal=True) / sensitivity.micr(1000) == pytest.approx(
        1.15, abs=0.01
    )
    assert sensitivity.micr(25, nominal=True) / sensitivity.micr(25) == pytest.approx(
        1.06, abs=0.01
    )
    with pytest.raises(dpmic.ParameterError, match="only MIC has a proved sensitivity"):
        sensitivity.micr(25, 9, statistic="tic", nominal=True)
    assert sensitivity.micc(800, 4, most=10**7) > sensitivity.micc(800, 4)


# Attacks that once succeeded


def test_zooms_hold_the_records_of_the_pair():
    """A record without y leaves a zoom of x, and a complete one comes elsewhere."""
    n, least, cap, wide = 400, 320, 4.0, 2.0**18
    box = ((0.0, wide), (0.0, 1.0))
    mechanism = CappedLaplace(1.0, box, cap, axes="wide", **NOISY)
    size, high = Size(n, least, n, gaps=True), 0.75 * wide
    inside = -(-n // 3) + int((least + 0.72 * 15) / cap) - 3
    second = min(least // 2, inside - 1)
    first, rest = inside - second, n - least - 1
    sizes = first, second, least - inside, 1, rest
    x = np.repeat([high + 0.5, high + 1.5, 0.3 * wide, high + 0.5, math.nan], sizes)
    y = np.repeat([0.0, 1.0, 0.0, math.nan, 0.5], sizes)
    before = score_of(mechanism, np.stack((x, y), 1), size)
    x[least], y[least] = 0.3 * wide, 0.0
    after = score_of(mechanism, np.stack((x, y), 1), size)
    # 1.24 times the bound, if zooms held records that lack y.
    assert 0 < abs(before - after) <= mechanism.setting(size).one_row


@sweep("axes", ["any", "wide"])
def test_zooms_with_gaps_are_those_of_the_complete_records(axes, rng):
    for _ in range(5):
        x, y = 30 + rng.random(150), 70 + rng.random(150)
        y[:40] = x[:40] + 40
        x[rng.random(150) < 0.3] = math.nan
        complete = ~np.isnan(x)
        box = ((0.0, 100.0), (0.0, 100.0))
        mechanism = CappedLaplace(1.0, box, 5.0, axes=axes, **NOISY)
        limits, most = mechanism.setting(150).limits, Size(150, 90, 150, gaps=True)
        (gapped,) = mechanism.scores((x, y), box, [(0, 1)], limits, most)
        kept = Size(150, 90, 150)
        (alone,) = mechanism.scores((x[complete], y[complete]), box, [(0, 1)], limits, kept)
        assert gapped == alone


def test_a_category_depends_on_its_own_record_alone():
    """True, 1 and 1.0 are equal, and so are decimals: what came first must not matter."""
    from decimal import Decimal

    from dpmic.data import coded

    for values, labels in (
        ([True, 1, 1.0, "true"], ("true", "1")),
        ([Decimal("1"), Decimal("1.00"), 1], ("1", "1.00")),
    ):
        alone = [coded([value], "x", Categories(labels))[0] for value in values]
        for order in itertools.permutations(range(len(values))):
            found = coded([values[i] for i in order], "x", Categories(labels))
            assert found.tolist() == [alone[i] for i in order]


def test_only_mic_has_a_bound_with_categories_or_gaps():
    yes_no = Categories(("yes", "no"))
    for statistic in ("tic", "mev", "mas"):
        with pytest.raises(dpmic.ParameterError, match="with nominal columns, only MIC"):
            MICrLaplace(1.0, (yes_no, SQUARE[0]), statistic=statistic)
        with pytest.raises(
            dpmic.ParameterError, match="with a private number of records, only MIC"
        ):
            MICrLaplace(1.0, SQUARE, statistic=statistic).setting(Size(100, 80, 100, gaps=True))


def test_groups_never_cost_more_than_was_asked(rng):
    """Not where a person's rows could move a score by more than 1, nor by an object's epsilon."""
    table = hospital(600, rng)
    terms = Terms(
        epsilon=1.0,
        person="patient",
        rows_per_person=100,
        by="ward",
        at_least=30,
        categories={"ward": WARDS},
        missing="drop",
        allow_noisy=True,
    )
    query = prepare("age", "stay", terms, data=table, bounds=BOUNDS)
    assert 0.99 < query.epsilon <= 1.0
    mechanism = CappedLaplace(1.0, SQUARE, **NOISY)
    asked = {"by": "ward", "categories": {"ward": WARDS}, "at_least": 30}
    with pytest.raises(dpmic.ParameterError, match="leave those out"):
        dpmic.release("age", "stay", data=table, mechanism=mechanism, **asked)
    with pytest.raises(dpmic.ParameterError, match="groups share one"):
        dpmic.release("age", "stay", data=table, mechanism=mechanism, by="ward", at_least=30)


def test_sizes_of_groups_need_groups(rng):
    with pytest.raises(dpmic.ParameterError, match="at_least: it is the size of groups"):
        dpmic.release("age", "stay", data=hospital(600, rng), **DROPPED, epsilon=1, at_least=300)


def test_how_many_rows_there_are_is_not_said(rng):
    table = hospital(3000, rng)
    with pytest.raises(dpmic.InputError) as caught:
        dpmic.release(
            table["age"],
            table["stay"],
            person=np.arange(7),
            **DROPPED,
            epsilon=1,
            rows_per_person=2,
        )
    assert "3000" not in str(caught.value)


def test_the_uncapped_score_takes_as_many_categories_as_its_proof_covers(rng):
    names = [f"c{i}" for i in range(80)]
    table = pd.DataFrame({"a": rng.choice(names, 500), "b": rng.choice(names, 500)})
    given = {"data": table, "categories": {"a": names, "b": names}, "epsilon": 1.0}
    with pytest.raises(dpmic.DpmicError, match="80 and 80 categories: .* at most 5,000 cells"):
        dpmic.release("a", "b", **given, mechanism="micr-laplace", allow_noisy=True)
    dpmic.release("a", "b", **given, mechanism="capped-laplace", allow_noisy=True)


def test_what_is_stored_of_categories_has_one_length(rng, tmp_path):
    """Names of nominal columns count for the length of an answer, as those of numbers do."""
    table = hospital(3000, rng)
    asked = {"bounds": {"age": (0, 120)}, "epsilon": 0.2, "top": 1, "missing": "drop", **NOISY}
    asked["categories"] = {"ward": WARDS, "sex": ["f", "m"]}
    lengths = set()
    for i in range(8):
        ledger = dpmic.Ledger(tmp_path / f"{i}", epsilon=1)
        dpmic.screen(table, **asked, ledger=ledger, dataset="d")
        lengths.add(len(ledger.history()[0].answer))
    assert len(lengths) == 1
    dpmic.screen(table, **asked, target="ward", ledger=tmp_path / "0", dataset="d")


def test_dates_are_shown_as_dates(rng):
    table = hospital(3000, rng)
    table["admitted"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 3000), "D")
    bounds = {"age": (0, 120), "admitted": ("2024-01-01", "2024-12-31")}
    released = dpmic.release(
        "age", "admitted", data=table, bounds=bounds, epsilon=1, missing="drop"
    )
    assert released.parameters["y bounds"] == ["2024-01-01", "2024-12-31"]
    assert "y bounds = [2024-01-01, 2024-12-31]" in released.guarantee
    assert released.provenance()["y bounds"] == "2024-01-01 to 2024-12-31"
    assert dpmic.Release.from_json(released.to_json()) == released


def test_the_guarantee_of_groups_names_all_that_is_public(rng):
    table = hospital(4000, rng)
    found = dpmic.release("age", "stay", data=table, at_least=700, missing="drop", **BY_WARD)
    for words in ("x bounds = [0, 120]", "missing = drop", "complete = 0.8", "at_least = {geri"):
        assert words in found.guarantee
    assert "how many is not published" in found.guarantee


def test_the_guarantee_of_groups_names_whom_it_leaves_out(rng):
    """Nothing is refused for them: they were left out without a word, also by missing="refuse"."""
    table = hospital(4000, rng).dropna()
    table.loc[table.index[:300], "ward"] = None
    listed = {**BY_WARD, "categories": {"ward": WARDS[:2]}, "at_least": 500}
    found = dpmic.release("age", "stay", data=table, **listed)
    assert (
        "Records without a value of ward, or with another one than these, took no part; how many "
        "there are is not published." in found.guarantee
    )
    listed["categories"] = {"ward": [*WARDS[:2], "other"]}
    found = dpmic.release("age", "stay", data=table, **listed)
    assert "Records without a value of ward took no part" in found.guarantee


@sweep("top", [None, 2])
def test_groups_are_a_frame(top, rng):
    """In the form of a screening's, with the group in front."""
    table = hospital(4000, rng).dropna()
    asked = {**BY_WARD, "epsilon": 9.0, "at_least": 500}
    found = dpmic.release("age", "stay", data=table, **asked)
    if top is not None:
        asked["categories"] = {**asked["categories"], "sex": ["f", "m"]}
        found = dpmic.screen(table, top=top, **asked)
    frame = found.to_frame("pandas")
    assert list(frame.columns) == ["group", "x", "y", "value", "low", "high"]
    assert frame.to_dict("records") == found.rows()
    assert len(frame) == len(WARDS) * (top or 1)
    assert found.to_frame("polars").columns == list(frame.columns)


# Mistakes of first users


def test_bounds_are_never_taken_for_categories(rng):
    """Text among private bounds is a mistake: scored as categories it would publish nothing."""
    table = hospital(600, rng)
    for wrong in (("low", "high"), ("0", "120"), ["low", "high"], ("2020", "2025")):
        bounds = {"age": wrong, "stay": (0, 60)}
        for call in (
            lambda bounds=bounds: dpmic.release(
                "age", "stay", data=table, bounds=bounds, epsilon=1, missing="drop"
            ),
            lambda bounds=bounds: dpmic.screen(
                table, bounds=bounds, epsilon=1, top=1, missing="drop"
            ),
        ):
            with pytest.raises(dpmic.ParameterError, match="bound of age"):
                call()


def test_a_column_of_names_without_bounds_hears_of_categories(rng):
    table = hospital(600, rng)
    told = "bounds of 'ward' are missing; .* list the values of a column of names: categories=..."
    with pytest.raises(dpmic.ParameterError, match=told):
        dpmic.release("age", "ward", data=table, bounds={"age": (0, 120)}, epsilon=1)
    own = {"bounds": {"age": (0, 120)}, "missing": "scatter"}
    with pytest.raises(dpmic.ParameterError, match="give bounds for both columns") as refused:
        dpmic.release_test("age", "stay", data=table, epsilon=1, **own)
    assert "categories" not in str(refused.value)  # a test takes none


def test_bounds_are_of_the_kind_of_their_column(rng):
    """A declared type is no value: dates have dates as bounds, and numbers numbers."""
    table = hospital(600, rng)
    table["admitted"] = pd.Timestamp("2024-01-01")
    dates, numbers = ("2024-01-01", "2024-12-31"), (0, 120)
    for name, wrong in (("age", dates), ("admitted", numbers)):
        bounds = {name: wrong, "stay": (0, 60)}
        with pytest.raises(dpmic.ParameterError, match=f"bounds of {name}: the column holds"):
            dpmic.release(name, "stay", data=table, bounds=bounds, epsilon=1, missing="drop")


def test_durations_have_numbers_as_bounds(rng):
    """They are seconds; only dates have dates."""
    table = hospital(3000, rng).dropna()
    table["waited"] = pd.to_timedelta(table["stay"] * 60, "s")
    bounds = {"waited": (0, 3600), "stay": (0, 60)}
    assert dpmic.release("waited", "stay", data=table, bounds=bounds, epsilon=5).value > 0.8


def test_promises_that_are_public_lies_are_refused(rng):
    table = hospital(3000, rng)
    for sizes, words in (
        (
            {**dict.fromkeys(WARDS, 300), "surgery": 4000},
            "'surgery' = 4000: there are only 3000 people",
        ),
        (2000, "all groups = 6000"),
    ):
        with pytest.raises(dpmic.ParameterError, match=words):
            dpmic.release("age", "stay", data=table, at_least=sizes, **{**BY_WARD, "epsilon": 9})


def test_a_group_that_is_too_small_is_named(rng):
    sizes = {**dict.fromkeys(WARDS, 800), "medicine": 10}
    with pytest.raises(dpmic.ParameterError, match=r"group 'medicine': the noise.*leave the group"):
        dpmic.release("age", "stay", data=hospital(4000, rng), at_least=sizes, **BY_WARD)
