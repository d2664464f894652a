import sys
from pathlib import Path

import pytest
from engine_sources import ENGINES

QUIET = [  # what engines themselves warn of, with a new pandas
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:The inplace keyword",
]


def pytest_generate_tests(metafunc):
    """Run every test that takes an engine with each, or with those that --engine names."""
    if "engine" not in metafunc.fixturenames:
        return
    named = metafunc.config.getoption("engine")
    if unknown := set(named or ()) - set(ENGINES):
        raise pytest.UsageError(f"--engine {unknown.pop()}: choose from {', '.join(ENGINES)}")
    chosen = [
        # Without --engine the slow ones are for make test-full.
        pytest.param(name, marks=[pytest.mark.full] if ENGINES[name].slow and not named else [])
        for name in named or ENGINES
    ]
    metafunc.parametrize("engine", chosen, indirect=True)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for words in QUIET:
                item.add_marker(pytest.mark.filterwarnings(words))


@pytest.fixture
def engine(request, tmp_path):
    kind = ENGINES[request.param]
    if reason := kind.absent():
        pytest.skip(reason)
    return kind(tmp_path, request.getfixturevalue)


@pytest.fixture(scope="module")
def dask_cluster():
    """Two worker processes, which their nannies start again."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def spark():
    """A session whose tasks may be tried four times, as on a cluster."""
    sql = pytest.importorskip("pyspark.sql")
    settings = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        builder = sql.SparkSession.builder.master("local[2,4]")
        for name, value in {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
