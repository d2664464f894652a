import pytest
from engine_sources import ENGINES


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
