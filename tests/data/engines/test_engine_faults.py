"""Workers that die in the middle: the engine does their work again, and nothing counts twice."""

from functools import partial, reduce
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from engine_sources import Dask, Spark, cut
from engine_works import die_once

import dpmic
from dpmic.data import stream

N, PARTS = 6000, 6
BOUNDS = {"x": (0, 1), "y": (0, 1)}


@pytest.fixture
def table():
    rng = np.random.default_rng(88)
    return pa.table({"x": rng.random(N), "y": rng.random(N)})


@pytest.mark.full
@pytest.mark.parametrize("kind", [Spark, Dask])
def test_a_killed_worker_changes_nothing(kind, table, tmp_path, request):
    if reason := kind.absent():
        pytest.skip(reason)
    engine = kind(tmp_path, request.getfixturevalue)
    source = engine.source(cut(table, [N // PARTS] * PARTS))
    marker = tmp_path / "died"
    parts = stream(source).fold(tuple(BOUNDS), partial(die_once, str(marker), BOUNDS))
    found = reduce(add, parts)
    assert marker.exists()
    expected = dpmic.CountTable(BOUNDS, B=40, c=5)
    expected.update(table)
    assert found.to_bytes() == expected.to_bytes()
