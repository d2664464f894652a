"""The interval for MIC*: noise and sampling together, around the estimate, where it is asked."""

import dataclasses
import itertools
import math
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import ROOT
from scipy import integrate, stats
from scipy.special import gammaincc
from sweeps import sweep

import dpmic
from dpmic.evaluation import tables
from dpmic.parameters import interval, provenance
from dpmic.parameters.interval import KNOTS, Scores, lookup
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrGeometric, MICrLaplace
from dpmic.report import page
from dpmic.results import HistogramRelease, Release

SQUARE = ((0.0, 1.0), (0.0, 1.0))
MECHANISMS = ("capped-laplace", "micr-laplace", "mice-laplace", "micr-geometric")
EPSILONS = {"micr-geometric": (0.1, 10.0), "capped-laplace": (0.01, 3.0)}
LEVELS = (0.001, 0.5, 0.8, 0.95, 0.99, 0.999999)


def mechanism(name, epsilon, **options):
    options["allow_noisy"] = True
    if name == "mice-laplace":
        return MICeLaplace(epsilon, **options)
    if name == "micr-laplace":
        return MICrLaplace(epsilon, SQUARE, **{"axes": "linear", **options})
    kind = {"capped-laplace": CappedLaplace, "micr-geometric": MICrGeometric}[name]
    return kind(epsilon, SQUARE, **options)


def released(name, n, epsilon, value, **options):
    """Return a release as the mechanism would have published it, had this value been drawn."""
    private = mechanism(name, epsilon, allow_large_epsilon=True, **options)
    setting = private.setting(n)
    facts = private._facts(SimpleNamespace(names=("x", "y")), setting, None)
    counted = name == "micr-geometric"
    estimate = setting.calibration.estimate(value, 0.0 if counted else setting.noise.scale)
    made = Release(value=value, estimate=float(estimate), granularity=2**-40, **facts)
    if not counted:
        return made
    nothing = {"noisy_counts": (), "histogram": (), "x_edges": (), "y_edges": (), "entries": ()}
    return HistogramRelease(**{**vars(made), **nothing})


def marginal(kind, scale, size):
    """Return the distribution of the noise."""
    if kind != "cube":
        return stats.laplace(scale=scale) if kind == "laplace" else stats.norm(scale=scale)
    unit = 2 * scale / (size + 1)

    def cdf(x):
        far = abs(x) / unit
        beyond = gammaincc(size + 1, far) - far / size * gammaincc(size, far)
        return 1 - beyond / 2 if x > 0 else beyond / 2

    return SimpleNamespace(cdf=cdf)


class TestNoise:
    """The noise is added to half a normal distribution."""

    @sweep(("kind", "size"), [("laplace", 1), ("gaussian", 1), ("cube", 2), ("cube", 45)])
    @sweep("scale", [0.002, 0.05, 1.0])
    @sweep("t", [-0.4, -0.01, 0.0, 0.03, 0.1, 0.5])
    def test_with_half_a_normal_distribution(self, kind, size, scale, t):
        noise = marginal(kind, scale, size)
        half = stats.halfnorm(scale=0.07)
        near = [max(t, 0.0), max(t - 6 * scale, 0.0), max(t + 6 * scale, 0.0), 0.07]
        expected, _ = integrate.quad(
            lambda x: half.pdf(x) * noise.cdf(t - x), 0, 0.9, points=sorted(near), limit=500
        )
        found = ValueNoise(kind, scale, size).after_half_normal(np.array(t), np.array(0.07))
        assert float(found) == pytest.approx(expected, abs=2e-5 if kind == "cube" else 1e-6)

    @pytest.mark.parametrize("kind", ["laplace", "gaussian", "cube"])
    def test_little_noise_is_none(self, kind):
        t = np.array([-0.1, 0.01, 0.1, 0.3])
        found, none = (
            noise.after_half_normal(t, np.array(0.07))
            for noise in (ValueNoise(kind, 1e-9, 5), ValueNoise("none", 0.0))
        )
        assert found == pytest.approx(none, abs=1e-6)

    @given(
        st.floats(0, 1),
        st.floats(1e-12, 1e6),
        st.sampled_from(["laplace", "gaussian", "cube", "none"]),
        st.sampled_from(MECHANISMS),
    )
    def test_rarities_are_probabilities(self, value, scale, kind, name):
        found = lookup(name, 300, 1.0).rarity(
            value, np.linspace(0, 1, 101), ValueNoise(kind, scale, 10)
        )
        assert np.all((found >= -1e-9) & (found <= 0.5 + 1e-9))


