"""Errors of private calls: whatever is refused, wherever the records are, none of them is told.

Not in the words of the error, nor in what a crash reporter finds: local variables of frames,
causes and contexts, closures; and nothing of ours keeps a record alive after the call.
"""

import contextlib
import gc
import inspect
import itertools
import sys
import traceback
import types
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from sweeps import sweep

import dpmic
from dpmic import cli
from dpmic.cli import _inputs
from dpmic.privacy import MICeLaplace, MICrGeometric, MICrLaplace, _guards, query

SECRET = 777.125
BOUNDS = {"age": (0.0, 100.0), "pay": (0.0, 5000.0)}
BOX = tuple(BOUNDS.values())
ROWS = 48
OURS = str(Path(dpmic.__file__).parent)


# The records, in every form


def records(kind):
    """Columns of numbers, with something in the last third of ``pay`` that is to be refused."""
    age = [float(i) for i in range(ROWS)]
    pay = [SECRET + i * (i > 20) for i in range(ROWS)]
    bad = {"null": None, "nan": float("nan"), "infinite": float("inf"), "words": "none"}
    if kind in bad:
        pay[40] = bad[kind]
    if kind == "text":
        pay = list(map(str, pay))
    return age, pay


def table(kind):
    if kind == "words":
        pytest.skip("Arrow has no such column")
    age, pay = records(kind)
    return pa.table({"age": age, "pay": pa.array(pay)})


def parts(kind):
    """Three batches, of which the last may have other columns, or may not come at all."""
    whole = table("" if kind in ("columns", "foreign", "interrupt") else kind)
    yield from whole.slice(0, 32).to_batches(max_chunksize=16)
    if kind == "foreign":
        raise ValueError(f"row 40: pay {SECRET}")
    if kind == "interrupt":
        raise KeyboardInterrupt
    last = whole.slice(32)
    yield (last.drop_columns(["pay"]) if kind == "columns" else last).to_batches()[0]


class Noted:
    """An iterator that knows whether the batch that it gave is still somewhere."""

    given = None

    def __iter__(self):
        return self

    def __next__(self):
        batch = table("").to_batches()[0]
        self.given = weakref.ref(batch)
        return batch


class Array:
    """What turns itself into an array, if it likes to."""

    def __init__(self, values, kind):
        self.values, self.kind = values, kind

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        if self.kind == "interrupt":
            raise KeyboardInterrupt
        if self.kind == "foreign":
            raise ValueError(f"pay {self.values}")
        return np.array(self.values)


def in_memory(make):
    def source(kind, _):
        if kind in ("columns", "foreign", "interrupt", "truncated"):
            pytest.skip("comes in parts only")
        return make(*records(kind))

    return source


def in_files(ending):
    write = {
        "csv": pa.csv.write_csv,
        "tsv": lambda t, p: pa.csv.write_csv(t, p, pa.csv.WriteOptions(delimiter="\t")),
        "parquet": pa.parquet.write_table,
        "feather": pa.feather.write_feather,
    }[ending]

    def source(kind, folder):
        if kind in ("foreign", "interrupt"):
            pytest.skip("no code of others")
        text = ending in ("csv", "tsv")
        if kind == ("text" if text else "words"):
            pytest.skip("there is no such column")
        paths = [folder / f"{i}.{ending}" for i in range(3)]
        whole = table("" if kind in ("columns", "truncated", "words") else kind)
        for i, path in enumerate(paths):
            part = whole.slice(16 * i, 16)
            write(part.drop_columns(["pay"]) if kind == "columns" and i == 2 else part, path)
        if kind == "truncated":
            cut = f'1{"," if ending == "csv" else chr(9)}"{SECRET}\n'.encode() if text else b""
            paths[2].write_bytes(paths[2].read_bytes()[: None if text else -70] + cut * 3)
        if kind == "words":
            paths[2].write_text(paths[2].read_text() + f"none\t{SECRET}\n".replace(
                "\t", "," if ending == "csv" else "\t"))  # fmt: skip
        return folder

    return source


def relation(kind, _):
    duckdb = pytest.importorskip("duckdb")
    if kind in ("columns", "truncated", "interrupt", "words"):
        pytest.skip("one query has one kind of columns")
    connection = duckdb.connect()
    connection.register("t", table("" if kind == "foreign" else kind))
    late = f"if(age = 40, error('{SECRET}'), pay)" if kind == "foreign" else "pay"
    return connection.sql(f"SELECT age, {late} AS pay FROM t")


