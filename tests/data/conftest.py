import os
import sys
from pathlib import Path

import pytest

QUIET = [  # what engines themselves warn of, with a new pandas
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:The inplace keyword",
]


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for words in QUIET:
                item.add_marker(pytest.mark.filterwarnings(words))


@pytest.fixture(scope="module")
def spark():
    """A session whose tasks may be tried four times, as on a cluster."""
    sql = pytest.importorskip("pyspark.sql")
    here, before = str(Path(__file__).parent / "engines"), os.environ.get("PYTHONPATH")
    settings = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": f"{here}{os.pathsep}{before}" if before else here,
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
