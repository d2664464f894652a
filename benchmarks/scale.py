"""How fast rows are counted that come in parts, against DuckDB and Spark, in one run.

    python benchmarks/scale.py [--rows 10_000_000] [--most 100_000_000]

Ratios of one run mean something; seconds depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpmic
from dpmic._validate import Limits
from dpmic.statistics.grids import steps

PAIR = {"c0": (-1.0, 1.0), "c1": (-1.0, 2.0)}
ROUNDS = 3
BLOCK = 2**20

ALONE = """
import resource, sys, dpmic
table = dpmic.CountTable.of(sys.argv[1], {pair}, B=100, c=5)
dpmic.micr("c0", "c1", data=table)
print(table.n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(path: Path, rows: int, columns: int) -> Path:
    """Write a Parquet file of random columns, the second of which depends on the first."""
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema) as file:
        for first in range(0, rows, BLOCK):
            values = rng.uniform(-1, 1, (columns, min(BLOCK, rows - first)))
            values[1] = values[0] ** 2 + rng.normal(0, 0.3, values.shape[1])
            file.write_table(pa.table(dict(zip(names, values, strict=True)), schema))
    return path


def best(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least time of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def counted(path: Path, bounds: dict[str, tuple[float, float]], B: int) -> dpmic.CountTable:
    return dpmic.CountTable.of(path, bounds, B=B, c=5)


def one_pair(path: Path, rows: int) -> None:
    seconds = best(lambda: dpmic.micr("c0", "c1", data=counted(path, PAIR, 100)))
    print(
        f"one pair, B = 100, c = 5, {rows:,} rows of Parquet: {rows / seconds / 1e6:.1f} M rows/s"
    )


def memory(folder: Path, most: int) -> None:
    peaks = {}
    for rows in (10**6, most):
        path = write(folder / "memory.parquet", rows, 2)
        command = [sys.executable, "-c", ALONE.format(pair=PAIR), str(path)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        peaks[rows] = int(said.split()[1])
        path.unlink()
    first, last = peaks[10**6], peaks[most]
    print(f"peak memory: {first} MB at 1,000,000 rows, {last} MB at {most:,} ({last / first:.2f}x)")


def many_pairs(folder: Path) -> None:
    path = write(folder / "wide.parquet", 10**6, 50)
    bounds = {f"c{i}": (-1.0, 1.0) for i in range(50)}
    two = dict(list(bounds.items())[:2])
    alone = best(lambda: counted(path, two, 40))
    together = best(lambda: counted(path, bounds, 40), rounds=1) / 1225
    print(
        f"50 columns, 1,225 pairs, 10^6 rows, B = 40: {together * 1e3:.2f} ms a pair, "
        f"{together / alone:.3f}x of {alone * 1e3:.0f} ms for one pair alone"
    )


def grids() -> list[tuple[int, int]]:
    """Return the (columns of x, parts of y) of every grid of one score with B = 100 and c = 5."""
    plan = [(step.columns, int(step.master)) for step in steps(Limits(100.0, 5.0, "reshef"))]
    return plan + [(master, columns) for columns, master in plan]


def bin_of(name: str, parts: int) -> str:
    low, high = PAIR[name]
    return f"greatest(least(floor(({name} - {low}) / {high - low} * {parts}), {parts - 1}), 0)::INT"


def one_by_one(path: Path) -> None:
    """Let DuckDB count each grid in a query of its own."""
    import duckdb

    for x, y in grids():
        query = (
            f"select {bin_of('c0', x)} a, {bin_of('c1', y)} b, count(*) from '{path}' group by all"
        )
        duckdb.sql(query).fetchnumpy()


def grouping_sets(path: Path) -> None:
    """Let DuckDB count all grids in one query."""
    import duckdb

    each = {
        f"{name}_{n}": bin_of(name, n) for x, y in grids() for name, n in (("c0", x), ("c1", y))
    }
    binned = ", ".join(f"{code} {name}" for name, code in each.items())
    sets = ", ".join(f"(c0_{x}, c1_{y})" for x, y in grids())
    duckdb.sql(
        f"select {', '.join(each)}, count(*) from (select {binned} from '{path}') "
        f"group by grouping sets ({sets})"
    ).fetchnumpy()


def against_duckdb(folder: Path) -> None:
    rows = 10**6
    path = write(folder / "duckdb.parquet", rows, 2)
    ours = best(lambda: dpmic.micr("c0", "c1", data=counted(path, PAIR, 100)))
    for name, call in (("a query for each", one_by_one), ("grouping sets", grouping_sets)):
        theirs = best(lambda call=call: call(path), rounds=1)
        print(f"DuckDB, {len(grids())} grids, {rows:,} rows, {name}: {theirs / ours:.0f}x our time")


def against_spark(path: Path, rows: int) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(path))
    assert counted(frame, PAIR, 100) == counted(path, PAIR, 100)  # and starts the workers
    best(lambda: counted(frame, PAIR, 100))  # until its code is compiled
    spark = best(lambda: counted(frame, PAIR, 100))
    session.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", 2**31 - 1)  # as dpmic does
    bare = best(lambda: frame.mapInArrow(length, "n long").collect())
    arrow = best(lambda: counted(path, PAIR, 100))
    print(
        f"Spark local[2], {rows:,} rows: {spark / arrow:.1f}x the time of the Arrow path; "
        f"batches that only have their rows counted: {bare / arrow:.1f}x"
    )
    session.stop()


def length(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([pa.array([sum(map(len, batches))])], names=["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7, help="for one pair and for Spark")
    parser.add_argument("--most", type=int, default=10**8, help="for memory")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write(folder / "pair.parquet", asked.rows, 2)
        counted(path, PAIR, 100)  # compiles
        one_pair(path, asked.rows)
        memory(folder, asked.most)
        many_pairs(folder)
        against_duckdb(folder)
        against_spark(path, asked.rows)


if __name__ == "__main__":
    main()
