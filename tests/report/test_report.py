"""Reports: one file, hostile names, nothing un-noised."""

import base64
import dataclasses
import datetime
import hashlib
import os
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_kinds import HOSTILE, KINDS, NAMES, PLAIN, PRIVATE, Budget, built, data, results
from sweeps import sweep

import dpmic
from dpmic._format import calendar
from dpmic.data import Pair, Variable, pair
from dpmic.errors import InputError, ParameterError
from dpmic.report import page
from dpmic.report._charts import MOST_COLUMNS, MOST_LINES, MOST_POINTS, TURNS, Axis
from dpmic.report._meanings import described
from dpmic.report.demonstration import demonstration
from dpmic.report.markup import shorten, text
from dpmic.results import HistogramRelease, IndependenceTest, Release
from dpmic.results.relation import ceiling

VOID = {"meta", "link", "wbr"}


class Outline(HTMLParser):
    """The tags of a page, which must close in order."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.open, self.words, self.inside = [], [], [], {}
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, words):
        if self.open and self.open[-1] in {"style", "script"}:
            self.inside[self.open[-1]] = words
        else:
            self.words.append(words)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module", params=KINDS)
def outline(request):
    return Outline(built(request.param))


def test_the_outline_is_one_that_readers_follow(outline):
    names = [name for name, _ in outline.tags]
    assert outline.all("html") == [{"lang": "en"}]
    assert names.count("h1") == 1
    assert names.count("h2") == names.count("section") >= 4
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in outline.tags:
        assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
    for head in outline.all("th"):
        assert head["scope"] in {"row", "col"}
    assert names.count("caption") == names.count("table")


def test_drawings_have_a_name_and_a_description(outline):
    for attributes in outline.all("svg"):
        if attributes.get("role") == "img":
            assert attributes["aria-labelledby"]


def test_nothing_is_asked_for_and_nothing_runs_but_our_script(outline):
    for name, attributes in outline.tags:
        assert name not in {"img", "iframe", "object", "embed", "form", "base", "a"}
        assert not [key for key in attributes if key.startswith("on") or key in {"style", "src"}]
        assert attributes.get("href", "data:,") == "data:,"
    assert len(outline.all("script")) == len(outline.all("style")) == 1
    (policy,) = (m["content"] for m in outline.all("meta") if "http-equiv" in m)
    assert policy.startswith("default-src 'none'; ")
    for kind, content in outline.inside.items():
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
        assert "//" not in re.sub(r"^\s*//.*", "", content, flags=re.M)  # no address either


@sweep("kind", KINDS)
def test_hostile_names_are_texts(kind):
    source = built(kind)
    assert "<script>window.evil" not in source
    assert "<img" not in source
    if kind not in {"score", "test"}:  # which have only harmless names
        assert "&lt;" in source


def test_names_cannot_reorder_or_hide():
    assert text("a\u202eb\0\ud800") == r"a\u202eb\x00\ud800"
    assert text("\u0645\u06cc\u200c\u062e") == "\u0645\u06cc\u200c\u062e"  # a joiner of Persian
    assert shorten("abcdef", 5) == "abcd\u2026"
    assert shorten("abcde", 5) == "abcde"
    assert len(shorten("\u5e74" * 30, 20)) == 10
    two = dpmic.mice(np.arange(9.0), np.arange(9.0))
    points = Pair(np.arange(9.0), np.arange(9.0), ("\u202ereversed", "\ud800"))
    assert page(two, points=points).encode()


@sweep("kind", PRIVATE)
def test_a_private_page_begins_with_its_guarantee(kind):
    words = "".join(Outline(built(kind)).words)
    guarantee = results()[kind].guarantee
    assert guarantee in words
    assert words.index(guarantee) < words.index("How to read this")
    assert "Nothing in this report is private" not in words
    assert "1.5 of 4" in words  # spent
    assert "2.5" in words  # left
    assert f"dpmic screen {HOSTILE}" in words


@pytest.mark.parametrize("kind", PLAIN)
def test_other_pages_begin_with_a_warning(kind):
    words = "".join(Outline(built(kind)).words)
    assert words.index("Nothing in this report is private") < words.index("How to read this")
    shown = "a figure shows the records" in words
    assert shown == (kind != "cross")  # the only one without points


@sweep("kind", KINDS)
def test_it_can_be_repeated(kind):
    words = "".join(Outline(built(kind)).words)
    assert dpmic.__version__ in words
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", words)
    assert re.search(r"records \(n\)1,500", words)


@sweep("kind", PRIVATE)
def test_a_rehearsal_is_never_taken_for_a_result(kind):
    job = f"[columns]\n{HOSTILE} = 1  # </code></pre>"
    outline = Outline(page(results()[kind], job=job, rehearsal=True, command="dpmic rehearse x"))
    words = "".join(outline.words)
    assert words.index("Rehearsal on made-up data") < words.index("How to read this")
    assert job in words
    assert "differentially private" not in words
    assert "What was spent" not in words
    assert {"class": "promise exposed", "aria-labelledby": "promise"} in outline.all("section")
    published = "".join(Outline(page(results()[kind], job=job)).words)
    assert "differentially private" in published
    assert "ehearsal" not in published


def test_only_private_results_come_from_jobs():
    for option in ({"job": "[data]"}, {"rehearsal": True}):
        with pytest.raises(ParameterError, match="only a private result comes from a job"):
            page(results()["score"], **option)


def test_a_table_has_the_published_numbers_in_order():
    screening = results()["screening"]
    source = built("screening")
    numbers = [float(n) for n in re.findall(r"data-number='([^']+)'", source)]
    assert numbers[::2] == list(screening.values)
    assert numbers[1::2] == [low for low, _ in screening.interval()]
    for low, high in screening.interval():
        assert f"{low:.4f} to&nbsp;{high:.4f}" in source
    assert source.count("aria-sort='descending'") == 1


def test_a_matrix_is_listed_from_the_largest_value():
    numbers = re.findall(r"data-number='([^']+)'", built("matrix"))
    values = [float(n) for n in numbers[::2]]
    assert values == sorted(results()["matrix"].values, reverse=True)


def luminance(colour):
    parts = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in colour]
    return np.dot(parts, (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_in_a_heat_map_stand_out_from_their_cells(dark):
    style = Outline(built("matrix")).inside["style"]
    page_colour, accent = (
        np.array(list(bytes.fromhex(re.findall(rf"--{name}: #(\w+)", style)[dark]))) / 255
        for name in ("page", "accent")
    )
    for value in np.linspace(0, 1, 501):
        cell = luminance(value * accent + (1 - value) * page_colour)
        band = sum(value > turn for turn in TURNS)
        white = band == 0 if dark else band == 2  # as in the style sheet
        contrast = 1.05 / (cell + 0.05) if white else (cell + 0.05) / 0.05
        assert contrast >= 4.5, value


# privacy


def digits(values):
    """Return numbers by their first twelve digits; 0 and 1, which bounds are, do not count.

    Noise meets ten digits of one of thousands of records by chance, in one run of 70,000.
    """
    return {repr(float(value))[:14] for value in values if 1e-4 < value < 1}


def exact_scores():
    table = data()
    ranges = dpmic.pairwise(table, statistic="micr", bounds=dict.fromkeys(NAMES, (0.0, 1.0)))
    return digits([*ranges.mic, *dpmic.pairwise(table).mic])


@sweep("kind", PRIVATE)
def test_a_private_page_holds_nothing_of_the_records(kind):
    source = built(kind)
    records = digits(value for column in data() for value in column)
    assert len(records) > 2000
    assert not [number for number in exact_scores() | records if number in source]


def test_that_search_finds_what_is_there():
    source = built("pairwise")  # not private: it has the exact scores
    assert sum(score in source for score in exact_scores()) >= 6


@sweep("kind", PRIVATE)
def test_a_private_page_follows_from_the_published_text(kind):
    """Of what was published as JSON, without the data, the same page is made."""
    result = results()[kind]
    again = type(result).from_json(result.to_json())
    dates = re.compile(r"20\d\d-\d\d-\d\d[ \d:]*")
    assert dates.sub("", page(again)) == dates.sub("", page(result))


def test_a_page_opens_with_a_sentence_and_ends_with_folded_details():
    for kind in KINDS:
        source = built(kind)
        opening = re.search(r"<p class='headline'>(.+?)</p>", source)
        assert opening, kind
        assert source.index(opening[0]) < source.index("<main>")
        details = source.index("<h2 id=", source.index("How to read this") + 1)
        assert details < source.index("Technical details</h2><details><summary>")
        for word in ("sensitivity", "scale of the noise"):
            assert word not in source[: source.index("Technical details</h2>")]


@sweep("kind", PRIVATE)
def test_the_guarantee_comes_in_plain_words_first(kind):
    result, words = results()[kind], "".join(Outline(built(kind)).words)
    assert words.index(result.protection) < words.index(result.guarantee)
    known = "someone who knows all other records, and is 1% sure of a guess about that record, is"
    if kind == "matrix":
        loose = dataclasses.replace(result, delta=1e-6).protection
        assert "someone who knows all other records uses this result to test whether" in loose
        assert "in 1% of cases detects a replacement in at most 2.8% of cases." in loose
        assert " is weak" in dataclasses.replace(result, delta=1e-6, epsilon=4.0).protection
    else:
        assert f"{known} at most 2.7% sure after seeing the result" in words
    if kind == "release":
        for epsilon, limited in ((3.9, True), (4.0, False)):
            said = dataclasses.replace(result, epsilon=epsilon).protection
            assert ("is limited" in said) == limited == (" is weak" not in said)
        known = {0.1: "1.2%", 5.0: "60%", 10.0: "99.6%", 1000.0: "100%"}
        for epsilon, sure in known.items():
            assert f"at most {sure} sure" in dataclasses.replace(result, epsilon=epsilon).protection


def test_the_band_is_what_unrelated_columns_score():
    for kind in ("screening", "matrix", "release", "groups"):
        result = results()[kind]
        known = max(own.unrelated.most for own in result.relations())
        source = built(kind)
        assert f"unrelated columns score up to {ceiling(known)}</text>" in source
        assert source.count(f"class='chance' y='4' width='{100 * known:.2f}%'") == 1
    other = dataclasses.replace(results()["release"], parameters={"cap": 3.5, "axes": "any"})
    assert other.unrelated is None
    assert "class='chance'" not in page(other)


def test_a_page_speaks_of_the_privacy_unit():
    result = results()["release"]
    for person, rows, each, them in (
        (None, 1, "one record", "records"),
        ("patient", 1, "one person's record", "people"),
        ("patient", 5, "one person's records", "people"),
    ):
        other = dataclasses.replace(result, person=person, rows_per_person=rows)
        words = "".join(Outline(page(other)).words)
        assert f"The noise hides the effect of any {each}, as" in words
        assert f"Epsilon limits the effect of any {each} on" in words
        assert f"published about the same {them} add up" in words
        assert f"The effect of any {each} on this result is limited" in words


def test_a_group_says_what_was_promised_and_not_its_size():
    groups = results()["groups"]
    member = groups["1"]
    for own in (member, type(member).from_json(member.to_json())):
        assert own.guarantee.startswith("For group 1 of half: this MIC of age and ")
        assert own.guarantee.endswith(
            " At least 600 records were promised for this group; its size is not published."
        )
        assert "n = 600" not in own.guarantee
        assert "n=600" not in repr(own)
        shown = "".join(Outline(page(own)).words)
        assert "n = 600" not in shown
        assert "at least 600 records, epsilon" in shown
        assert ("at least 600", "promised; the group's size is not published") in [
            fact[1:] for fact in own.facts()
        ]
    assert repr(groups).count("n>=600 promised") == 2
    assert "Public: n = 1500, by = half" in groups.guarantee


def test_the_rows_of_a_group_stand_together_below_its_name():
    groups = results()["groups"]
    pairs = (("age", "dose"), ("age", "length_of_stay_in_hospital"), ("a" * 30, "b" * 30))
    values = ((0.2, 0.9, 0.3), (0.8, 0.1, 0.1))
    members = tuple(
        dataclasses.replace(
            results()["screening"],
            pairs=pairs,
            values=each,
            estimates=each,
            parameters=m.parameters,
        )
        for m, each in zip(groups.members, values, strict=True)
    )
    source = page(dataclasses.replace(groups, members=members))
    labels = re.findall(
        r"<text( class='value')? x='0' y='\d+'>(?:<title>(.*?)</title>)?(.*?)<", source
    )
    headings = [place for place, (heading, _, _) in enumerate(labels) if heading]
    assert headings == [0, 4]
    assert [labels[place][2] for place in headings] == ["half 0", "half 1"]
    assert labels[1][2] == "age \u00b7 length_of_stay_in_hospital"
    assert labels[2][1] == f"{'a' * 30} \u00b7 {'b' * 30}"  # complete in its tooltip
    listed = re.findall(r"<tr><th scope='row'>(\d)</th>", source)
    assert listed == ["0"] * 3 + ["1"] * 3
    assert "aria-sort='" not in source


def test_a_warning_names_the_call_that_may_be_published():
    for kind, call in (
        ("score", "dpmic.release returns"),
        ("pairwise", "dpmic.screen or dpmic.release_pairwise returns"),
        ("test", "dpmic.release_test returns"),
    ):
        assert f"You may publish what {call}, since it has noise." in built(kind)


def test_a_table_of_one_pair_is_called_that():
    frame, box = data().select("age", NAMES[1]), dict.fromkeys(NAMES[:2], (0.0, 1.0))
    for source in (
        page(dpmic.screen(frame, bounds=box, epsilon=1.0, top=1)),
        page(dpmic.release_pairwise(frame, bounds=box, epsilon=1.0)),
    ):
        assert "<h1>The only pair</h1>" in source
    assert "<h1>MICe of 1 pair</h1>" in page(dpmic.pairwise(frame))


def test_b_has_two_decimals():
    for result in (results()["score"], results()["pairwise"]):
        assert re.fullmatch(r"\d+\.\d\d", result.provenance()["B"])


def test_how_to_read_names_the_promises_that_scores_rely_on():
    unfolded = re.compile(r"How to read this</h2>(.*?)<details>", re.S)
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"age": rng.uniform(size=900), "dose": rng.uniform(size=900)})
    terms = {"data": frame, "bounds": dict.fromkeys(frame.columns, (0, 1)), "epsilon": 4.0}
    dropped = dpmic.release("age", "dose", missing="drop", complete=0.57, **terms)
    for source in (page(dropped), page(dropped, rehearsal=True)):
        assert "that at least 57% of the records have both values" in unfolded.search(source)[1]
    grouped = unfolded.search(built("groups"))[1]
    assert "The smallest number of records in a group is a promise" in grouped
    assert "have both values" not in grouped
    assert "promise" not in unfolded.search(built("release"))[1]


def test_what_each_column_is_comes_from_the_result_and_the_job_file():
    frame = {"age": np.arange(90.0), "pay # x": np.arange(90.0) ** 2}
    bounds = {"age": (0, 120), "pay # x": (0, 9000)}
    asked = {"bounds": bounds, "epsilon": 5.0, "allow_noisy": True}
    result = dpmic.screen(pl.DataFrame(frame), top=1, **asked)
    job = """