def lazy(kind, _):
    if kind in ("columns", "truncated", "interrupt", "words"):
        pytest.skip("one query has one kind of columns")
    frame = pl.from_arrow(table("" if kind == "foreign" else kind)).lazy()
    if kind == "foreign":
        frame = frame.with_columns(pay=pl.col("pay").cast(pl.String) + "x").cast(pl.Float64)
    return frame


def reader(kind, _):
    if kind in ("columns", "truncated"):
        pytest.skip("a reader has one schema, and no file")
    schema = table("text" if kind == "text" else "").schema
    return pa.RecordBatchReader.from_batches(schema, parts(kind))


def iterator(kind, _):
    if kind == "truncated":
        pytest.skip("no file")
    return parts(kind)


def listed(kind, _):
    if kind in ("foreign", "interrupt", "truncated"):
        pytest.skip("no code of others")
    return list(parts(kind))


def dataset(kind, folder):
    return pa.dataset.dataset(in_files("parquet")(kind, folder))


def own(kind, _):
    if kind in ("columns", "truncated", "null", "words"):
        pytest.skip("comes in parts only")
    age, pay = records(kind)
    return {"age": np.array(age), "pay": Array(pay, kind)}


STREAMS = {
    "iterator": iterator,
    "list": listed,
    "reader": reader,
    "csv": in_files("csv"),
    "tsv": in_files("tsv"),
    "parquet": in_files("parquet"),
    "feather": in_files("feather"),
    "dataset": dataset,
    "duckdb": relation,
    "lazy": lazy,
}
MEMORY = {
    "numpy": in_memory(lambda age, pay: {"age": np.array(age), "pay": np.array(pay)}),
    "lists": in_memory(lambda age, pay: {"age": age, "pay": pay}),
    "series": in_memory(lambda age, pay: {"age": pd.Series(age), "pay": pd.Series(pay)}),
    "own": own,
    "pandas": in_memory(lambda age, pay: pd.DataFrame({"age": age, "pay": pay})),
    "polars": in_memory(lambda a, p: pl.DataFrame({"age": a, "pay": p}, strict=False)),
    "pyarrow": lambda kind, _: in_memory(lambda *_: table(kind))(kind, _),
}
SOURCES = {**MEMORY, **STREAMS}
LATER = ("series", "tsv", "feather", "dataset", "duckdb")
EVERY = [pytest.param(name, marks=[pytest.mark.full] * (name in LATER)) for name in SOURCES]
KINDS = (
    "text", "words", "null", "nan", "infinite", "columns", "truncated", "foreign", "interrupt",
)  # fmt: skip


# Every private call

MUCH = {"epsilon": 100.0, "allow_large_epsilon": True}  # so that nobody is refused for noise


def of_pair(call, **options):
    def asked(source, **more):
        given = ("age", "pay"), {"data": source}
        if isinstance(source, dict):
            given = (source["age"], source["pay"]), {}
        return call(*given[0], **given[1], **{**MUCH, **options, **more})

    return asked


def of_table(call, **options):
    def asked(source, **more):
        whole = source
        if isinstance(source, dict):
            if not all(isinstance(values, np.ndarray) for values in source.values()):
                pytest.skip("no table")
            whole = np.column_stack(list(source.values()))
            more = {"bounds": BOX, **more}
        return call(whole, **{**MUCH, "bounds": BOUNDS, **options, **more})

    return asked


def of_one(source, **more):
    if isinstance(source, dict):
        return dpmic.estimate_bounds(source["pay"], **{**MUCH, **more})
    return dpmic.estimate_bounds("pay", data=source, **{**MUCH, **more})


def of_mechanism(mechanism):
    def asked(source, **more):
        if more:
            pytest.skip("its options are its own")
        if isinstance(source, dict):
            return mechanism.release(source["age"], source["pay"])
        return mechanism.release("age", "pay", data=source)

    return asked


GRIDS = {"B": 9, "c": 2}
CALLS = {
    "micr": of_pair(dpmic.release, bounds=BOX, **GRIDS),
    "mice": of_pair(dpmic.release, mechanism="mice-laplace"),
    "geometric": of_pair(dpmic.release, mechanism="micr-geometric", bounds=BOX, m=4),
    "screen": of_table(dpmic.screen, top=1, **GRIDS),
    "matrix": of_table(dpmic.release_pairwise, **GRIDS),
    "test": of_pair(dpmic.release_test, draws=19),
    "bounds": of_one,
    "MICrLaplace": of_mechanism(MICrLaplace(bounds=BOX, **MUCH, **GRIDS)),
    "MICeLaplace": of_mechanism(MICeLaplace(**MUCH)),
    "MICrGeometric": of_mechanism(MICrGeometric(bounds=BOX, m=4, **MUCH)),
}


