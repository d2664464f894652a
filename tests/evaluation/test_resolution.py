"""What MICe resolves: the committed table is what is measured, and the pages say what it holds."""

import re

import pytest
from project import ROOT

import dpmic
from dpmic.evaluation import resolution, tables

ROWS = tables.read(ROOT / "docs" / "results" / "resolution.csv")
PAGE = (ROOT / "docs" / "guides" / "resolution.md").read_text()
SINE = "sine, 4 periods"


def at(name, n):
    (row,) = [row for row in ROWS if (row["relationship"], row["n"]) == (name, n)]
    return row


def test_the_table_is_what_is_measured():
    for n in (100, 1000):
        (row,) = resolution.measure({n: resolution.SAMPLES[n]}, [SINE])
        assert row == pytest.approx(at(SINE, n), abs=1e-5)


def test_the_table_is_complete():
    assert [(row["relationship"], row["n"]) for row in ROWS] == [
        (name, n) for name in resolution.RELATIONSHIPS for n in resolution.SAMPLES
    ]


def test_the_page_says_what_the_table_holds():
    header, *lines = re.findall(r"^\| (.+) \|$", PAGE, re.MULTILINE)
    sizes = [int(text.removeprefix("n = ").replace(",", "")) for text in header.split(" | ")[1:]]
    shown = [line.split(" | ") for line in lines]
    assert {name for name, *_ in shown} == set(resolution.RELATIONSHIPS)
    for name, *cells in shown:
        rows = [at(name, n) for n in sizes]
        assert cells == [f"{row['mice']:.2f} ({row['mic']:.2f})" for row in rows]
    assert "![" in PAGE
    assert "(../results/resolution.svg)" in PAGE


@pytest.mark.parametrize(
    "text",
    [dpmic.mice.__doc__, PAGE, (ROOT / "docs" / "known-limitations.md").read_text()],
    ids=["docstring", "guide", "limitations"],
)
def test_what_is_quoted_of_a_noiseless_sine_is_measured(text):
    few, many = re.search(
        r"noiseless\s+sine\s+of\s+4\s+periods\s+scores\s+(0\.\d\d)\s+at\s+n\s+=\s+100\s+and\s+"
        r"(0\.\d\d)\s+at\s+n\s+=\s+1000",
        text,
    ).groups()
    assert few == f"{at(SINE, 100)['mice']:.2f}"
    assert many == f"{at(SINE, 1000)['mice']:.2f}"


def test_the_rules_of_the_page():
    """A sine of p half waves: 1 - 1.1 p / n^0.6 from n = 500 on; mic has 1 where B / 2 >= p."""
    for periods in (1, 2, 4, 8):
        pieces = 2 * periods
        for row in ROWS:
            if row["relationship"].startswith(f"sine, {periods} "):
                if row["n"] >= 500:
                    expected = 1 - 1.1 * pieces / row["n"] ** 0.6
                    assert row["mice"] == pytest.approx(expected, abs=0.05), row
                assert (row["mic"] > 0.99) == (row["n"] ** 0.6 // 2 >= pieces), row


def test_what_mic_costs_is_as_the_page_says():
    """Independent columns score higher."""
    for n, times in ((50, 1.7), (100, 2), (1000, 3.5)):
        row = at("independent", n)
        assert row["mic"] / row["mice"] == pytest.approx(times, abs=0.05)
        assert f"{times} " in PAGE
    assert dpmic.mic.__doc__.count(f"{at(SINE, 100)['mic']:.2f} at n = 100") == 1


@pytest.mark.slow
def test_table_and_figure_are_made(tmp_path):
    pytest.importorskip("matplotlib")
    resolution.write(tmp_path, samples={50: 2, 100: 2})
    rows = tables.read(tmp_path / "resolution.csv")
    assert len(rows) == 2 * len(resolution.RELATIONSHIPS)
    assert all(0 <= row["low"] <= row["mice"] <= row["high"] <= 1 for row in rows)
    assert (tmp_path / "resolution.svg").stat().st_size < 150_000
    panels = resolution.draw(rows).axes
    assert [len(panel.lines) for panel in panels] == [len(resolution.RELATIONSHIPS)] * 2
