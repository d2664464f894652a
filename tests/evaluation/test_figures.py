import sys

import fabricated
import numpy as np
import pytest

from dpmic.errors import DependencyError
from dpmic.evaluation import figures
from dpmic.evaluation.grid_figure import grid_figure
from dpmic.evaluation.tables import CONTENDERS, named

NAMES = [
    "synthetic-1",
    "synthetic-0.1",
    "wsum-1",
    "wsum-0.1",
    "parameters",
    "real-Baseball-1",
    "real-Spellman23-1",
    "real-Spellman4381-1",
    "consistency",
    "error-rate",
    "grids",
]


@pytest.fixture(scope="module")
def tables():
    return fabricated.tables()


@pytest.fixture(scope="module")
def saved(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures") / "deep"
    drawn = figures.drawn(tables, fabricated.EXAMPLE)
    return {name: figures.save(figure, folder, name) for name, figure in drawn}


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.slow
def test_every_figure_is_drawn_and_saved(saved):
    assert list(saved) == NAMES
    for name, (png, svg) in saved.items():
        assert (png.name, svg.name) == (f"{name}.png", f"{name}.svg")
        assert png.read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in svg.read_text()


@pytest.mark.slow
def test_the_same_table_gives_the_same_bytes(saved, tmp_path):
    again = fabricated.tables()
    for name, figure in {
        "synthetic-1": figures.synthetic_boxplots(again["synthetic"], 1.0),
        "wsum-0.1": figures.wsum_curves(again["wsum"], 0.1),
        "consistency": figures.consistency(again["consistency"]),
        "grids": figures.grids(fabricated.EXAMPLE),
    }.items():
        for old, new in zip(saved[name], figures.save(figure, tmp_path, name), strict=True):
            assert old.read_bytes() == new.read_bytes(), new.name


@pytest.mark.slow
def test_another_table_gives_other_bytes(saved, tmp_path):
    figure = figures.synthetic_boxplots(fabricated.tables(seed=2)["synthetic"], 1.0)
    png, _ = figures.save(figure, tmp_path, "synthetic-1")
    assert png.read_bytes() != saved["synthetic-1"][0].read_bytes()


def test_missing_tables_are_left_out(tables):
    names = [name for name, _ in figures.drawn({"wsum": tables["wsum"], "real": []})]
    assert names == ["wsum-1", "wsum-0.1"]


def test_every_contender_has_its_own_colour():
    assert set(figures.STYLES) == {contender.key for contender in CONTENDERS}
    assert len({style.colour for style in figures.STYLES.values()}) == len(CONTENDERS)
    for contender in CONTENDERS:
        style = figures.STYLES[contender.key]
        published = contender.group == "published"
        assert bool(style.hatch) == published == (style.line == "--")


@pytest.mark.slow
def test_micr_geom_is_marked_in_every_legend_that_has_it(tables):
    guarantee = named("micr-geom").guarantee
    for figure in (
        figures.synthetic_boxplots(tables["synthetic"], 1.0),
        figures.wsum_curves(tables["wsum"], 0.1),
        figures.real_boxplots(tables["real"], "Baseball", 1.0),
        figures.consistency(tables["consistency"]),
    ):
        assert [guarantee in label for label in legend(figure) if "Geom" in label] == [True]


def test_wsum_draws_the_rows_it_is_given(tables):
    axes = figures.wsum_curves(tables["wsum"][::-1], 1.0).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert len(lines) == len(CONTENDERS)
    x, y = lines[named("ours").label].get_data()
    assert x.tolist() == list(fabricated.SIZES)
    np.testing.assert_allclose(y, [fabricated.scale("ours", n, 1.0) for n in fabricated.SIZES])


def test_consistency_draws_every_statistic(tables):
    figure = figures.consistency(tables["consistency"])
    assert len(legend(figure)) == 1 + len({row["statistic"] for row in tables["consistency"]})
    assert all(len(line.get_xdata()) for ax in figure.axes for line in ax.get_lines())


def test_error_rate_has_one_panel_for_each_comparison(tables):
    rows = tables["error_rate"]
    figure = figures.error_rate(rows[::-1])
    compared = list(dict.fromkeys(row["compared"] for row in rows))
    assert [ax.get_title().split("\n")[0] for ax in figure.axes] == compared[::-1]
    for ax, name in zip(figure.axes, compared[::-1], strict=True):
        mine = [row for row in rows if row["compared"] == name]
        lines = {line.get_label().split(":")[0]: line for line in ax.get_lines()}
        x, y = lines["line"].get_data()
        expected = [(row["n"], row["measured"]) for row in mine if row["relationship"] == "line"]
        assert list(zip(x, y, strict=True)) == expected
        n, bound = lines["proved"].get_data()
        assert all(bound > [row["measured"] for row in sorted(mine, key=lambda row: row["n"])])
        np.testing.assert_allclose(
            np.ptp(bound / n ** mine[0]["exponent"] / np.log(n)), 0, atol=1e-9
        )


@pytest.mark.parametrize(
    ("collection", "counts"), [("Spellman4381", [1, 2, 1, 1, 2]), ("Baseball", [3, 2, 1, 0, 1])]
)
def test_pairs_are_binned_as_in_the_paper(collection, counts):
    scores = [0.0, 0.1, 0.19, 0.2, 0.3, 0.4, 1.0]
    rows = [
        {
            "collection": collection,
            "pair": str(i),
            "mechanism": "ours",
            "epsilon": 1.0,
            "mice": mice,
            "bias": 0.1,
            "variance": 0.0,
            "error": 0.1,
        }
        for i, mice in enumerate(scores)
    ]
    bottom = figures.real_boxplots(rows, collection, 1.0).axes[1]
    labels = [label.get_text() for label in bottom.get_xticklabels()]
    assert [int(label.split("\n")[1].split()[0]) for label in labels] == counts


def test_a_box_holds_one_contender_and_one_n():
    rng = np.random.default_rng(5)
    rows = fabricated.synthetic(rng)
    top = figures.synthetic_boxplots(rows, 1.0).axes[0]
    middles = [line.get_ydata()[0] for line in top.get_lines() if line.get_linewidth() == 1.3]
    expected = [
        np.median(
            [r["bias"] for r in rows if (r["mechanism"], r["n"], r["epsilon"]) == (key, n, 1.0)]
        )
        for key in figures.BOXED
        for n in fabricated.SIZES
    ]
    np.testing.assert_allclose(middles, expected)


def test_the_first_figure_shows_its_matrices_from_top_to_bottom():
    example = grid_figure()
    axes = {ax.get_title(): ax for ax in figures.grids(example).axes}
    texts = axes["Counts, range (blue)"].texts
    shown = {text.get_position(): float(text.get_text()) for text in texts}
    counts = example["range_counts"]
    assert shown[(0.5, len(counts) - 0.5)] == counts[0][0]
    assert shown[(0.5, 0.5)] == counts[-1][0]
    assert sum(float(t.get_text()) for t in axes["Range counts, normalised"].texts) == 1


def test_without_matplotlib_the_remedy_is_named(tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DependencyError, match="pip install 'dpmic"):
        figures.wsum_curves(tables["wsum"], 1.0)