class TestIntervals:
    @pytest.mark.slow
    def test_the_estimate_lies_in_its_interval(self):
        """Hundreds of releases; of the noise's interval every third was left by its estimate."""
        cases = itertools.product(
            MECHANISMS, (50, 700, 5000, 50_000), (0.1, 1.0, 10.0), np.linspace(0, 1, 11)
        )
        for name, n, epsilon, value in cases:
            made = released(name, n, epsilon, float(value))
            for level in LEVELS:
                low, high = made.estimate_interval(level)
                assert 0 <= low <= made.estimate <= high <= 1

    @pytest.mark.parametrize("name", MECHANISMS)
    def test_so_it_does_in_releases(self, name, rng):
        x = rng.uniform(size=400)
        for wobble, _ in itertools.product((0.05, 0.3, 1.0), range(8)):
            y = np.clip((np.sin(7 * x) + 1) / 2 + rng.normal(0, wobble, 400), 0, 1)
            made = mechanism(name, 1.0).release(x, y)
            for level in (0.1, 0.95):
                low, high = made.estimate_interval(level)
                assert low <= made.estimate <= high

    @sweep("name", MECHANISMS)
    @sweep("value", [0.0, 0.2, 0.7, 1.0])
    def test_more_certainty_is_wider(self, name, value):
        ends = [released(name, 1000, 1.0, value).estimate_interval(level) for level in LEVELS]
        for (low, high), (lower, higher) in itertools.pairwise(ends):
            assert lower <= low <= high <= higher

    def test_more_noise_is_wider(self):
        widths = []
        for epsilon in (10.0, 1.0, 0.3, 0.1, 0.01):
            low, high = released("micr-laplace", 1000, epsilon, 0.5).estimate_interval()
            widths.append(high - low)
        assert widths == sorted(widths)
        assert widths[-1] == 1.0  # nothing but noise says nothing

    @pytest.mark.parametrize("name", MECHANISMS)
    def test_no_strength_is_ruled_out_by_noise_alone(self, name):
        """A prior would: of a uniform one 95% lie between 0.025 and 0.975."""
        for value in (0.0, 0.4, 1.0):
            assert released(name, 25, 0.1, value).estimate_interval() == (0.0, 1.0)

    @pytest.mark.slow
    def test_it_is_what_the_value_does_not_speak_against(self):
        """By simulation: of values drawn under a MIC* so many have it in their intervals."""
        rng = np.random.default_rng(3)
        known, scale, level = lookup("micr-laplace", 500, 1.0), 0.03, 0.8
        for m in (0.15, 0.5, 0.83):
            median, below, above = (
                np.interp(m, KNOTS, numbers) for numbers in (known.median, known.below, known.above)
            )
            z = rng.normal(size=1500)
            scores = median + np.where(z < 0, below, above) * z
            values = np.clip(scores + rng.laplace(0, scale, z.size), 0, 1)
            ends = [known.interval(value, ValueNoise("laplace", scale), level) for value in values]
            held = np.mean([low <= m <= high for low, high in ends])
            assert held == pytest.approx(level, abs=5 * math.sqrt(level * (1 - level) / 1500))

    def test_scores_that_never_miss(self):
        exact = Scores(KNOTS, np.full(11, 1e-6), np.full(11, 1e-6))
        low, high = exact.interval(0.437, ValueNoise("none", 0.0), 0.95)
        assert 0.435 <= low <= 0.437 <= high <= 0.439

    def test_several_rows_of_a_person_are_as_much_less_epsilon(self):
        one = released("micr-laplace", 1000, 0.25, 0.5).estimate_interval()
        four = released("micr-laplace", 1000, 1.0, 0.5, rows_per_person=4).estimate_interval()
        assert four == pytest.approx(one, abs=1e-9)