# The attack


def below(error):
    """Leave the caller's own frames out of a traceback: their variables are his."""
    step = error.__traceback__
    while step is not None and not step.tb_frame.f_code.co_filename.startswith(OURS):
        step = step.tb_next
    return error.with_traceback(step)


def words(error):
    """Return all that a crash reporter prints, with the variables of every frame."""
    text, seen = [], []
    while error is not None and error not in seen:
        seen.append(error)
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        text += [*told.format(), repr(error.args), repr(vars(error))]
        text += getattr(error, "__notes__", ())
        error = error.__cause__ or error.__context__
    return "".join(text)


def parts_of(thing):
    """Return what somebody who holds a thing can get hold of."""
    if isinstance(thing, BaseException):
        frames = [frame for frame, _ in traceback.walk_tb(thing.__traceback__)]
        held = [value for frame in frames for value in frame.f_locals.values()]
        return [*thing.args, *vars(thing).values(), thing.__cause__, thing.__context__, *held]
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or () if cell != types.CellType()]
        return [*cells, *(thing.__defaults__ or ())]
    if isinstance(thing, types.ModuleType | type | types.CodeType):
        return []
    if isinstance(thing, types.FrameType):
        return list(thing.f_locals.values())
    return gc.get_referents(thing)


def is_record(thing):
    if isinstance(thing, pa.RecordBatch | pa.Table | pa.Array | pa.ChunkedArray | np.ndarray):
        return len(thing) > 0
    if isinstance(thing, pd.DataFrame | pd.Series | pl.DataFrame | pl.Series | Array):
        return True
    if isinstance(thing, bytes | bytearray | memoryview):
        return str(SECRET).encode() in bytes(thing)
    return isinstance(thing, float) and thing == SECRET


def reached(error):
    """Return the records that can be reached from an error."""
    seen, todo, found = {id(error)}, [error], []
    while todo:
        for part in parts_of(todo.pop()):
            if id(part) not in seen and part is not None:
                seen.add(id(part))
                todo.append(part)
                found += [type(part)] * is_record(part)
    return found


def held(source):
    """Return weak references to what a source holds, as far as there can be any."""
    members = list(source.values()) if isinstance(source, dict) else [source]
    members += source if isinstance(source, list) else []
    found = []
    for member in members:
        with contextlib.suppress(TypeError):
            found.append(weakref.ref(member))
    return found


def refused(call, make, **more):
    """Return the error of a call, below the caller's frames, and what was alive before it."""
    source = make()
    alive = held(source)
    try:
        call(source, **more)
    except (Exception, KeyboardInterrupt) as error:
        found = below(error)
    else:
        pytest.fail("it was not refused")
    return found, alive


def attack(call, make, **more):
    """Let a call be refused, search its error, and return both what to say and what may live on."""
    error, alive = refused(call, make, **more)
    text = words(error)
    assert str(SECRET) not in text, text
    assert not reached(error)
    if not isinstance(error, dpmic.errors.DpmicError | KeyboardInterrupt):
        assert "unexpected keyword argument" in str(error)
    error.__traceback__ = None  # whose frames know those of their callers
    return error, alive


@contextlib.contextmanager
def forgotten():
    """Check that nothing keeps alive what weak references are collected of."""
    alive = []
    yield alive
    gc.collect()
    assert not [one for one in alive if one() is not None]


def tried(source, kind, folder):
    """Return what makes a source, anew for each call; skips where there is no such thing."""
    home = folder / kind
    home.mkdir(exist_ok=True)
    make = SOURCES[source]
    make(kind, home)
    return lambda: make(kind, home)


@pytest.mark.slow
@sweep("kind", KINDS)
@pytest.mark.parametrize("source", EVERY)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_refusal_carries_a_record(tmp_path, source, kind):
    make = tried(source, kind, tmp_path)
    refusals = set()
    with forgotten() as alive:
        for call in CALLS.values():
            with contextlib.suppress(pytest.skip.Exception):
                error, more = attack(call, make)
                alive += more
                refusals.add(type(error))
    assert refusals & {dpmic.InputError, KeyboardInterrupt}  # for the data's sake


