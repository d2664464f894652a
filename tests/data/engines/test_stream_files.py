"""Files and datasets: what is read of them, what is refused, and in how much memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from engine_works import rows
from sweeps import sweep

import dpmic
from dpmic.data import stream
from dpmic.errors import InputError, RefusedValueError, UnreadableError


def values(source, *columns):
    """Every value of some columns of a stream, in order."""

    def listed(batches):
        return [row for batch in batches for row in zip(*batch.data.to_pydict().values())]  # noqa: B905

    return [row for part in stream(source).fold(columns, listed) for row in part]


@pytest.fixture
def two(tmp_path):
    """A folder with two Parquet files, of which the second is for a test to change."""
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0], "y": [3]}), tmp_path / "b.parquet")
    return tmp_path


def test_paths_of_every_kind(tmp_path):
    table = pa.table({"x": [1.5, 2.5], "n": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    pa.feather.write_feather(table, tmp_path / "t.feather")
    pa.feather.write_feather(table, tmp_path / "t.arrow")
    pa.csv.write_csv(table, tmp_path / "t.csv")
    tabs = pa.csv.WriteOptions(delimiter="\t")
    pa.csv.write_csv(table, tmp_path / "t.tsv", tabs)
    for path in tmp_path.iterdir():
        for source in (path, str(path), [path]):
            assert stream(source).names == ("x", "n")
            assert stream(source).count() == 2
            assert values(source, "n", "x") == [(1, 1.5), (2, 2.5)]


def test_a_folder_is_read_without_what_engines_keep_for_themselves(two):
    (two / "_SUCCESS").touch()
    (two / ".a.parquet.crc").write_bytes(b"crc")
    (two / "_temporary").mkdir()
    (two / "_temporary" / "c.parquet").touch()
    assert values(two, "x") == [(1.0,), (2.0,), (3.0,)]
    assert stream(two).count() == 3


def test_a_column_in_the_names_of_folders(tmp_path):
    for year, x in ((2020, 1.0), (2021, 2.0)):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"x": [x]}), tmp_path / f"year={year}" / "part.parquet")
    assert values(tmp_path, "x", "year") == [(1.0, 2020), (2.0, 2021)]
    for year in (2020, 2021):
        folder = tmp_path / f"year={year}"
        (folder / "part.parquet").unlink()
        (folder / "part.csv").write_text(f"x\n{year / 1000}\n")
    assert values(tmp_path, "year", "x") == [(2020, 2.02), (2021, 2.021)]


def test_datasets_keep_their_filter_and_their_row_groups(two):
    whole = ds.dataset(two)
    kept = whole.filter(ds.field("x") > 1.5)
    assert stream(kept).count() == 2
    assert values(kept, "y") == [(2,), (3,)]
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), two / "c.parquet", row_group_size=1)
    (fragment,) = ds.dataset(two / "c.parquet").get_fragments()
    middle = ds.FileSystemDataset(
        [fragment.subset(row_group_ids=[1])], whole.schema, fragment.format, fragment.filesystem
    )
    assert stream(middle).count() == 1
    assert values(middle, "x") == [(2.0,)]
    assert values(ds.dataset(pa.table({"x": [5.0]})), "x") == [(5.0,)]


def test_a_file_with_other_columns_or_types_is_named(two):
    pq.write_table(pa.table({"x": [3.0], "y": [3.5], "z": [0]}), two / "b.parquet")
    assert values(two, "x") == [(1.0,), (2.0,), (3.0,)]
    with pytest.raises(RefusedValueError, match=r"b\.parquet, column 'y': its type is double") as e:
        values(two, "x", "y")
    assert e.value.column == "y"
    pq.write_table(pa.table({"z": [3]}), two / "b.parquet")
    with pytest.raises(RefusedValueError, match=r"b\.parquet, column 'x'.*lacks") as e:
        values(two, "x")
    assert e.value.column == "x"
    with pytest.raises(RefusedValueError, match=r"b\.parquet, column 'x'"):
        values(ds.dataset(two).filter(ds.field("y") != 7), "x")


def test_broken_files_are_named(two):
    broken = two / "b.parquet"
    whole = broken.read_bytes()
    damaged, text = "it is not a complete and valid .parquet file; copy it", "it is text, but"
    contents = {whole[:-9]: damaged, b"PAR1\x15" + whole[len(whole) // 2 :]: damaged}
    for content, words in (contents | {b"x,y\n1,2\n": text, b"": "it is empty"}).items():
        broken.write_bytes(content)
        with pytest.raises(UnreadableError, match=rf"b\.parquet: {words}"):
            values(two, "x")
        with pytest.raises(UnreadableError, match=rf"b\.parquet: {words}"):
            stream(two).count()
    pages = bytearray(whole)
    pages[4:60] = bytes(56)
    broken.write_bytes(pages)
    with pytest.raises(UnreadableError, match=r"b\.parquet"):
        values(broken, "x")


def test_what_cannot_be_opened(two):
    with pytest.raises(InputError, match="none.parquet: there is no such file"):
        stream(str(two / "none.parquet"))
    (two / "notes.md").touch()
    with pytest.raises(UnreadableError, match="notes.md: its ending '.md' is unknown"):
        stream(two)
    (two / "notes.md").rename(two / "notes.csv")
    with pytest.raises(UnreadableError, match=r"different kinds: \.csv, \.parquet"):
        stream(two)
    (two / "empty").mkdir()
    with pytest.raises(InputError, match="no file in this folder"):
        stream(two / "empty")


def csv(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    return tmp_path / "t.csv"


def test_a_text_is_numbers_whatever_comes_first(tmp_path):
    early = "".join(f"{i},\n" for i in range(600_000))  # more than a block of integers
    path = csv(tmp_path, f'x,y\n{early}0.5,1e300\n" 2 ",-1\n')
    (total,) = stream(path).fold(["x"], lambda parts: [b.data["x"][-1] for b in parts])
    assert len(total) > 1
    assert values(path, "x", "y")[-3:] == [(599999.0, None), (0.5, 1e300), (2.0, -1.0)]


@sweep(
    ("late", "words"),
    [
        ("one", ", row 300001: 'one' is not a number"),
        ("true", ", row 300001: 'true' is not a number"),
        ("2024-05-01", ", row 300001: '2024-05-01' is not a number"),
        (str(2**53 + 1), ": it has integers that float64 would round"),
        ("-" + "9" * 5000, ": it has integers that float64 would round"),
    ],
)
def test_a_late_value_of_a_text_is_refused(tmp_path, late, words):
    path = csv(tmp_path, "x\n" + "1\n" * 300_000 + late + "\n")
    with pytest.raises(RefusedValueError, match=rf"t\.csv, column 'x'{words}") as refused:
        values(path, "x")
    assert refused.value.column == "x"
    assert refused.value.__context__ is None


def test_a_name_that_stands_twice_is_refused(tmp_path):
    double = pa.table([[1], [2], [3]], names=["x", "x", "y"])
    assert values([double], "y") == [(3,)]
    with pytest.raises(InputError, match="'x': 2 columns have this name"):
        values([double], "x")
    with pytest.raises(InputError, match="'x': 2 columns have this name"):
        values(csv(tmp_path, "x,x,y\n1,2,3\n"), "x")
    assert values(tmp_path / "t.csv", "y") == [(3,)]


MEASURE = """
import re, sys, dpmic
table = dpmic.CountTable.of(sys.argv[1], {"x": (0, 1), "y": (0, 1)}, B=100, c=5)
print(table.n, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("groups", [2**20, 2**30], ids=["some-groups", "one-group"])
def test_memory_is_flat(tmp_path, groups):
    """However many rows a file has, and if they are all in one group."""
    rng = np.random.default_rng(1)
    peaks = {}
    for n in (10**6, 2 * 10**7):
        path = tmp_path / f"{n}.parquet"
        table = pa.table({"x": rng.random(n), "y": rng.random(n)})
        pq.write_table(table, path, row_group_size=groups, use_dictionary=False)
        command = [sys.executable, "-c", MEASURE, path]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert int(said[0]) == n
        peaks[n] = int(said[1])
    assert max(peaks.values()) <= 1.1 * min(peaks.values()), peaks


def test_unwanted_columns_are_not_read(tmp_path):
    """A column whose pages are broken does not matter to others."""
    path = tmp_path / "t.parquet"
    table = pa.table({"bad": np.arange(1000.0), "x": np.arange(1000.0)})
    pq.write_table(table, path, use_dictionary=False, compression="snappy")
    pages = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    pages[start : start + 200] = bytes(200)
    path.write_bytes(pages)
    assert sum(stream(path).fold(["x"], rows)) == 1000
    with pytest.raises(UnreadableError, match=r"t\.parquet"):
        list(stream(path).fold(["bad"], rows))


def test_a_text_without_a_header_is_refused_and_its_values_are_not_shown(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("xerxes,4711.5\nbob,3\n")
    for call in (
        lambda: dpmic.CountTable.of(path, {"age": (0, 1), "pay": (0, 1)}, B=9, c=5),
        lambda: dpmic.release("age", "pay", data=path, bounds=((0, 1), (0, 1)), epsilon=1.0),
    ):
        with pytest.raises(dpmic.InputError) as refused:
            call()
        assert "4711" not in str(refused.value)
        assert "xerxes" not in str(refused.value)
    with pytest.raises(dpmic.InputError, match="the columns are 'xerxes', '4711.5'"):
        dpmic.micr("age", "pay", data=path, bounds=((0, 1), (0, 1)), B=9)  # nothing is private
