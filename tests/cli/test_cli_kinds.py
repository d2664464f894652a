"""Tables as hospitals have them, on the command line: every kind of column, gaps, identifiers."""

import json

import commands
import numpy as np
import pandas as pd
import pytest
from pyarrow import csv, feather, parquet

import dpmic

N = 90


@pytest.fixture
def visits():
    rng = np.random.default_rng(6)
    age = rng.integers(18, 95, N)
    ward = np.array(["intensive", "surgery", "geriatrics"])[(age > 40) * 1 + (age > 65)]
    return pd.DataFrame(
        {
            "nr": np.arange(100, 100 + N),
            "patient": [f"P-{i:04}" for i in rng.permutation(N)],
            "age": np.where(rng.random(N) < 0.1, np.nan, age),
            "ward": np.where(rng.random(N) < 0.1, None, ward),
            "smoker": np.where(rng.random(N) < 0.5, "TRUE", "false"),
            "admitted": [
                str(day.date()) for day in pd.Timestamp("2024-01-01") + pd.to_timedelta(age, "D")
            ],
            "left": [f"{1 + a % 28:02}.{1 + a % 12}.2024" for a in age],
            "code": rng.integers(1, 4, N),
        }
    )


@pytest.fixture
def run(monkeypatch, capsys, tmp_path, visits):
    monkeypatch.chdir(tmp_path)
    visits.to_csv("visits.csv", index=False)
    return commands.runner(monkeypatch, capsys)


def pairs(out):
    result = dpmic.Pairwise.from_json(out)
    return {frozenset(pair): at for at, pair in enumerate(result.pairs)}, result


def test_a_table_is_scored_as_it_is(run, visits):
    code, out, err = run("matrix", "visits.csv", "--json")
    assert code == 0
    left, gaps = err.splitlines()
    assert left == (
        "dpmic: left out: 'nr' (consecutive numbers), 'patient' (every text is different); "
        "--include NAME keeps a column"
    )
    both = int(visits[["age", "ward"]].notna().all(axis=1).sum())
    assert gaps == (
        f"dpmic: 2 of 6 columns have missing values; each pair uses the records with both values "
        f"({both} of 90 records are complete)"
    )
    places, result = pairs(out)
    assert result.names == ("age", "ward", "smoker", "admitted", "left", "code")
    frame = visits.assign(
        smoker=visits["smoker"] == "TRUE",
        admitted=pd.to_datetime(visits["admitted"]),
        left=pd.to_datetime(visits["left"], format="%d.%m.%Y"),
    )
    expected = dpmic.pairwise(frame[list(result.names)], missing="drop")
    assert result == expected
    assert result.records[places[frozenset({"age", "ward"})]] == both


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_other_files_have_types(run, visits, ending):
    csv_result = pairs(run("matrix", "visits.csv", "--json")[1])[1]
    table = csv.read_csv("visits.csv")
    if ending == "parquet":
        parquet.write_table(table, "visits.parquet")
    else:
        feather.write_feather(table, "visits.feather")
    code, out, err = run("matrix", f"visits.{ending}", "--exclude", "left", "--json")
    assert (code, "patient" in err) == (0, True)
    result = pairs(out)[1]
    for x, y in result.pairs:
        assert result.value(x, y) == csv_result.value(x, y)


def test_columns_are_chosen(run):
    code, out, err = run("matrix", "visits.csv", "--columns", "nr,age,code", "--json")
    assert (code, "left out" in err) == (0, False)  # they were named
    assert pairs(out)[1].names == ("nr", "age", "code")
    code, out, err = run(
        "matrix", "visits.csv", "--exclude", "left,ward", "--include", "nr", "--json"
    )
    assert code == 0
    assert pairs(out)[1].names == ("nr", "age", "smoker", "admitted", "code")
    for option in ("--include", "--exclude"):
        code, _, err = run("matrix", "visits.csv", option, "wart")
        assert code == 2
        assert "there is no such column; did you mean 'ward'" in err


def test_a_target(run):
    code, out, _ = run("matrix", "visits.csv", "--target", "ward", "--csv")
    assert code == 0
    rows = [line.split(",")[:2] for line in out.splitlines()[1:]]
    assert rows == [["ward", other] for other in ("age", "smoker", "admitted", "left", "code")]
    shown = run("matrix", "visits.csv", "--target", "ward", "--pearson")[1]
    assert "6 columns, 5 pairs, 90 rows" in shown
    assert " nan" not in shown  # a nominal column has no correlation: -
    assert run("matrix", "visits.csv", "--target", "ward", "--report", "t.html")[0] == 0


def test_numbers_that_are_names(run, visits):
    _, out, err = run("score", "visits.csv", "age", "code", "--nominal", "code", "--json")
    missing = int(visits["age"].isna().sum())
    assert err == f"dpmic: left out {missing} of 90 records, which lack a value\n"
    frame = visits.assign(code=visits["code"].astype(str))
    assert dpmic.Score.from_json(out) == dpmic.mice("age", "code", data=frame, missing="drop")
    assert json.loads(out)["grid"]["y"] == ["1", "2", "3"]
    code, _, err = run("score", "visits.csv", "age", "code", "--nominal", "ward")
    assert (code, "--nominal ward: this column is not scored" in err) == (2, True)
    code, _, err = run("matrix", "visits.csv", "--nominal", "code", "--exclude", "code")
    assert (code, "--nominal code: this column is not scored" in err) == (2, True)
    code, _, err = run("matrix", "visits.csv", "--nominal", "coda")
    assert (code, "there is no such column; did you mean 'code'" in err) == (2, True)
    code, _, err = run("matrix", "visits.csv", "--nominal", "code,code")
    assert (code, "--nominal: a column is named twice" in err) == (2, True)


