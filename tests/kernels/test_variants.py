"""The compiled kernels return the same bytes whatever processor they are for.

The extension has its kernels several times, each for other instructions, and takes the best that
the processor has. Run as a script with the name of one, this file computes fixed cases with it and
prints digests of what it finds, as JSON.
"""

import hashlib
import itertools
import json
import os
import subprocess
import sys

import kernel_cases as cases
import numpy as np
import pytest
from project import TESTS

from dpmic._kernels import reference
from dpmic._validate import Limits
from dpmic.statistics.grids import MassAxis
from dpmic.statistics.records import RankedAxes
from dpmic.statistics.search import ALONE, AS_ONE, xlogx_table
from dpmic.statistics.significance import RefinedAxis

VARIANTS = ("baseline", "v3", "v4")
CANNOT = 3  # the exit status where the processor lacks a variant's instructions


def tables(kernels):
    """Search tables of counts."""
    xlogx = xlogx_table(cases.MOST)
    for counts, k in cases.tables(7, 150):
        yield kernels.information(counts, k, xlogx)
        yield kernels.informations(np.stack([counts, 0 * counts]), k, xlogx)
        yield kernels.trace(counts, k, xlogx)


def searches(kernels, fast):
    """Search pairs of columns for all entries and for the largest."""
    for seed, kind in enumerate(cases.AXES):
        for asked in cases.searches(200 + seed, 60, kind, (2, 300)):
            (left, right), (starts, rows, xlogx) = cases.cut(asked)
            logs = cases.logs(asked.steps.layout)
            yield kernels.entries(left, right, ALONE, starts, rows, xlogx, fast)
            yield kernels.largest(left, right, ALONE, starts, rows, logs, xlogx)
            if isinstance(asked.by_x.fixed, MassAxis):
                yield kernels.equi(*cases.ranked(asked), fast)


def clumped(kernels):
    """Search pairs of columns as in 2011."""
    rng = np.random.default_rng(210)
    for i in range(60):
        asked = cases.clumped_search(rng, cases.size_of(rng, (2, 200)), bool(i % 2))
        axes = RankedAxes.of((asked.by_x.fixed, asked.by_y.fixed))
        tail = asked.steps.table, asked.steps.logs, xlogx_table(asked.n), i % 4 > 1
        yield kernels.clumped(axes, AS_ONE, *tail)


def permuted(kernels):
    """Search tables of permutations."""
    rng = np.random.default_rng(220)
    for _ in range(60):
        n = cases.size_of(rng, (4, 300))
        wanted = Limits(float(rng.choice([4, 9, 25])), 2.5, str(rng.choice(cases.MASTERS)))
        x, y = (RefinedAxis.of(MassAxis.grouped(own), wanted) for own in cases.columns_of(rng, n))
        own = np.empty((3, x.margin.size, y.margin.size), np.int64)
        reference.shuffle(rng, x.parts, y.parts.copy(), own)
        plan = x.plan.layout
        tail = plan.starts, plan.rows, xlogx_table(n)
        yield kernels.tabled(own, x.partitions, y.partitions, *tail)


def capped(kernels):
    """Search tables for capped information, of counts in 32 and 64 bits."""
    rng = np.random.default_rng(230)
    for counts, partitions, f, critics in cases.capped_tables(rng, 60):
        given = kernels.cumulate(counts), *partitions
        limits = np.full(counts.shape[1] - 1, np.inf)
        yield from kernels.two_rows(*given, limits, *f, critics.two, critics.cap, critics.hard)
        every = [*itertools.combinations(range(limits.size), 2)]
        if every:
            pairs = np.ascontiguousarray(rng.permutation(every)[:40].T)
            own = critics.three, critics.cap_of_three, critics.hard_of_three
            yield from kernels.three_rows(*given, pairs, *f, *own)


def digest(arrays):
    """Digest the bytes of arrays; a zero may have either sign, and a NaN any bits."""
    found = hashlib.sha256()
    for array in arrays:
        plain = np.where(np.isnan(array), -1.0, array + 0.0) if array.dtype.kind == "f" else array
        found.update(f"{array.dtype} {array.shape}".encode() + plain.tobytes())
    return found.hexdigest()


def digests(kernels):
    """Digest what kernels find in all cases."""
    return {
        "tables": digest(tables(kernels)),
        "exact searches": digest(searches(kernels, False)),
        "fast searches": digest(searches(kernels, True)),
        "clumped": digest(clumped(kernels)),
        "permuted": digest(permuted(kernels)),
        "capped": digest(capped(kernels)),
    }


@pytest.fixture(scope="module")
def native():
    return pytest.importorskip(
        "dpmic._kernels._native", reason="the compiled kernels were not built: see CONTRIBUTING.md"
    )


@pytest.fixture(scope="module")
def expected():
    return digests(reference)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant(native, expected, variant):
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, __file__, variant],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode == CANNOT and variant not in ("baseline", native.variant):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"variant": variant, **expected}


def test_an_unknown_variant_is_refused(native):
    before = native.variant
    with pytest.raises(ValueError, match="no such variant"):
        native._use("v5")
    assert native.variant == before in VARIANTS


def test_a_digest_sees_one_bit():
    one = np.array([0.1, np.nan, 0.0])
    other = np.array([np.nextafter(0.1, 1), np.nan, 0.0])
    assert digest([one]) == digest([np.array([0.1, -np.nan, -0.0])]) != digest([other])


def main(variant):
    """Print what one variant finds."""
    from dpmic._kernels import _native

    try:
        _native._use(variant)
    except ValueError as error:
        print(f"{variant}: {error}", file=sys.stderr)
        return CANNOT
    print(json.dumps({"variant": _native.variant, **digests(_native)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