def _wide(table):
    return np.hstack([table.to_numpy()[:300]] * 3)


class TestTables:
    @pytest.fixture(scope="class")
    @classmethod
    def table(cls):
        rng = np.random.default_rng(8)
        x = rng.uniform(size=2000)
        noisy = np.clip(x + rng.normal(0, 0.1, 2000), 0, 1)
        return pl.DataFrame({"x": x, "y": noisy, "z": rng.uniform(size=2000), "w": 1 - x})

    @pytest.fixture(scope="class")
    @classmethod
    def several(cls, table):
        bounds = dict.fromkeys(table.columns, (0.0, 1.0))
        return [
            dpmic.screen(table, bounds=bounds, epsilon=2.0, top=2),
            dpmic.screen(table, bounds=bounds, epsilon=2.0, top=1),
            dpmic.screen(table, bounds=bounds, epsilon=8.0, top=3, rows_per_person=2),
            dpmic.release_pairwise(table, bounds=bounds, epsilon=3.0),
            dpmic.release_pairwise(
                _wide(table), epsilon=1.0, delta=1e-6, bounds=[(0.0, 1.0)] * 12, allow_noisy=True
            ),
            dpmic.release_pairwise(table, bounds=bounds, epsilon=1.0, target="x", delta=1e-5),
        ]

    def test_every_pair_has_an_interval_around_its_estimate(self, several):
        assert {result.noise for result in several} == {"laplace", "gaussian", "cube"}
        for result in several:
            for level in (0.5, 0.95):
                ends = result.estimate_interval(level)
                assert len(ends) == len(result.values)
                for estimate, (low, high) in zip(result.estimates, ends, strict=True):
                    assert 0 <= low <= estimate <= high <= 1

    def test_one_value_says_what_it_says_in_a_release(self):
        """One value has the noise of a release."""
        pair = pl.DataFrame({"x": np.linspace(0, 1, 500), "y": np.linspace(0, 1, 500) ** 2})
        bounds = dict.fromkeys(pair.columns, (0.0, 1.0))
        chosen = dpmic.screen(pair, bounds=bounds, epsilon=0.5, top=1)
        alone = released("capped-laplace", 500, 0.5, chosen.values[0])
        assert chosen.estimate_interval()[0] == pytest.approx(alone.estimate_interval(), abs=1e-9)

    def test_frames_have_estimates_where_asked(self, several):
        for result in several:
            plain = result.to_frame("pyarrow").to_pydict()
            assert list(plain) == ["x", "y", "value", "low", "high"]
            asked = result.to_frame("pyarrow", estimate=True).to_pydict()
            assert list(asked) == [*plain, "estimate", "estimate_low", "estimate_high"]
            assert tuple(asked["estimate"]) == result.estimates
            ends = tuple(zip(asked["estimate_low"], asked["estimate_high"], strict=True))
            assert ends == result.estimate_interval()


