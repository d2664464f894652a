"""No setting of a session of Spark is changed for good; and results come home whole."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from engine_works import fail, refuse, spark_setting

import dpmic
from dpmic.data import _engines, stream
from dpmic.data._engines import MOST_BYTES, MOST_ROWS, NO_LIMIT, PIECE

pytestmark = pytest.mark.full


@pytest.fixture
def session(spark):
    assert MOST_BYTES not in spark.conf.getAll
    yield spark
    for name in (MOST_BYTES, MOST_ROWS):
        spark.conf.unset(name)


def folded(session, work):
    frame = session.range(0, 10, 1, 3).selectExpr("cast(id AS double) AS x")
    return list(stream(frame).fold(["x"], work))


def limits(session):
    """The limits of bytes that the tasks of a reading see."""
    (seen,) = folded(session, partial(spark_setting, MOST_BYTES))
    assert len(seen) == 3
    return set(seen)


def test_batches_are_not_weighed_while_rows_are_counted(session):
    usual = session.conf.get(MOST_BYTES)
    assert limits(session) == {str(NO_LIMIT)}
    assert (session.conf.get(MOST_BYTES), MOST_BYTES in session.conf.getAll) == (usual, False)


def test_a_limit_of_the_session_stays(session):
    session.conf.set(MOST_BYTES, "1000")
    assert limits(session) == {"1000"}
    assert session.conf.get(MOST_BYTES) == "1000"


@pytest.mark.parametrize("most", ["0", "-1", "200000"])
def test_without_a_limit_of_rows_there_is_one_of_bytes(session, most):
    usual = session.conf.get(MOST_BYTES)
    session.conf.set(MOST_ROWS, most)
    assert limits(session) <= {None, usual}
    assert MOST_BYTES not in session.conf.getAll


@pytest.mark.parametrize(
    ("work", "error"), [(refuse, dpmic.RefusedValueError), (fail, dpmic.errors.UnreadableError)]
)
def test_settings_are_taken_back_after_an_error(session, work, error):
    with pytest.raises(error):
        folded(session, work)
    assert MOST_BYTES not in session.conf.getAll


def test_a_session_that_is_gone_hides_no_error():
    """Nor Ctrl-C, which would become one of ours."""

    def gone(_):
        raise RuntimeError("no session")

    settings = SimpleNamespace(getAll={}, get=lambda _: "10000", set=lambda *_: None, unset=gone)
    with pytest.raises(KeyboardInterrupt), _engines._unweighed(settings):
        raise KeyboardInterrupt


def test_a_platform_without_settings_is_slower_and_no_more():
    def refused(*_):
        raise RuntimeError("settings are not available")

    settings = SimpleNamespace(getAll={}, get=refused, set=refused, unset=refused)
    with _engines._unweighed(settings):
        done = True
    assert done


def test_results_longer_than_a_row_come_home_in_one_piece(session):
    rng = np.random.default_rng(0)
    rows = pa.table({"x": rng.random(3000), "y": rng.random(3000)})
    grids = {"bounds": {"x": (0, 1), "y": (0, 1)}, "B": 100, "c": 5}
    found = dpmic.CountTable.of(session.createDataFrame(rows).repartition(12), **grids)
    assert found.nbytes > 20 * PIECE
    assert found == dpmic.CountTable.of(rows, **grids)


def test_no_partitions(session):
    empty = session.createDataFrame(session.sparkContext.emptyRDD(), "x double")
    assert list(stream(empty).fold(["x"], partial(spark_setting, MOST_BYTES))) == []
