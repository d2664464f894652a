"""What a session of Spark keeps of us: nothing, neither a setting nor a result."""

from functools import partial

import pytest
from engine_works import fail, refuse, rows, spark_setting

import dpmic
from dpmic import frames
from dpmic.frames.streams import spark as module

pytestmark = pytest.mark.full


@pytest.fixture
def session(spark):
    assert module.LIMIT not in spark.conf.getAll
    yield spark
    spark.conf.unset(module.LIMIT)
    assert spark.sparkContext._jsc.getPersistentRDDs().isEmpty()


def folded(session, work, partitions=3):
    frame = session.range(0, 10, 1, partitions).selectExpr("cast(id AS double) AS x")
    return list(frames.stream(frame).fold(["x"], work))


def test_batches_are_not_weighed_while_rows_are_counted(session):
    usual = session.conf.get(module.LIMIT)
    seen = folded(session, partial(spark_setting, module.LIMIT))
    assert {value for value, _ in seen} == {str(module.NO_LIMIT)}
    assert sum(rows for _, rows in seen) == 10
    assert (session.conf.get(module.LIMIT), module.LIMIT in session.conf.getAll) == (usual, False)


def test_a_limit_of_the_session_stays(session):
    session.conf.set(module.LIMIT, "1000")
    seen = folded(session, partial(spark_setting, module.LIMIT))
    assert {value for value, _ in seen} == {"1000"}
    assert session.conf.get(module.LIMIT) == "1000"


@pytest.mark.parametrize(
    ("work", "error"), [(refuse, dpmic.RefusedValueError), (fail, dpmic.errors.UnreadableError)]
)
def test_settings_are_taken_back_after_an_error(session, work, error):
    with pytest.raises(error):
        folded(session, work)
    assert module.LIMIT not in session.conf.getAll


@pytest.mark.parametrize("at_once", [1, 2**28])
def test_results_are_fetched_in_portions(session, monkeypatch, at_once):
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    assert sorted(folded(session, rows)) == [3, 3, 4]


def test_no_partitions(session):
    empty = session.createDataFrame(session.sparkContext.emptyRDD(), "x double")
    assert sum(frames.stream(empty).fold(["x"], rows)) == 0