OPTIONS = {
    "epsilon": {"epsilon": -1},
    "person": {"person": "nobody"},
    "people": {"person": [SECRET] * (ROWS - 1)},
    "target": {"target": "wages"},
    "bounds": {"bounds": {"age": (0, 1), "wages": (0, 1)}},
    "unknown": {"wrong": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("source", EVERY)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_wrong_option_carries_a_record(tmp_path, source):
    make = tried(source, "", tmp_path)
    with forgotten() as alive:
        for call, more in itertools.product(CALLS.values(), OPTIONS.values()):
            with contextlib.suppress(pytest.skip.Exception):
                alive += attack(call, make, **more)[1]


@pytest.mark.slow
@pytest.mark.parametrize("source", EVERY)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_refusal_of_a_budget_carries_a_record(tmp_path, source):
    ledger = dpmic.Ledger(tmp_path / "budget.ledger", epsilon=0.5)
    make = tried(source, "", tmp_path)
    with forgotten() as alive:
        for call in CALLS.values():
            with contextlib.suppress(pytest.skip.Exception):
                alive += attack(call, make, ledger=ledger, dataset="q")[1]


@sweep("ending", ["csv", "tsv", "parquet", "feather"])
@sweep("kind", ["words", "columns", "truncated"])
def test_no_refusal_of_the_commands_reader_carries_a_record(tmp_path, ending, kind):
    def read(folder):
        ends = dict.fromkeys(("age", "pay"), (0, 1))
        return _inputs.private(str(folder / f"2.{ending}"), ends, query.Terms(epsilon=1))

    attack(read, tried(ending, kind, tmp_path))


def test_no_command_leaves_with_a_record(monkeypatch, tmp_path, capsys):
    """What ends a command holds nothing of the error that it ended by."""
    in_files("csv")("words", tmp_path)
    given = ["release", str(tmp_path / "2.csv"), "age", "pay", "--epsilon", "1", "--yes"]
    given += ["--one-row-per-person", "--bounds", "age=0:100", "--bounds", "pay=0:5000", "--debug"]
    monkeypatch.setattr(sys, "argv", ["dpmic", *given])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert str(SECRET) not in words(below(stopped.value)) + capsys.readouterr().err
    assert not reached(stopped.value)


def test_no_batch_outlives_a_refused_call():
    """The first batch is looked at for its names; an iterator that is kept keeps none."""
    batches = Noted()
    with pytest.raises(dpmic.InputError, match="no such column"):
        CALLS["screen"](batches, target="wages")
    gc.collect()
    assert batches.given() is None


def test_a_refused_call_loses_no_batch_in_silence():
    """What is left of an iterator is not taken for all of it."""
    batches = parts("")
    for more in ({"epsilon": -1}, {"rows_per_person": 0}, {"ledger": 3}):  # before it is touched
        with pytest.raises(dpmic.errors.DpmicError):
            CALLS["micr"](batches, **more)
    with pytest.raises(dpmic.errors.DpmicError):
        CALLS["micr"](batches, bounds={"age": (0, 1), "wages": (0, 1)})
    with pytest.raises(dpmic.InputError, match="it was used before.*make a new one"):
        CALLS["micr"](batches)
    late = parts("columns")
    for words in ("column pay", "it was used before"):
        with pytest.raises(dpmic.InputError, match=words):
            CALLS["micr"](late)


def test_every_function_that_is_given_private_records_is_made_by_private():
    """Those of the library that know a ledger, and every mechanism's own."""
    public = [getattr(dpmic, name) for name in dpmic.__all__]
    asked = [one for one in public if isinstance(one, types.FunctionType)]
    spending = [one for one in asked if "ledger" in inspect.signature(one).parameters]
    assert len(spending) >= 5
    mechanisms = [kind.release for kind in (MICrLaplace, MICeLaplace, MICrGeometric)]
    modules = [sys.modules[one.__module__] for one in spending]
    steps = [*(module.prepare for module in modules), query.Query.run]
    for function in (*spending, *mechanisms, *steps, dpmic.plan):
        assert function.__code__ is _guards.private(function).__code__, function


def test_the_attack_can_succeed():
    """The same search finds what a careless refusal leaves behind."""
    for careless in (dpmic.micr, dpmic.mice):
        source = {"age": np.arange(9.0), "pay": [str(SECRET)] * 8 + [1]}
        box = {"bounds": BOX} if careless is dpmic.micr else {}
        error, _ = refused(lambda s: careless(s["age"], s["pay"], **box), lambda: source)  # noqa: B023
        assert str(SECRET) in words(error)
        assert np.ndarray in reached(error)