class TestRefusals:
    @pytest.mark.parametrize("name", MECHANISMS)
    def test_few_records(self, name):
        with pytest.raises(dpmic.ParameterError, match=r"n = 24: .*from n = 25 on"):
            released(name, 24, 1.0, 0.5).estimate_interval()

    @sweep(
        ("name", "own"),
        [
            ("capped-laplace", {"cap": 3.5}),
            ("capped-laplace", {"axes": "wide"}),
            ("micr-laplace", {"B": 20}),
            ("micr-laplace", {"c": 3}),
            ("micr-laplace", {"master": "paper"}),
            ("mice-laplace", {"lmax": 3}),
            ("micr-geometric", {"m": 5}),
        ],
    )
    def test_parameters_of_ones_own(self, name, own):
        (option,) = own
        made = released(name, 1000, 1.0, 0.5, **own)
        with pytest.raises(dpmic.ParameterError, match=f"{option} = .*alone"):
            made.estimate_interval()
        shown = made.known_estimates()
        assert shown.rows == ((None, None, None),)
        assert shown.note.startswith("not known: ")

    def test_other_statistics(self):
        with pytest.raises(dpmic.ParameterError, match="statistic = 'mev'"):
            released("micr-laplace", 1000, 1.0, 0.5, statistic="mev").estimate_interval()

    @pytest.mark.parametrize("epsilon", [0.05, 20.0])
    def test_noisy_histograms_beyond_what_was_simulated(self, epsilon):
        with pytest.raises(dpmic.ParameterError, match=r"simulated for 0\.1 to 10"):
            released("micr-geometric", 1000, epsilon, 0.5).estimate_interval()

    @sweep("level", [0, 1, -0.5, 95, float("nan")])
    def test_levels_are_probabilities(self, level):
        with pytest.raises(dpmic.ParameterError, match="level"):
            released("micr-laplace", 1000, 1.0, 0.5).estimate_interval(level)

    @sweep("name", MECHANISMS)
    @sweep("n", [25, 333, 60_000, 10**7])
    @sweep("epsilon", [0.1, 0.7, 1.0, 10.0])
    def test_no_default_release_is_refused(self, name, n, epsilon):
        low, high = released(name, n, epsilon, 0.5).estimate_interval()
        assert low < high

    @pytest.mark.parametrize("epsilon", [0.001, 0.02, 50.0])
    def test_noise_of_any_size_is_known(self, epsilon):
        """Beyond the table of grids they stay as they are, and the noise is known exactly."""
        for name in ("capped-laplace", "micr-laplace", "mice-laplace"):
            low, high = released(name, 1000, epsilon, 0.5).estimate_interval()
            assert 0 <= low < high <= 1


class TestStored:
    def test_the_table_is_complete(self):
        for name in MECHANISMS:
            (least, most), epsilons = interval.simulated(name)
            assert (least, most) == (25, 50_000)
            assert epsilons == EPSILONS.get(name, (0.1, 3.0))
        made = provenance("scores")
        assert made["command"] == "dpmic reproduce intervals --seed 0"
        assert made["parameters"] == provenance("tuned")["command"]

    def test_scores_grow_with_mic_star(self):
        for name in MECHANISMS:
            for n, epsilon in itertools.product((25, 100, 2000, 50_000), (0.1, 1.0, 3.0)):
                known = lookup(name, n, epsilon)
                assert np.all(np.diff(known.median) >= 0)
                assert np.all((known.below > 0) & (known.above > 0))

    @pytest.mark.parametrize("where", ["left out", "unseen"])
    def test_coverage_on_what_was_not_fitted(self, where):
        """At least 93% for nominal 95%, at every mechanism, n and epsilon that was judged."""
        rows = tables.read(ROOT / "docs" / "results" / "intervals.csv")
        assert {(row["mechanism"], row["n"], row["epsilon"]) for row in rows} == set(
            itertools.product(
                MECHANISMS,
                (25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 50_000),
                (0.1, 1.0, 10.0),
            )
        )
        for row in rows:
            assert row[f"{where}, 95%"] >= 0.93, row
            assert row[f"{where}, 50%"] >= 0.48, row
            assert row[f"{where}, 80%"] >= 0.78, row
            assert row[f"{where}, 99%"] >= 0.96, row

    def test_a_release_stored_before_loads(self):
        """A text that an earlier version wrote into ledgers."""
        text = (
            '{"epsilon": 1.0, "n": 1000, "parameters": {"x bounds": [0.0, 1.0], "y bounds": '
            '[0.0, 1.0], "B": 80.0, "c": 15.0, "master": "reshef"}, "rows_per_person": 1, '
            '"person": null, "names": ["age", "dose"], "sensitivity": 0.011407757737461136, '
            '"scale": 0.011407757738370631, "granularity": 9.094947017729282e-13, '
            '"value": 0.5934128, "estimate": 0.5817, "mechanism": "micr-laplace", '
            '"statistic": "mic"}'
        )
        made = dpmic.Release.from_json(text)
        assert (made.value, made.estimate) == (0.5934128, 0.5817)
        low, high = made.estimate_interval()
        assert 0.45 < low < 0.5817 < high <= 1
        assert dpmic.Release.from_json(made.to_json()) == made


