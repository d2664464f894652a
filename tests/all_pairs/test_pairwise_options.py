"""Options for tables: one target, correlations, the test's own grids, q-values and networks."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats
from pyarrow import parquet

import dpmic
from dpmic.results.pairwise import independent_share


@pytest.fixture
def frame():
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, 120)
    return pd.DataFrame(
        {
            "x": x,
            "line": 2 * x + rng.normal(0, 0.1, 120),
            "square": x**2 + rng.normal(0, 0.05, 120),
            "noise": rng.standard_cauchy(120),
            "same": np.ones(120),
            "ward": np.where(x > 0, "a", "b"),
        }
    )


# One target


def test_a_target_is_scored_with_the_others(frame):
    every = dpmic.pairwise(frame)
    for name in ("x", "ward"):
        result = dpmic.pairwise(frame, target=name)
        assert result.names == (name,)
        assert result.others == tuple(other for other in frame if other != name)
        for _, other, mic in result.top(9):
            # in the other direction sums are taken in another order
            assert mic == pytest.approx(every.value(name, other), abs=1e-12)
    with pytest.raises(dpmic.InputError, match="target = 'wart': there is no such column; did"):
        dpmic.pairwise(frame, target="wart")


def test_a_target_of_rows_that_come_in_parts(frame):
    numbers = frame[["x", "line", "square"]]
    box = {"x": (-1, 1), "line": (-3, 3), "square": (-1, 2)}
    options = {"statistic": "micr", "bounds": box, "B": 30, "target": "line"}
    batches = pa.Table.from_pandas(numbers).to_batches(max_chunksize=50)
    streamed, whole = dpmic.pairwise(iter(batches), **options), dpmic.pairwise(numbers, **options)
    assert streamed.names == ("line",)
    assert streamed.mic == pytest.approx(whole.mic, abs=1e-12)
    with pytest.raises(dpmic.ParameterError, match="pearson: it needs all records"):
        dpmic.pairwise(iter(batches), **options, pearson=True)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v])])
def test_a_series_is_a_table_of_one_column(frame, make):
    column = make(frame["x"].to_numpy())
    result = dpmic.cross(frame[["line", "noise"]], column)
    assert result.others == ("y",)
    assert result.value("line", "y") == dpmic.mice("line", "x", data=frame).mic
    assert dpmic.cross(column, frame).names == ("x",)
    assert dpmic.cross(frame["line"], frame["ward"]).pairs == (("line", "ward"),)


# Correlations


def test_correlations_are_those_of_scipy(frame):
    frame.loc[::7, "line"] = np.nan
    result = dpmic.pairwise(frame, pearson=True, missing="drop")
    for at, (x, y) in enumerate(result.pairs):
        there = frame[[x, y]].dropna()
        if {"ward", "same"} & {x, y}:
            assert np.isnan([result.pearson[at], result.spearman[at]]).all()
            continue
        r = scipy.stats.pearsonr(there[x], there[y]).statistic
        assert result.pearson[at] == pytest.approx(r, abs=1e-12)
        rho = scipy.stats.spearmanr(there[x], there[y]).statistic
        assert result.spearman[at] == pytest.approx(rho, abs=1e-12)
        assert result.nonlinearity[at] == pytest.approx(result.mic[at] - r**2, abs=1e-12)
    fields = ["x", "y", "mic", "pearson", "spearman", "nonlinearity", "records"]
    assert result.to_frame("polars").columns == fields
    assert dpmic.Pairwise.from_json(result.to_json()) == result


def test_correlations_of_large_numbers_and_of_numbers_far_from_0():
    x = np.array([1e300, -1e300, 5e299, 3e299, 0.0])
    far = 1e9 + np.arange(5.0)
    result = dpmic.pairwise(np.column_stack([x, x, far, -far]), pearson=True)
    assert result.pearson[[0, 5]] == pytest.approx([1, -1], abs=1e-9)


def test_correlations_are_kept_in_the_file(tmp_path, frame):
    path = tmp_path / "scores.parquet"
    result = dpmic.pairwise(frame, pearson=True, out=path)
    assert parquet.read_schema(path).names[2:] == ["mic", "pearson", "spearman", "nonlinearity"]
    assert dpmic.pairwise(frame, pearson=True, out=path) == result
    with pytest.raises(dpmic.ParameterError, match="other pearson"):
        dpmic.pairwise(frame, out=path)


# Tests


def test_the_grids_of_the_test_are_said_if_they_are_not_the_usual_ones(frame):
    plain, fine = (
        dpmic.pairwise(frame[["x", "noise"]], pvalues=True, permutations=50, rng=1, **more)
        for more in ({}, {"test_B": 30, "test_c": 2})
    )
    assert plain.parameters.keys() == {"B", "c", "master"}
    assert (fine.parameters["test_B"], fine.parameters["test_c"]) == (30, 2)


def test_the_options_of_the_test_reach_it(monkeypatch, frame):
    from dpmic.all_pairs import work

    seen = []
    monkeypatch.setattr(work.Null, "compare", lambda _, x, y, __: (0.0, seen.append(x.limits) or 1))
    dpmic.pairwise(frame[["x", "ward"]], pvalues=True, permutations=5, test_B=30, test_c=2)
    assert [(limits.B, limits.c) for limits in seen] == [(30, 2)]


@pytest.mark.parametrize("option", [{"test_B": 30}, {"test_c": 2}, {"qvalues": "storey"}])
def test_options_of_tests_need_tests(frame, option):
    with pytest.raises(dpmic.ParameterError, match="only p-values need it; pass pvalues=True"):
        dpmic.pairwise(frame, **option)
    with pytest.raises(dpmic.ParameterError, match="qvalues = 'fdr': .*'bh' or 'storey'"):
        dpmic.pairwise(frame, pvalues=True, qvalues="fdr")


def published(pvalues, **parameters):
    names = tuple(f"c{i}" for i in range(len(pvalues)))
    mic = np.linspace(0.9, 0.1, len(pvalues))
    facts = {"statistic": "mice", "n": 50, "permutations": 999, "others": names}
    return dpmic.Pairwise(
        names=("t",), parameters=parameters, mic=mic, pvalues=np.array(pvalues), **facts
    )


def test_storey_counts_how_many_are_independent():
    pvalues = [0.001] * 6 + [0.2, 0.6, 0.7, np.nan]
    plain, storey = published(pvalues), published(pvalues, qvalues="storey")
    tested = np.array(pvalues[:-1])
    share = min((1 + 2) / (0.5 * 9), 1)
    assert independent_share(tested) == share == pytest.approx(2 / 3)
    expected = scipy.stats.false_discovery_control(tested)
    assert plain.qvalues[:-1] == pytest.approx(expected)
    assert storey.qvalues[:-1] == pytest.approx(share * expected)
    assert np.isnan(storey.qvalues[-1])
    assert independent_share(np.full(9, 0.9)) == 1  # never more than all
    again = dpmic.Pairwise.from_json(storey.to_json())
    assert again.qvalues == pytest.approx(storey.qvalues, nan_ok=True)


# Networks


def test_edges_are_the_significant_pairs(tmp_path):
    result = published([0.001, 0.002, 0.9, 0.8])
    result.to_edges(tmp_path / "edges.csv")
    with open(tmp_path / "edges.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["source"], row["target"]) for row in rows] == [("t", "c0"), ("t", "c1")]
    assert [float(row["mic"]) for row in rows] == [score for *_, score in result.significant()]
    assert float(rows[0]["qvalue"]) == result.qvalues[0]
    result.to_edges(tmp_path / "edges.csv", rate=0.003)  # one that was there is replaced
    assert (tmp_path / "edges.csv").read_text() == "source,target,mic,pvalue,qvalue\n"


def test_a_graph_is_what_networkx_reads(tmp_path):
    networkx = pytest.importorskip("networkx")
    names = ('age "years"', "größe & länge", "ward")
    facts = {"statistic": "mice", "n": 50, "parameters": {}, "permutations": 999}
    result = dpmic.Pairwise(
        names=names,
        mic=[0.9, 0.5, 0.1],
        pvalues=[0.001, 0.01, 0.9],
        pearson=[1, np.nan, 0],
        **facts,
    )
    result.to_edges(tmp_path / "edges.gml")
    graph = networkx.read_gml(tmp_path / "edges.gml")
    assert tuple(graph) == names
    assert [set(pair) for pair in graph.edges] == [{*names[:2]}, {names[0], names[2]}]
    assert graph[names[0]][names[1]]["weight"] == 0.9
    assert graph[names[0]][names[2]]["pearson"] == "NaN"


def test_a_graph_as_text(tmp_path):
    published([0.001, 0.9]).to_edges(tmp_path / "EDGES.GML")
    lines = (tmp_path / "EDGES.GML").read_text().splitlines()
    assert lines[:5] == [
        "graph [",
        "  directed 0",
        '  node [ id 0 label "t" ]',
        '  node [ id 1 label "c0" ]',
        '  node [ id 2 label "c1" ]',
    ]
    edge = "  edge [ source 0 target 1 weight 0.9 mic 0.9 pvalue 0.001 qvalue 0.002 ]"
    assert lines[5:] == [edge, "]"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("edges.txt", "end in .gml or .csv"),
        ("no/edges.gml", "there is no folder"),
        (3, "not a path"),
    ],
)
def test_edges_that_cannot_be_written(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dpmic.ParameterError, match=words):
        published([0.001, 0.9]).to_edges(path)
    assert not list(tmp_path.iterdir())


def test_edges_need_p_values(tmp_path, frame):
    with pytest.raises(dpmic.InputError, match="pass pvalues=True"):
        dpmic.pairwise(frame).to_edges(tmp_path / "edges.gml")
    assert not list(tmp_path.iterdir())
