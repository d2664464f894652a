"""Releases of rows that come in parts: the same scores, and the same silence."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from sweeps import sweep

import dpmic
from dpmic.data import stream
from dpmic.privacy import CappedLaplace, MICeLaplace, MICrGeometric, MICrLaplace, screen
from dpmic.privacy.query import Terms
from dpmic.statistics import sources

BOUNDS = {"age": (0.0, 100.0), "pay": (0.0, 5000.0), "tax": (0.0, 900.0)}
ONCE = {"epsilon": 1.0, "bounds": BOUNDS, "B": 20, "c": 5, "dataset": "people"}  # read only once
N = 600


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    age = rng.integers(0, 120, N).astype(float)
    pay = 40 * age + rng.normal(0, 300, N)
    return pa.table({"age": age, "pay": pay, "tax": pay * 0.2 + rng.normal(0, 50, N)})


@pytest.fixture
def folder(people, tmp_path):
    """The same people in files of one folder."""
    home = tmp_path / "people"
    home.mkdir()
    for i in range(3):
        pa.parquet.write_table(people.slice(i * 200, 200), home / f"part-{i}.parquet")
    return home


@pytest.fixture
def ledger(tmp_path):
    return dpmic.Ledger(tmp_path / "budget.ledger", epsilon=10)


def batches(people, size=70):
    yield from people.to_batches(max_chunksize=size)


def counted(people, **options):
    return dpmic.CountTable.of(people, BOUNDS, **{"B": 20, "c": 5, **options})


def score(mechanism, data):
    source = mechanism.known(sources.find("age", "pay", data=data))
    setting = mechanism.setting(source.n)
    return mechanism.score(mechanism.read(source, setting), setting), setting


@sweep("statistic", ["mic", "tic", "mev", "mas"])
@sweep("grids", [{}, {"B": 20, "c": 5}])
@sweep("axes", ["linear", "any"])
def test_the_score_before_noise_is_that_in_memory(people, folder, statistic, grids, axes):
    box = BOUNDS["age"], BOUNDS["pay"]
    mechanism = MICrLaplace(1.0, box, statistic=statistic, axes=axes, **grids)
    known = score(mechanism, people)
    others = [folder]
    if grids:
        others += [batches(people)] + [counted(people)] * (axes == "linear")
    for data in others:
        assert score(mechanism, data) == known


@sweep("axes", ["linear", "any"])
def test_capped_scores_are_those_in_memory(people, folder, axes):
    mechanism = CappedLaplace(1.0, (BOUNDS["age"], BOUNDS["pay"]), axes=axes)
    known = score(mechanism, people)
    table = dpmic.CountTable.of(people, BOUNDS, statistic="micc", axes=axes)
    for data in (folder, batches(people), table):
        assert score(mechanism, data) == known
    published = dpmic.release("age", "pay", data=table, epsilon=1.0)
    assert (published.mechanism, published.parameters["axes"]) == ("capped-laplace", axes)
    found = dpmic.screen(table, epsilon=1.0, top=1)
    assert (found.n, found.parameters["axes"]) == (N, axes)


def test_zooms_cannot_be_counted(people, folder):
    mechanism = CappedLaplace(1.0, (BOUNDS["age"], BOUNDS["pay"]), axes="wide")
    assert score(mechanism, people)[0] > 0
    for data in (folder, batches(people)):
        with pytest.raises(dpmic.ParameterError, match="wide"):
            dpmic.release("age", "pay", data=data, mechanism=mechanism)


def test_counts_before_noise_are_those_in_memory(people, folder):
    mechanism = MICrGeometric(1.0, (BOUNDS["age"], BOUNDS["pay"]))
    known, setting = score(mechanism, people)
    found, _ = score(mechanism, folder)
    assert setting.n == found.sum() == N
    assert np.array_equal(found, known)


@pytest.mark.parametrize("target", [None, "pay"])
def test_screened_scores_are_those_in_memory(people, folder, target):
    def scores(table):
        options = {"bounds": BOUNDS, "target": target, "top": 1, "B": 20, "c": 5}
        options["axes"] = "linear"  # a count table's
        query = screen.prepare(table, Terms(epsilon=1.0), **options)
        return query.compute(query.read()), query.setting

    known = scores(people)
    assert len(known[0]) == (3 if target is None else 2)
    for table in (folder, batches(people), counted(people), counted(people, target="pay")):
        if isinstance(table, dpmic.CountTable) and table.grids.target != target:
            continue
        assert scores(table) == known


def test_every_release_takes_a_stream_or_a_table(people, folder):
    table = counted(people)
    for data in (folder, table):
        published = dpmic.release("age", "pay", data=data, epsilon=1.0, bounds=BOUNDS)
        assert (published.n, published.names) == (N, ("age", "pay"))
        screened = dpmic.screen(data, bounds=BOUNDS, epsilon=1.0, top=1)
        assert (screened.n, screened.candidates) == (N, 3)
        matrix = dpmic.release_pairwise(data, bounds=BOUNDS, epsilon=1.0)
        assert (matrix.n, matrix.names) == (N, ("age", "pay", "tax"))
        assert dpmic.plan(data, 1.0).n == N
    assert dpmic.release("tax", "age", data=table, epsilon=1.0).parameters["B"] == 20
    assert dpmic.screen(table, epsilon=1.0, top=1).parameters["c"] == 5
    assert dpmic.release_pairwise(table, epsilon=1.0, target="age").parameters["B"] == 20
    assert dpmic.plan(people, 1.0).n == N


def test_rows_that_come_once(people):
    published = dpmic.release(
        "age", "pay", data=batches(people), epsilon=1.0, bounds=BOUNDS, B=20, c=5
    )
    assert published.n == N
    found = dpmic.screen(batches(people), bounds=BOUNDS, epsilon=1.0, top=1, B=20, c=5)
    assert found.n == N
    assert dpmic.screen(batches(people), bounds=BOUNDS, epsilon=1.0, top=1).n == N
    for options in ({"mechanism": "micr-laplace"}, {"B": 20}, {"c": 5}):
        with pytest.raises(dpmic.ParameterError, match="not known yet|only once"):
            dpmic.release("age", "pay", data=batches(people), epsilon=1, bounds=BOUNDS, **options)
        with pytest.raises(dpmic.ParameterError, match="not known yet|only once"):
            dpmic.screen(batches(people), bounds=BOUNDS, epsilon=1.0, top=1, **options)
    with pytest.raises(dpmic.ParameterError, match="only once"):
        dpmic.plan(batches(people), 1.0)


def test_a_question_is_the_same_whatever_the_data_are_in(people, folder, ledger):
    """What was answered in memory is answered from the ledger, and no file is read again."""
    options = {"epsilon": 1.0, "bounds": BOUNDS, "ledger": ledger, "dataset": "people"}
    first = dpmic.release("age", "pay", data=people, **options)
    spent = ledger.spent
    (folder / "part-2.parquet").write_bytes((folder / "part-2.parquet").read_bytes())
    assert dpmic.release("age", "pay", data=folder, **options) == first
    assert ledger.spent == spent


def everything(error):
    """All that an exception may carry: its texts, contexts and the variables of its frames."""
    seen, texts = [error], []
    while seen:
        one = seen.pop()
        texts.append(repr(one.args) + str(one) + repr(vars(one)))
        seen += [other for other in (one.__context__, one.__cause__) if other is not None]
    return " ".join(texts)


def bad_folder(folder, change):
    part = folder / "part-1.parquet"
    if change == "truncated":
        part.write_bytes(part.read_bytes()[:-200])
        return
    table = pa.parquet.read_table(part)
    pay = table["pay"].to_pylist()
    pay[150] = {"nan": float("nan"), "null": None, "infinite": float("inf")}.get(change, 4321.5)
    column = pa.array(list(map(str, pay)) if change == "text" else pay)
    if change == "missing":
        table = table.drop_columns(["pay"])
    else:
        table = table.set_column(1, "pay", column)
    pa.parquet.write_table(table, part)


@pytest.mark.parametrize("change", ["float32", "missing"])
def test_files_that_differ_are_refused_with_a_remedy_that_works(folder, change):
    part = folder / "part-1.parquet"
    table = pa.parquet.read_table(part)
    narrow = table.set_column(1, "pay", table["pay"].cast(pa.float32()))
    pa.parquet.write_table(narrow if change == "float32" else table.drop_columns(["pay"]), part)
    with pytest.raises(dpmic.InputError, match="a file lacks it or has another type") as refused:
        dpmic.release("age", "pay", data=folder, epsilon=1.0, bounds=BOUNDS)
    assert refused.value.remedy.startswith("give every file the same types, ")
    assert "part-1" not in str(refused.value)
    pa.parquet.write_table(table, part)
    assert dpmic.release("age", "pay", data=folder, epsilon=1.0, bounds=BOUNDS).n > 0


CHANGES = ["nan", "null", "infinite", "text", "missing", "truncated"]


@pytest.mark.parametrize("change", CHANGES)
def test_bad_parts_spend_nothing_and_name_the_column_alone(folder, ledger, change):
    bad_folder(folder, change)
    calls = (
        lambda: dpmic.release(
            "age", "pay", data=folder, epsilon=1.0, bounds=BOUNDS, ledger=ledger, dataset="people"
        ),
        lambda: dpmic.screen(
            folder, bounds=BOUNDS, epsilon=1.0, top=1, ledger=ledger, dataset="people"
        ),
        lambda: dpmic.release_pairwise(
            folder, bounds=BOUNDS, epsilon=1.0, ledger=ledger, dataset="people"
        ),
        lambda: MICrGeometric(1.0, (BOUNDS["age"], BOUNDS["pay"])).release(
            "age", "pay", data=folder
        ),
    )
    for call in calls:
        with pytest.raises(dpmic.InputError, match="pay|the data") as refused:
            call()
        carried = everything(refused.value)
        for secret in ("part-1", str(folder), "4321", "nan", "inf,", "150"):
            assert secret not in carried, (secret, carried)
    assert ledger.spent == 0


@pytest.mark.parametrize("change", CHANGES)
def test_without_privacy_the_file_and_the_column_are_named(folder, change):
    bad_folder(folder, change)
    with pytest.raises(dpmic.InputError, match="part-1") as refused:
        dpmic.micr("age", "pay", data=folder, bounds=(BOUNDS["age"], BOUNDS["pay"]), B=20)
    assert change == "truncated" or "pay" in str(refused.value)


def test_a_bad_value_in_a_late_batch(people, ledger):
    def late():
        yield from people.to_batches(max_chunksize=1)
        yield pa.record_batch({"age": [1.0], "pay": [float("nan")], "tax": [0.0]})

    with pytest.raises(dpmic.InputError, match="column pay") as refused:
        dpmic.release("age", "pay", data=late(), ledger=ledger, **ONCE)
    assert "600" not in everything(refused.value)
    assert ledger.spent == 0


def test_what_cannot_be_done_in_parts_is_refused(people, folder, ledger):
    common = {"epsilon": 1.0, "ledger": ledger, "dataset": "people"}
    with pytest.raises(dpmic.ParameterError, match="person"):
        dpmic.release("age", "pay", data=folder, bounds=BOUNDS, person="tax", **common)
    with pytest.raises(dpmic.ParameterError, match="person"):
        dpmic.screen(folder, bounds=BOUNDS, top=1, person="tax", **common)
    for data in (folder, batches(people), counted(people)):
        with pytest.raises(dpmic.ParameterError, match="mice-laplace"):
            dpmic.release(
                "age",
                "pay",
                data=data,
                mechanism=MICeLaplace(1.0, allow_noisy=True),
                ledger=ledger,
                dataset="people",
            )
    with pytest.raises(dpmic.ParameterError, match="count table"):
        dpmic.release(
            "age",
            "pay",
            data=counted(people),
            mechanism=MICrGeometric(1.0, (BOUNDS["age"], BOUNDS["pay"])),
            ledger=ledger,
            dataset="people",
        )
    with pytest.raises(dpmic.ParameterError, match="bounds"):
        dpmic.screen(folder, top=1, **common)
    assert ledger.spent == 0


def test_other_grids_than_the_tables_spend_nothing(people, ledger):
    table, some = counted(people), counted(people, target="pay")
    for options in ({"B": 24}, {"c": 7}, {"bounds": {**BOUNDS, "pay": (0, 1)}}):
        with pytest.raises(dpmic.InputError, match="other grids"):
            dpmic.release(
                "age", "pay", data=table, epsilon=1.0, ledger=ledger, dataset="people", **options
            )
        with pytest.raises(dpmic.InputError, match="other grids"):
            dpmic.screen(table, epsilon=1.0, top=1, ledger=ledger, dataset="people", **options)
    with pytest.raises(dpmic.InputError, match="not counted"):
        dpmic.screen(some, epsilon=1.0, top=1, target="age", ledger=ledger, dataset="people")
    with pytest.raises(dpmic.InputError, match="not counted"):
        dpmic.release("age", "tax", data=some, epsilon=1.0, ledger=ledger, dataset="people")
    assert ledger.spent == 0


def test_rows_that_come_between_counting_and_reading_spend_nothing(people, folder, ledger):
    rows = stream(folder)
    before = rows.count()
    assert before == N
    source = sources.Counting(rows, rows.names)
    assert source.n == N
    pa.parquet.write_table(people.slice(0, 5), folder / "part-9.parquet")
    again = sources.Counting(stream(folder), rows.names)
    again.__dict__["n"] = N
    with pytest.raises(dpmic.InputError, match="has changed"):
        again.counted(tuple(BOUNDS.values()), dpmic.CountTable(BOUNDS, B=20).grids.family)


def test_a_call_that_was_refused_costs_no_record(people):
    """A list and its iterators are there for the corrected call; others are not begun again."""
    whole = people.to_batches(max_chunksize=70)
    for rows in (whole, iter(whole), iter(tuple(whole))):
        with pytest.raises(dpmic.InputError, match="no such column"):
            dpmic.micr("age", "pey", data=rows, bounds=((0, 1), (0, 1)), B=20)
        with pytest.raises(dpmic.ParameterError):
            dpmic.release("age", "pay", data=rows, epsilon=-1, bounds=BOUNDS)
        assert dpmic.release("age", "pay", data=rows, epsilon=1, bounds=BOUNDS).n == N
    rows = batches(people)
    with pytest.raises(dpmic.InputError, match="no such column"):
        dpmic.micr("age", "pey", data=rows, bounds=((0, 1), (0, 1)), B=20)
    for _ in range(2):
        with pytest.raises(dpmic.InputError, match="it was used before, perhaps by a call"):
            dpmic.release("age", "pay", data=rows, epsilon=1, bounds=BOUNDS, B=20, c=5)


@pytest.mark.parametrize("wrap", [lambda rows: map(pa.Table.from_batches, [rows]), itertools.chain])
def test_iterators_that_cannot_be_remembered_are_refused(people, wrap):
    rows = people.to_batches(max_chunksize=70)
    for _ in range(2):
        with pytest.raises(dpmic.InputError, match="iterator of type .*pass a generator"):
            dpmic.release("age", "pay", data=wrap(rows), epsilon=1, bounds=BOUNDS, B=20, c=5)


def test_a_reader_that_was_refused_midway_is_not_taken_for_all_of_its_rows(people, ledger):
    """One bad value in the second of three batches: the third alone must not be published."""
    parts = people.to_batches(max_chunksize=400)
    bad = parts[1].to_pylist()
    bad[7]["pay"] = None
    parts[1] = pa.RecordBatch.from_pylist(bad, parts[1].schema)
    reader = pa.RecordBatchReader.from_batches(parts[0].schema, parts)
    for words in ("column pay", "it was used before"):
        with pytest.raises(dpmic.InputError, match=words):
            dpmic.release("age", "pay", data=reader, ledger=ledger, allow_noisy=True, **ONCE)
    assert ledger.spent == 0


@pytest.mark.parametrize("late", [False, True])
def test_words_of_a_failing_iterator_are_not_repeated(people, ledger, late):
    def rows():
        if late:
            yield from people.to_batches(max_chunksize=200)
        raise ValueError("row 17: salary 123456")

    with pytest.raises(dpmic.InputError) as refused:
        dpmic.release("age", "pay", data=rows(), ledger=ledger, **ONCE)
    assert "123456" not in everything(refused.value)
    assert ledger.spent == 0


@sweep("line", ["xerxes;34;5000", "xerxes,2020-01-05", "34,xerxes"])
@sweep("opened", [str, lambda path: pa.dataset.dataset(path, format="csv")])
def test_the_first_line_of_a_text_is_not_shown(tmp_path, line, opened):
    path = tmp_path / "people.csv"
    path.write_text(f"{line}\n{line}\n")
    data = opened(path)
    for call in (
        lambda: dpmic.release("age", "pay", data=data, epsilon=1, bounds=BOUNDS),
        lambda: dpmic.screen(data, epsilon=1, bounds=BOUNDS, top=1),
        lambda: dpmic.screen(data, epsilon=1, bounds=BOUNDS, target="w", top=1),
    ):
        with pytest.raises(dpmic.InputError) as refused:
            call()
        shown = everything(refused.value).replace(str(path), "")  # which may hold any number
        assert not any(value in shown for value in ("xerxes", "34", "5000", "2020"))


def test_local_variables_of_a_failed_release_hold_no_counts(people, folder, ledger, monkeypatch):
    """What a crash reporter would send: the repr of every local variable of every frame."""
    monkeypatch.setattr(
        dpmic.Ledger, "spend", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("disk"))
    )
    mechanism = MICrGeometric(1.0, (BOUNDS["age"], BOUNDS["pay"]), m=3, B=9)
    secret, _ = score(mechanism, folder)
    for data in (folder, people):
        with pytest.raises(RuntimeError) as failed:
            dpmic.release(
                "age", "pay", data=data, mechanism=mechanism, ledger=ledger, dataset="people"
            )
        step, shown = failed.value.__traceback__, ""  # of our own code
        while step is not None:
            if Path(dpmic.__file__).parent in Path(step.tb_frame.f_code.co_filename).parents:
                private = {k: v for k, v in step.tb_frame.f_locals.items() if k != "data"}
                shown += repr(private)
            step = step.tb_next
        assert str(secret.tolist()[0]) not in shown
        assert repr(secret) not in shown


def test_files_named_twice_are_refused(folder):
    with pytest.raises(dpmic.InputError, match="twice"):
        dpmic.CountTable.of([folder, folder / "part-0.parquet"], BOUNDS, B=20)


def test_a_table_with_a_target_is_screened_by_it(people):
    some = counted(people, target="pay")
    found = dpmic.screen(some, epsilon=1.0, top=1)
    assert (found.candidates, found.target) == (2, "pay")


def test_mechanisms_by_name_say_why_they_take_no_table(people):
    for name in ("mice-laplace", "micr-geometric"):
        with pytest.raises(
            dpmic.ParameterError, match="so it needs them in memory|not cells of equal width"
        ):
            dpmic.release(
                "age", "pay", data=counted(people), epsilon=1.0, mechanism=name, allow_noisy=True
            )


def test_a_saved_table_goes_on(people, tmp_path):
    """A table saved today and updated tomorrow is that of all at once."""
    path = tmp_path / "counts"
    path.write_bytes(counted(people.slice(0, 400)).to_bytes())
    table = dpmic.CountTable.from_bytes(path.read_bytes())
    table.update(people.slice(400))
    assert table == counted(people)