class TestDisplays:
    """Nothing shows the estimate unless it is asked for."""

    @pytest.fixture(scope="class")
    @classmethod
    def results(cls):
        rng = np.random.default_rng(2)
        x = rng.uniform(size=900)
        y = np.clip(x + rng.normal(0, 0.1, 900), 0, 1)
        table = pl.DataFrame({"x": x, "y": y, "z": 1 - y})
        bounds = dict.fromkeys(table.columns, (0.0, 1.0))
        one = [mechanism(name, 2.0).release(x, y) for name in MECHANISMS]
        several = [
            dpmic.screen(table, bounds=bounds, epsilon=3.0, top=2),
            dpmic.release_pairwise(table, bounds=bounds, epsilon=3.0),
            dpmic.release_pairwise(table, bounds=bounds, epsilon=3.0, target="x"),
        ]
        marked = [dataclasses.replace(result, estimate=0.7177717) for result in one]
        for result in several:
            estimates = tuple(0.7177717 + i / 1e6 for i in range(len(result.values)))
            marked.append(dataclasses.replace(result, estimates=estimates))
        return marked

    @staticmethod
    def other(result):
        """Return the same result with another estimate, which nothing may show."""
        if isinstance(result, dpmic.Release):
            return dataclasses.replace(result, estimate=0.1)
        return dataclasses.replace(result, estimates=(0.1,) * len(result.values))

    def test_text_and_html(self, results):
        for result in results:
            assert "estimate" not in repr(result) + result._repr_html_()
            assert repr(result) == repr(self.other(result))
            assert result._repr_html_() == self.other(result)._repr_html_()

    def test_the_interval_says_what_it_covers(self, results):
        assert "95%; covers the privacy noise, not sampling error" in results[0]._repr_html_()

    def test_noisy_counts_say_that_they_are_biased(self, results):
        counts = results[3]
        assert "biased by the noise" in repr(counts)
        assert "biased by the noise" in counts._repr_html_()
        with pytest.raises(dpmic.ParameterError, match="estimate_interval"):
            counts.interval()

    def test_pictures(self, results):
        pytest.importorskip("matplotlib").use("agg")
        for result in results:
            drawn = []
            for one in (result, self.other(result)):
                ax = one.plot()
                drawn.append([ax.get_title(loc="left"), ax.get_xlabel()])
                drawn[-1] += [text.get_text() for text in ax.texts]
                drawn[-1] += [line.get_data()[0].tolist() for line in ax.lines]
            assert "estimate" not in str(drawn)
            assert str(drawn[0]) == str(drawn[1])

    def test_reports(self, results):
        for result in results:
            plain, other = (
                re.sub(r"<style>.*</style>|\d{4}-\d\d-\d\d( \d\d:\d\d)?", "", page(one), flags=re.S)
                for one in (result, self.other(result))
            )
            assert "estimate" not in plain
            assert plain == other
            asked = page(result, estimate=True)
            assert "0.7178" in asked
            assert "estimate of MIC*" in asked
            ends = result.estimate_interval()
            for low, high in [ends] if isinstance(ends[0], float) else ends:
                assert re.search(rf"{low:.4f} to(&nbsp;| ){high:.4f}", asked)
            assert "believe" not in plain + asked

    def test_a_report_says_where_no_estimate_is_known(self):
        made = released("micr-laplace", 1000, 1.0, 0.5, B=20)
        assert "not known: " in page(made, estimate=True)

    def test_other_reports_have_no_estimate(self):
        for result in (
            dpmic.mice([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]),
            dpmic.estimate_bounds(np.arange(100.0), epsilon=1.0),
        ):
            with pytest.raises(dpmic.ParameterError, match="only published MICs have one"):
                page(result, estimate=True)
