import re
from html import escape
from html.parser import HTMLParser

import fabricated
import pytest

from dpmic.evaluation import figures
from dpmic.evaluation.page import claims, inlined, page
from dpmic.evaluation.tables import named

SECTIONS = [
    "What this page is",
    "Summary",
    "Synthetic data",
    "Parameters",
    "Real data",
    "Bounds wider than the data",
    "Consistency",
    "First figure",
    "Notes",
]
PROVENANCE = {"command": "dpmic reproduce all --seed 7", "seed": "7", "iterations": "50 <&> 100"}
SHOWN = ("synthetic-1", "wsum-0.1", "parameters", "real-Baseball-1", "consistency", "error-rate")
IMAGES = dict.fromkeys((*SHOWN, "grids"), "data:image/png;base64,AAAA")
VOID = {"meta", "img", "br", "link", "input"}


class Checker(HTMLParser):
    """Open tags must be closed in order; what stands in them is kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def tables():
    return fabricated.tables()


@pytest.fixture(scope="module")
def text(tables):
    return page(tables, IMAGES, PROVENANCE)


def titles(text):
    return re.findall(r"<h2[^>]*>(.*?)</h2>", text)


def section(text, name):
    return re.search(rf'<section id="{name}".*?</section>', text, flags=re.S).group()


def row_of(text, first):
    """Return the cells after the first of the only row whose first cell starts like that."""
    (row,) = [r for r in re.findall(r"<tr>(.*?)</tr>", text, re.S) if f'"row">{first}<' in r]
    return re.findall(r"<td>(.*?)</td>", row, re.S)


def changed(rows, where, **new):
    """Return the rows, those that match changed; at least one must."""
    hit = [all(row[k] == v for k, v in where.items()) for row in rows]
    assert any(hit)
    return [row | new if is_hit else row for row, is_hit in zip(rows, hit, strict=True)]


def test_every_section_is_there_and_linked(text):
    assert titles(text) == SECTIONS
    ids = re.findall(r'<section id="(\w+)"', text)
    assert re.findall(r'<li><a href="#(\w+)">', text) == ids


def test_it_is_sound_html_that_says_what_it_shows(text):
    checker = Checker(text)
    assert checker.all("html") == [{"lang": "en"}]
    assert all(cell["scope"] in ("col", "row") for cell in checker.all("th"))
    assert len(checker.all("caption")) == len(checker.all("table")) > 10
    images = checker.all("img")
    assert len(images) == len(IMAGES)
    assert all(len(image["alt"]) > 20 for image in images)


def test_it_loads_nothing(text):
    checker = Checker(text)
    assert not {"script", "link", "iframe", "object", "embed"} & {tag for tag, _ in checker.tags}
    assert all(image["src"].startswith("data:") for image in checker.all("img"))
    assert not re.search(r"https?://|url\(|@import", text)


def test_every_table_links_its_file(text, tables):
    links = {a["href"] for a in Checker(text).all("a") if not a["href"].startswith("#")}
    assert links == {f"tables/{name}.csv" for name in tables}


def test_text_is_escaped(tables):
    evil = "<script>alert('1')</script>"
    dirty = {
        "consistency": [row | {"relationship": evil} for row in tables["consistency"]],
        "medians": [row | {"note": evil, "collection": evil} for row in tables["medians"]],
    }
    images = {f"real-{evil}-1": f'x" onerror="{evil}'}
    text = page(dirty, images, {evil: evil})
    checker = Checker(text)
    assert "script" not in {tag for tag, _ in checker.tags}
    assert "&lt;script&gt;" in text
    assert all(set(image) == {"src", "alt"} for image in checker.all("img"))


def test_provenance_is_told(text):
    about = section(text, "about")
    assert "dpmic reproduce all --seed 7" in about
    assert "50 &lt;&amp;&gt; 100" in about


def test_micr_geom_is_marked_wherever_it_stands(text):
    label, guarantee = re.escape(named("micr-geom").label), named("micr-geom").guarantee
    said = re.findall(rf"{label}(.{{0,90}})", text, flags=re.S)
    assert len(said) > 10
    assert all(guarantee in after for after in said)
    assert guarantee in section(text, "notes")


def test_both_rates_are_shown(text, tables):
    shown = section(text, "consistency")
    for row in tables["error_rate"]:
        assert f"<td>{row['compared']}</td>" in shown
        assert escape(row["theorem"]) in shown
    alt = [image["alt"] for image in Checker(shown).all("img")]
    assert all("MICr-Geom" in words and "not epsilon-DP" in words for words in alt)
    assert len(alt) == 2


def test_lower_is_said_only_where_it_is(tables):
    found = claims(tables)
    assert len(found) == 2 * 3 + 2 * len(fabricated.SIZES)
    summary = section(page(tables, {}, {}), "summary")
    assert "not lower" not in summary
    assert f"The value is lower in {len(found)} of {len(found)} comparisons." in summary


@pytest.mark.parametrize("error", [0.5, 0.069])
def test_not_lower_is_said_plainly(tables, error):
    where = {"collection": "Baseball", "epsilon": 0.1, "mechanism": "ours-capped"}
    worse = tables | {"medians": changed(tables["medians"], where, error=error)}
    summary = section(page(worse, {}, {}), "summary")
    assert "The value is lower in 13 of 14 comparisons." in summary
    listed = summary.partition("not lower</strong> at:")[2].partition("</ul>")[0]
    assert listed.count("<li>") == 1
    assert f"Baseball, epsilon = 0.1: Median unsigned error {error:.3f}, against 0.069" in listed
    value, estimate, _ = row_of(summary, "Baseball, epsilon = 0.1")
    assert "not lower" in value
    assert "not lower" not in estimate


def test_goals_are_judged(tables):
    rows = changed(
        tables["wsum"], {"mechanism": "ours-capped", "n": 1000, "epsilon": 1.0}, wsum=0.031
    )
    where = {"mechanism": "ours-capped-estimate", "n": 1000, "epsilon": 1.0}
    met = page({"wsum": changed(rows, where, wsum=0.030)}, {}, {})
    assert row_of(section(met, "summary"), "n = 1,000, epsilon = 1")[-1] == (
        "at most 0.03: met by the estimate"
    )
    missed = page({"wsum": changed(rows, where, wsum=0.0301)}, {}, {})
    assert "not met" in row_of(section(missed, "summary"), "n = 1,000, epsilon = 1")[-1]


def test_the_best_that_keeps_its_epsilon_is_bold(tables):
    rows = changed(tables["wsum"], {"mechanism": "micr-geom", "n": 25}, wsum=0.001)
    rows = changed(rows, {"mechanism": "noisy-table", "n": 25}, wsum=0.002)
    synthetic = section(page({"wsum": rows}, {}, {}), "synthetic")
    first = [re.search(r"<td>(.*?)</td>", row).group(1) for row in synthetic.split("<tr>")[2:15]]
    assert [cell for cell in first if "<strong>" in cell] == ["<strong>0.002</strong>"]


def test_rows_far_from_the_print_are_flagged(tables):
    at = {"collection": "Baseball", "epsilon": 1.0, "mechanism": "micr-lap"}
    note = "published binning & ours"
    near = changed(tables["medians"], at, bias=0.04, error=0.107, printed_error=0.097)
    assert "differs from" not in section(page({"medians": near}, {}, {}), "real")
    far = section(page({"medians": changed(near, at, bias=0.0401, note=note)}, {}, {}), "real")
    assert far.count("differs from the paper") == 1
    assert (
        "MICr-Lap (published): differs from the paper, bias by +0.020: published binning &amp;"
        in far
    )
    far = section(page({"medians": changed(near, at, error=0.11)}, {}, {}), "real")
    assert "error by +0.013: no reason is recorded" in far


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([], ["What this page is", "Notes"]),
        (["real", "medians"], ["What this page is", "Summary", "Real data", "Notes"]),
        (["parameters_tuned"], ["What this page is", "Parameters", "Notes"]),
        (["error_rate"], ["What this page is", "Consistency", "Notes"]),
    ],
)
def test_missing_tables_are_left_out(tables, kept, expected):
    text = page({name: tables[name] for name in kept}, {}, PROVENANCE)
    assert titles(text) == expected
    assert "<figure>" not in text


def test_empty_cells_show_no_nan(tables):
    nan = float("nan")
    medians = [row | {"printed_error": nan} for row in tables["medians"]]
    wsum = [row | {"wsum": nan} for row in tables["wsum"]]
    assert "nan" not in re.sub(
        r"<style>.*?</style>", "", page({"medians": medians, "wsum": wsum}, {}, {})
    )


@pytest.mark.slow
def test_small_figures_are_svg_and_large_ones_png(tables, tmp_path):
    figures.save(figures.error_rate(tables["error_rate"]), tmp_path, "rate")
    assert inlined(tmp_path, "rate").startswith("data:image/svg+xml;base64,")
    with (tmp_path / "rate.svg").open("a") as file:
        file.write(" " * 200_000)
    assert inlined(tmp_path, "rate").startswith("data:image/png;base64,iVBOR")