[columns]
age = { bounds = [0, 120] }      # in years, "at" admission
"pay # x" = { bounds = [0, 9000] }  # euros & cents
ward = { categories = ["#"] }  # not in the result
[report]
age = 1  # no column
"""
    assert described(result, job) == {
        "age": '0 to 120; in years, "at" admission',
        "pay # x": "0 to 9000; euros & cents",
    }
    assert described(result, None) == {"age": "0 to 120", "pay # x": "0 to 9000"}
    source = page(result, job=job)
    assert "<dd>0 to 9000; euros &amp; cents</dd>" in source
    nominal = dpmic.release(
        *("age", "ward"), data=pl.DataFrame({"age": frame["age"], "ward": ["a", "b", "c"] * 30}),
        bounds={"age": (0, 120)}, categories={"ward": ["a", "b", "c"]}, epsilon=5.0,
        allow_noisy=True, missing={"age": 3, "ward": "a"},
    )  # fmt: skip
    assert described(nominal, None) == {
        "age": "0 to 120; missing values count as 3",
        "ward": "a, b, c; missing values count as a",
    }


def test_years_have_no_commas():
    frame = pl.DataFrame({"born": np.linspace(1900, 2030, 90), "pay": np.arange(90.0) ** 2})
    bounds = {"born": (1900, 2030), "pay": (-20_000, 20_000)}
    result = dpmic.screen(frame, bounds=bounds, epsilon=5.0, top=1, allow_noisy=True)
    shown = {"born": "1900 to 2030", "pay": "-20,000 to 20,000"}
    assert described(result, None) == shown
    assert result.provenance()["bounds of born"] == shown["born"]
    assert "1,900" not in page(result) + result._repr_html_()
    points = dpmic.data.pair("born", "pay", data=frame)
    ticks = page(dpmic.micr("born", "pay", data=frame, bounds=(*bounds.values(),)), points=points)
    assert ">1950<" in ticks
    assert "1,9" not in ticks


def test_a_demonstration_shows_exact_values_and_says_why_it_may():
    result = results()["screening"]
    exact = dict.fromkeys(result.pairs, 0.123456)
    options = {"columns": {"age": "in years"}, "title": "Public", "command": "dpmic demo"}
    source = demonstration(result, exact, reason="the data are public", **options)
    assert source.count("data-number='0.123456'>0.1235") == 3
    assert source.count("class='mark' x='12.35%'") == 3
    assert "0 to 1; in years" in source
    notice = source.index("This page may show them, because the data are public.")
    assert notice < source.index("<svg")
    assert "<h2 id='promise'>Not private" in source
    assert "Guarantee of the noisy values alone" in source
    assert ">Guarantee<" not in source
    assert "epsilon" not in re.search(r"<header>.*?</header>", source)[0]


def test_a_demonstration_is_not_private_and_not_public(tmp_path):
    result = results()["screening"]
    options = {"reason": "of the test", "columns": {}, "title": "Public", "command": "dpmic demo"}
    source = demonstration(result, dict.fromkeys(result.pairs, 0.5), **options)
    assert ", not private'>" in source[:200]
    path = dpmic.report.save(source, tmp_path / "demo.html")
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
    assert dpmic.report.__all__ == ["page", "refuse_unwritable", "save"]


def test_many_lines_give_way_to_medians():
    x = np.linspace(0, 1, 1000)
    waves = np.sin(40 * x)
    source = page(dpmic.mice(x, waves), points=pair(x, waves))
    drawn = re.search(r"class='medians' d='([^']+)'", source)[1]
    places = np.array(re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)", drawn), float)
    assert len(places) > MOST_LINES
    for left, middle, right in places:
        inside = (x > left / 1000 + 1e-3) & (x < right / 1000 - 1e-3)
        if inside.sum() > 5:
            expected = 1000 - 500 * (1 + np.median(waves[inside]))
            assert middle == pytest.approx(expected, abs=60)
    turned = page(dpmic.mice(waves, x), points=pair(waves, x))
    drawn = re.search(r"class='medians' d='([^']+)'", turned)[1]
    assert len(re.findall("V", drawn)) == len(places)


def test_categories_have_no_median_and_no_asymmetry():
    x = np.linspace(0, 1, 2000)
    ward = np.where(np.sin(60 * x) > 0, "a", "b")
    source = page(dpmic.mice(x, ward), points=(x, ward))
    assert "more than can be drawn." in source
    assert "class='medians'" not in source
    assert "not defined" in source
    assert "nan" not in re.sub(r"<(style|script)>.*?</\1>", "", source, flags=re.S)
    letters = np.array([*"ABCDEFGHIJKLMNOPQRST"])[(20 * x).astype(int).clip(0, 19)]
    source = page(dpmic.mice(x, letters), points=(x, letters))
    assert "class='medians'" in source  # of x in each category


def test_axes_with_most_values_in_a_corner_are_spaced_by_rank(rng):
    pay = np.exp(2 * rng.normal(size=999))
    points = (pay, pay + rng.uniform(size=999))
    source = page(dpmic.mice(*points), points=points)
    assert source.count("<text class='axis'") == source.count(", spaced by rank</text>") == 2
    assert "gives every record the same room" in source
    dots = re.search(r"class='points' d='([^']+)'", source)[1]
    places = np.array(re.findall(r"M([\d.]+) ", dots), float)
    assert np.sort(places) == pytest.approx(1000 * (np.arange(999) + 0.5) / 999, abs=0.1)
    years = Axis.of("year", Variable(np.r_[rng.integers(1995, 2020, 200), 99_999.0]))
    assert len(years.ticks()) == 5  # two significant digits would leave two
    assert "spaced by rank" not in page(dpmic.mice(-pay, x := np.log(pay)), points=(x, x + 1))


def test_the_histogram_shown_is_the_noisy_one():
    result = results()["histogram"]
    assert isinstance(result, HistogramRelease)
    numbers = re.findall(r"data-number='(\d+)'", built("histogram"))
    shown = np.array(numbers, int).reshape(result.m, result.m)
    assert (shown == result.histogram).all()
    x, y = data()["age"], data()[result.names[1]]
    exact = np.histogram2d(y, x, bins=(result.y_edges, result.x_edges))[0]
    assert (shown != exact).any()


def test_nothing_can_be_added_to_a_private_page():
    points = pair("age", NAMES[1], data=data())
    for options in ({"points": points}, {"others": (results()["score"],)}):
        with pytest.raises(ParameterError, match="published and nothing else"):
            page(results()["release"], **options)


# what is refused


def test_what_does_not_belong_together_is_refused():
    points = pair("age", NAMES[1], data=data())
    score, pairwise = results()["score"], results()["pairwise"]
    with pytest.raises(ParameterError, match="no page shows it"):
        page([1, 2, 3])
    with pytest.raises(ParameterError, match="no page shows it"):
        page(dpmic.plan(1000, 1.0))
    with pytest.raises(ParameterError, match="spends nothing"):
        page(score, ledger=Budget())
    with pytest.raises(ParameterError, match="others=\\(score,\\)"):
        page(pairwise, points=points)
    with pytest.raises(ParameterError, match="one score"):
        page(pairwise, points=points, others=(score, score))
    few = Pair(points.x[:9], points.y[:9], points.names)
    with pytest.raises(InputError, match="9 points: the score is of 1500 records"):
        page(score, points=few)


# sizes and extremes


def test_a_large_table_is_cut_and_says_so(rng):
    names = [f"column {i}" for i in range(MOST_COLUMNS + 10)]
    wide = pl.DataFrame(rng.normal(size=(60, len(names))), schema=names)
    source = page(dpmic.pairwise(wide))
    assert source.count("<tr>") == 301
    assert "The 300 strongest of 1,225 are listed." in source
    assert f"at most {MOST_COLUMNS} on each side" in source
    assert source.count("rotate(-90)") == MOST_COLUMNS


def test_many_points_are_thinned_and_it_says_so(rng, monkeypatch):
    minute = datetime.datetime(2026, 11, 19, 12, 30)  # a page says when it was made
    clock = SimpleNamespace(now=lambda _: minute)
    monkeypatch.setattr("dpmic.report._assembly.datetime", clock)
    x, y = rng.normal(size=(2, MOST_POINTS + 1000))
    source = page(dpmic.mice(x, y), points=pair(x, y))
    assert source.count("h0") == MOST_POINTS
    assert "4,000 of 5,000 records are drawn" in source
    assert source == page(dpmic.mice(x, y), points=pair(x, y))


def test_pairs_without_a_score_are_told():
    gaps = np.full((8, 3), np.nan)
    gaps[:, 0] = np.arange(8)
    gaps[:4, 1] = gaps[4:, 2] = np.arange(4)
    source = page(dpmic.pairwise(gaps, missing="drop"))
    assert "1 pair had too few records with both values" in source
    assert ">nan<" not in source


@pytest.mark.parametrize("far", [1.7e308, 5e-324, 1e-300])
def test_points_of_any_size_have_a_place(far):
    x = np.linspace(-1, 1, 8) * far
    source = page(dpmic.mice(x, np.ones(8)), points=pair(x, np.ones(8)))
    drawn = re.search(r"class='points' d='([^']+)'", source)[1]
    places = [float(n) for n in re.findall(r"[-\d.]+(?=[ h])", drawn)]
    assert len(places) == 16
    assert min(places) >= 0
    assert max(places) <= 1000


def test_a_test_with_one_value_of_chance_is_drawn():
    one = IndependenceTest(statistic=0.5, pvalue=1.0, n=9, B=9.0, c=5.0, null=np.full(5, 0.5))
    assert Outline(page(one)).all("rect")


def test_a_range_that_was_not_found_is_told():
    answers = (dpmic.estimate_bounds(np.arange(5.0), epsilon=0.01) for _ in range(9))
    few = next(answer for answer in answers if not answer.found)  # one in a hundred is
    source = page(few)
    assert "none found" in source
    assert "No ledger was used" in source


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_few_and_inside(low, span):
    axis = Axis("x", low, low + span)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 7
    slack = 1e-9 * (abs(low) + span)
    assert all(axis.low - slack <= tick <= axis.high + slack for tick in ticks)


@given(st.floats(-700_000, 2_900_000), st.floats(0, 30_000))
def test_marks_of_dates_are_few_and_inside(low, span):
    marks = calendar(low, low + span)
    places = [place for place, _ in marks]
    assert 1 <= len(marks) <= 7
    assert places == sorted(set(places))
    assert all(low <= place <= low + span for place in places)
    assert len({words for _, words in marks}) == len(marks) or span < 0.01


def test_dates_beyond_the_calendar_are_days():
    far = np.datetime64("12000-01-01", "s") + np.arange(50).astype("timedelta64[D]")
    points = (far, np.arange(50.0))
    assert ">day 3,663,382<" in page(dpmic.mice(*points), points=points)
    assert calendar(-800_000, 0) == [(-800_000, "day -800,000"), (0, "1970-01-01")]
    assert len(calendar(19_000.8, 19_001.2)) == 2


@pytest.mark.parametrize("kind", [list, np.array, pl.Series, pd.Series, pa.array])
def test_an_axis_of_dates_shows_dates(kind):
    days = np.arange(400)
    dates = kind([datetime.date(2022, 1, 1) + datetime.timedelta(int(day)) for day in days])
    points = (dates, np.sin(days / 40))
    score = dpmic.mice(*points)
    test = dpmic.independence_test(*points, permutations=9, rng=0)
    for source in (page(score, points=points), page(test, points=points, others=(score,))):
        assert re.findall(r">(20\d\d-\d\d)<", source) == [
            "2022-01",
            "2022-04",
            "2022-07",
            "2022-10",
            "2023-01",
        ]
        assert "19,000" not in source


def test_a_published_histogram_of_dates_shows_dates():
    dates = [datetime.date(2022, 1, 1) + datetime.timedelta(day) for day in range(400)]
    box = ((datetime.date(2020, 1, 1), datetime.date(2024, 1, 1)), (0, 400))
    release = dpmic.release(
        dates, range(400), bounds=box, epsilon=1.0, mechanism="micr-geometric", allow_noisy=True
    )
    assert release.dates == (True, False)
    source = page(release)
    assert re.findall(r"anchor='\w+'>(20\d\d)<", source) == ["2020", "2021", "2022", "2023", "2024"]
    assert ">2020-01-01 to 20" in source


def test_one_person_is_the_unit_that_is_shown():
    several = dpmic.release(
        *(np.arange(50.0), np.arange(50.0)), epsilon=1.0, bounds=((0, 50), (0, 50)),
        rows_per_person=3, allow_noisy=True,
    )  # fmt: skip
    assert isinstance(several, Release)
    assert "one person, with at most 3 records" in page(several)


def test_columns_are_points(tmp_path):
    """Two columns do as they are; records with a gap are left out, as in the score."""
    x, y = np.append(np.linspace(0, 1, 60), np.nan), np.append(np.linspace(0, 1, 60) ** 2, 1.0)
    score = dpmic.mice(x, y, missing="drop")
    source = page(score, points=(x, y))
    assert "Each dot is a record" in source
    assert "60 points of x across and y up" in source
    for points in (x, (x,), "xy", ("x", "y")):
        with pytest.raises(ParameterError, match="two columns are needed; pass the columns"):
            page(score, points=points)


def test_a_page_says_which_data_it_is_of_and_when_it_was_drawn(tmp_path):
    frame = pa.table({"a": np.arange(500.0), "b": np.arange(500.0)})
    ledger = dpmic.Ledger(tmp_path / "l", epsilon=1.0)
    asked = {"data": frame, "epsilon": 1.0, "bounds": ((0, 500), (0, 500))}
    asked |= {"ledger": str(tmp_path / "l"), "dataset": "visits <2024>"}  # a path will do
    first, again = (page(dpmic.release("a", "b", **asked), ledger=ledger) for _ in range(2))
    drawn = ledger.history()[0].answered_at[:16].replace("T", " ") + " UTC"
    assert "visits &lt;2024&gt;" in first
    assert "stored answer" not in first
    assert f"stored answer of {drawn} for the dataset visits &lt;2024&gt;" in again
