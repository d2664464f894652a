"""The same rows in every engine, cut into the same parts."""

import importlib.util
import shutil

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet


def cut(table, sizes):
    """Return parts of a table, of which some may be empty."""
    first, parts = 0, []
    for size in sizes:
        parts.append(table.slice(first, size))
        first += size
    assert first == table.num_rows
    return parts


class Engine:
    """How to make a source of some parts, and one that fails where its second part is read."""

    slow = False
    once = False
    words = None  # in the error of a source that fails

    def __init__(self, folder, ask):
        self.folder = folder
        self.ask = ask  # for a fixture of the module, by name

    @classmethod
    def absent(cls):
        """Say why there is no such engine here, if so."""
        return None


class Iterator(Engine):
    once = True
    words = "a RecordBatchReader"

    def source(self, parts):
        return (part for part in parts)

    def failing(self):
        """An iterator's own errors are its maker's; a reader's are Arrow's."""

        def batches():
            yield pa.record_batch({"x": [1.0]})
            raise ValueError("no more rows today")

        return pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), batches())


class Parquet(Engine):
    words = "1.parquet"

    def source(self, parts):
        for i, part in enumerate(parts):
            pa.parquet.write_table(part, self.folder / f"{i}.parquet", row_group_size=500)
        return self.folder

    def failing(self):
        self.source([pa.table({"x": [1.0]}), pa.table({"x": [float(i) for i in range(1000)]})])
        broken = self.folder / "1.parquet"
        broken.write_bytes(broken.read_bytes()[:2000])
        return self.folder


class Csv(Engine):
    words = "1.csv"

    def source(self, parts):
        for i, part in enumerate(parts):
            pa.csv.write_csv(part, self.folder / f"{i}.csv")
        return [self.folder / f"{i}.csv" for i in range(len(parts))]

    def failing(self):
        self.source([pa.table({"x": [1.0]})])
        (self.folder / "1.csv").write_text("x\n1\n2,3\n")
        return self.folder


class Polars(Engine):
    words = "a polars LazyFrame"

    @classmethod
    def absent(cls):
        return None if importlib.util.find_spec("polars") else "polars is not installed"

    def source(self, parts):
        import polars as pl

        return pl.concat([pl.from_arrow(part).lazy() for part in parts])

    def failing(self):
        import polars as pl

        return pl.LazyFrame({"x": ["1"] * 200_000 + ["one"]}).cast(pl.Float64)


class DuckDB(Engine):
    slow = True
    words = "a DuckDB relation"

    @classmethod
    def absent(cls):
        return None if importlib.util.find_spec("duckdb") else "duckdb is not installed"

    def source(self, parts):
        import duckdb

        whole = duckdb.connect()
        for i, part in enumerate(parts):
            whole.register(f"part{i}", part)
        return whole.sql(" UNION ALL ".join(f"SELECT * FROM part{i}" for i in range(len(parts))))

    def failing(self):
        import duckdb

        late = "CASE WHEN i = 300000 THEN 'one' ELSE '1' END"
        return duckdb.connect().sql(f"SELECT cast({late} AS DOUBLE) AS x FROM range(400000) t(i)")


class Dask(Engine):
    slow = True
    words = "a Dask DataFrame"

    @classmethod
    def absent(cls):
        found = importlib.util.find_spec("dask") and importlib.util.find_spec("distributed")
        return None if found else "dask and distributed are not installed"

    def source(self, parts):
        import dask
        import dask.dataframe as dd

        self.ask("dask_cluster")
        frames = [part.to_pandas() for part in parts]
        return dd.from_delayed([dask.delayed(frame) for frame in frames], meta=frames[0].iloc[:0])

    def failing(self):
        frame = self.source([pa.table({"x": [1.0, 2.0]}), pa.table({"x": [3.0]})])
        return frame.map_partitions(_divided, meta=frame)


def _divided(frame):
    return frame / (1 // (len(frame) - 1))


class Spark(Engine):
    slow = True
    words = "a Spark DataFrame"

    @classmethod
    def absent(cls):
        if importlib.util.find_spec("pyspark") is None:
            return "pyspark is not installed"
        return None if shutil.which("java") else "there is no Java"

    def source(self, parts):
        session = self.ask("spark")
        frame = session.createDataFrame(parts[0])
        for part in parts[1:]:
            frame = frame.unionAll(session.createDataFrame(part))
        return frame

    def failing(self):
        late = "if(id = 7, raise_error('no more rows today'), cast(id AS double))"
        return self.ask("spark").range(0, 10, 1, 3).selectExpr(f"{late} AS x")


ENGINES = {
    "iterator": Iterator,
    "parquet": Parquet,
    "csv": Csv,
    "polars": Polars,
    "duckdb": DuckDB,
    "dask": Dask,
    "spark": Spark,
}