def test_a_test_of_categories(run, visits):
    given = ("test", "visits.csv", "age", "ward", "--permutations", "99", "--seed", "1")
    code, out, err = run(*given, "--json", "--report", "t.html")
    expected = dpmic.independence_test(
        "age", "ward", data=visits, missing="drop", permutations=99, rng=1
    )
    assert code == 0
    assert dpmic.IndependenceTest.from_json(out) == expected
    assert "records, which lack a value" in err
    fine = dpmic.IndependenceTest.from_json(run(*given, "--B", "20", "--c", "3", "--json")[1])
    assert (fine.B, fine.c) == (20, 3)


def test_gaps_are_refused_where_that_is_asked(run):
    for given in (["matrix", "visits.csv"], ["score", "visits.csv", "age", "ward"]):
        code, _, err = run(*given, "--missing", "raise")
        assert code == 2
        assert "values are missing" in err


def test_a_file_without_gaps_says_nothing(run, visits):
    visits[["code", "smoker", "admitted"]].to_csv("full.csv", index=False)
    code, out, err = run("matrix", "full.csv", "--csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "x,y,mic"


def test_a_network_of_what_is_significant(run, tmp_path):
    given = ("matrix", "visits.csv", "--columns", "age,ward,smoker", "--permutations", "199")
    code, _, err = run(*given, "--pvalues", "--qvalues", "storey", "--edges", "net.csv")
    assert code == 0
    assert f"the network of 1 significant pair is in {tmp_path / 'net.csv'}" in err
    lines = (tmp_path / "net.csv").read_text().splitlines()
    assert lines[0] == "source,target,mic,records,pvalue,qvalue"
    assert lines[1].startswith("age,ward,")
    for more, words in (
        (["--edges", "other.gml"], "add --pvalues"),
        (["--pvalues", "--edges", "visits.csv"], "this command uses that file otherwise"),
        (["--pvalues", "--edges", "net.csv"], "this file exists; choose another name, or add"),
        (["--pvalues", "--edges", "net.txt"], "let it end in .gml or .csv"),
    ):
        before = sorted(path.name for path in tmp_path.iterdir())
        code, _, err = run(*given, *more)
        assert (code, words in err) == (2, True), err
        assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert run(*given, "--pvalues", "--edges", "net.csv", "--overwrite")[0] == 0


def test_slashes_stay_text(run, visits):
    days = [f"{i % 12 + 1:02}/{i % 28 + 1:02}/2024" for i in range(N)]
    visits.assign(day=days)[["age", "code", "day"]].to_csv("slashes.csv", index=False)
    _, out, err = run("score", "slashes.csv", "age", "day", "--json")
    assert "/" in json.loads(out)["grid"]["y"][0]
    assert "note: column 'day': its texts look like dates, but count as categories" in err


def test_a_mixture_is_refused_and_a_remedy_works(run, visits):
    visits.assign(code=[*visits["code"][:-1], "unknown"]).to_csv("mixed.csv", index=False)
    code, _, err = run("matrix", "mixed.csv")
    assert code == 2
    assert "column 'code', row 90: 'unknown' is not a number; if it means a missing" in err
    assert "pass --na unknown; otherwise correct it, or read" in err
    assert run("matrix", "mixed.csv", "--na", "unknown")[0] == 0
    assert "read the column as text: --nominal 'code'" in err
    assert run("matrix", "mixed.csv", "--nominal", "code")[0] == 0
    assert run("matrix", "mixed.csv", "--exclude", "code")[0] == 0


def test_bounds_written_as_dates(run, tmp_path):
    micr = (
        "score",
        "visits.csv",
        "age",
        "admitted",
        "--statistic",
        "micr",
        "--bounds",
        "age=0:120",
    )
    _, out, _ = run(*micr, "--bounds", "admitted=2024-01-01:2024-12-31", "--json")
    assert dpmic.Score.from_json(out).bounds[1] == (19723, 20088)
    (tmp_path / "b.toml").write_text("[bounds]\nadmitted = [2024-01-01, 2024-12-31]\n")
    assert run(*micr, "--bounds-file", "b.toml", "--json")[1] == out


def test_counts_are_written_as_people_write_them(run, tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert "the table has 1 row: a score" in run("matrix", "one.csv")[2]
    assert "1 record: a score needs" in run("score", "one.csv", "a", "b")[2]
    lines = [f"{i * i % 13 if i else ''},{i % 5},{i % 7}" for i in range(1200)]
    (tmp_path / "many.csv").write_text("\n".join(["a,b,c", *lines]))
    _, out, err = run("matrix", "many.csv", "--target", "a", "--top", "1")
    assert "1 of 3 columns has missing values" in err
    assert "3 columns, 2 pairs, 1,200 rows" in out
    assert "1 of 1,200 values is" in run("score", "many.csv", "a", "b", "--missing", "raise")[2]
    _, out, _ = run("matrix", "many.csv", "--columns", "a,b")
    assert "The strongest of all pairs, by mice (2 columns, 1 pair, 1,200 rows)" in out


def test_too_few_permutations_are_said(run):
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd")).to_csv("noise.csv", index=False)
    given = ("matrix", "noise.csv", "--pvalues", "--seed", "1", "--csv", "--permutations")
    _, _, err = run(*given, "50", "--edges", "net.csv")
    assert "with 50 permutations a single related pair among 6 cannot be significant" in err
    assert "that takes --permutations 119 --pooled" in err
    assert "the network of 0 significant pairs is in" in err
    _, _, err = run(*given, "119")
    assert err == ""
