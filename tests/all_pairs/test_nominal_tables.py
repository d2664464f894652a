"""Nominal columns in tables: every number is that of its pair alone, with gaps and tests."""

import datetime
import hashlib
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyarrow import parquet

import dpmic


@pytest.fixture
def visits():
    """A table as hospitals have them: numbers, text, booleans, dates and gaps."""
    rng = np.random.default_rng(4)
    age = rng.normal(50, 10, 80).round()
    frame = pd.DataFrame(
        {
            "age": age,
            "ward": np.array(["a", "b", "c"])[np.clip((age - 35) // 12, 0, 2).astype(int)],
            "smoker": rng.random(80) < 0.3,
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(int(d)) for d in age],
            "code": pd.Categorical(rng.choice(list("vwxyz"), 80)),
        }
    )
    return frame


@pytest.fixture
def gaps(visits):
    holes = np.random.default_rng(5).random(visits.shape) < 0.12
    return visits.astype(object).mask(holes).astype({"age": float})


def test_every_pair_is_scored_as_alone(visits):
    result = dpmic.pairwise(visits, tic=True)
    for (x, y), mic, tic in zip(result.pairs, result.mic, result.tic, strict=True):
        score = dpmic.mice(x, y, data=visits)
        assert mic == score.mic
        assert tic == pytest.approx(score.tic(), abs=1e-12)
    assert result.value("age", "day") == dpmic.mice("age", "age", data=visits).mic  # a number
    assert result.value("age", "ward") > 0.8


def test_gaps_are_dropped_pair_by_pair(gaps):
    result = dpmic.pairwise(gaps, missing="drop")
    for (x, y), mic, n in zip(result.pairs, result.mic, result.records, strict=True):
        there = gaps[[x, y]].dropna()
        assert n == len(there)
        assert dpmic.mice(there[x].tolist(), there[y].tolist()).mic == mic
        assert dpmic.mice(x, y, data=gaps, missing="drop").mic == mic
    with pytest.raises(dpmic.InputError, match="values are missing"):
        dpmic.pairwise(gaps)


def test_range_grids_of_categories(visits):
    box = {"age": (0, 120), "ward": ["a", "b", "c", "d"], "smoker": ["false", "true"]}
    result = dpmic.pairwise(visits, statistic="micr", bounds=box)
    for (x, y), mic in zip(result.pairs, result.mic, strict=True):
        assert dpmic.micr(x, y, data=visits, bounds=(box[x], box[y])).mic == mic
    assert dpmic.Pairwise.from_json(result.to_json()) == result


def test_pvalues_are_those_of_the_test(gaps):
    options = {"missing": "drop", "pvalues": True, "permutations": 200, "rng": 1}
    result = dpmic.pairwise(gaps, **options)
    for (x, y), p in zip(result.pairs, result.pvalues, strict=True):
        test = dpmic.independence_test(x, y, data=gaps, missing="drop", permutations=200, rng=2)
        # two draws of 200: five standard errors
        assert abs(p - test.pvalue) <= 5 * np.sqrt(2 * p * (1 - p) / 200) + 2 / 200
    assert dict(zip(result.pairs, result.pvalues, strict=True))["age", "ward"] == 1 / 201
    pooled = dpmic.pairwise(gaps, **options, pooled=True)
    assert np.abs(pooled.pvalues - result.pvalues).max() < 0.3


def test_the_statistic_of_the_test_is_tice(visits):
    for x, y in itertools.permutations(visits, 2):
        test = dpmic.independence_test(x, y, data=visits, permutations=1, rng=0)
        score = dpmic.mice(x, y, data=visits, B=9, c=5)
        assert test.statistic == pytest.approx(score.tic(), abs=1e-12)
        assert score.B == test.B


def test_equal_nulls_share_permutations_whatever_the_names():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [20, 30, 50])
    table = {
        "x": rng.random(100),
        "p": np.array(["a", "b", "c"])[rng.permutation(codes)],
        "q": np.array(["z", "y", "x"])[rng.permutation(codes)],
    }
    from dpmic.all_pairs.significance import PermutationPlan
    from dpmic.data import find_all, read_variables

    x, p, q = read_variables(find_all(pl.DataFrame(table)))
    plan = PermutationPlan.of(10, 0, pooled=True)
    one, other = plan.refined_pair(x, p), plan.refined_pair(q, x)[::-1]
    assert [own.pattern for own in one] == [own.pattern for own in other]


def test_files_tell_categories_from_numbers(tmp_path, visits):
    path = tmp_path / "scores.parquet"
    frame = visits[["age", "smoker"]]
    result = dpmic.pairwise(frame, out=path)
    assert dpmic.pairwise(frame, out=path) == result
    with pytest.raises(dpmic.ParameterError, match="other values"):
        dpmic.pairwise(frame.assign(smoker=frame["smoker"].astype(float)), out=path)


def test_files_of_numbers_are_as_before(tmp_path, visits):
    """What a file says it is of: the same keys and the same digest as without nominal columns."""
    path = tmp_path / "scores.parquet"
    values = visits[["age"]].assign(other=visits["age"] ** 2).to_numpy()
    dpmic.pairwise(values, out=path)
    identity = json.loads(parquet.read_metadata(path).metadata[b"dpmic"])
    seen = hashlib.sha256(b"".join(np.ascontiguousarray(own).tobytes() for own in values.T))
    assert identity == {
        "format": 1,
        "statistic": "mice",
        "names": ["0", "1"],
        "others": None,
        "n": 80,
        "parameters": {"B": 80**0.6, "c": 15.0, "master": "reshef"},
        "permutations": None,
        "data": [seen.hexdigest()],
        "seed": None,
        "tic": False,
        "missing": "raise",
        "alpha": None,
        "pooled": False,
    }


def test_the_mic_of_2011_takes_two_categories_at_most(visits):
    by_rank = visits.assign(smoker=visits["smoker"].astype(float))
    assert dpmic.mic("age", "smoker", data=visits) == dpmic.mic("age", "smoker", data=by_rank)
    with pytest.raises(dpmic.InputError, match=r"3 categories: .* call dpmic\.mice, or pass"):
        dpmic.mic("age", "ward", data=visits)
    with pytest.raises(dpmic.InputError, match="3 categories"):
        dpmic.pairwise(visits[["age", "ward"]], statistic="mic")
