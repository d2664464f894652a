"""Job files: what they may say, what is wrong with them, and what they publish."""

import datetime
import re
import tomllib
import warnings
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from project import ROOT
from sweeps import sweep

import dpmic
from dpmic._progress import listening
from dpmic._validate import Categories
from dpmic.errors import BoundsReminder, InputError, ParameterError
from dpmic.job import MADE_UP, _made_up, for_the_file, save, template
from dpmic.job._entries import KEYS, Entries
from dpmic.parameters.value_noise import ValueNoise
from dpmic.privacy import pairwise
from dpmic.privacy._joint_noise import of_value
from dpmic.privacy.query import Terms

N = 1000
RNG = np.random.default_rng(20271)
AGE = RNG.uniform(20, 90, N)
COLUMNS = {
    "patient": np.arange(N),
    "age": AGE,
    "dose": 2 * AGE + RNG.normal(0, 10, N),
    "weight": RNG.normal(70, 12, N),
}
GARBAGE = b"\xff\xfe;;;\x00 not a record,1,2\n,,,,,,,\n" * 50

TEXT = """\
[data]
file = "visits.csv"
dataset = "visits 2024"
people = 1000

[privacy]
person = "patient"
epsilon = 1.0
ledger = "visits.ledger"

[question]
ask = "strongest pairs"
top = 2

[columns]
patient = "ignore"
age = { bounds = [0, 120] }
dose = { bounds = [0, 400] }
weight = { bounds = [0, 300] }

[missing]
rule = "refuse"

[groups]

[report]
file = "visits.html"
"""
PAIR = TEXT.replace('"strongest pairs"\ntop = 2', '"one pair"\nx = "age"\ny = "dose"')
TEST = TEXT.replace('"strongest pairs"\ntop = 2', '"test"\nx = "age"\ny = "dose"\ndraws = 19')
ALL = TEXT.replace('"strongest pairs"\ntop = 2', '"all pairs"')
GROUPED = (
    TEXT.replace("[groups]", '[groups]\nby = "ward"\nat_least = { a = 300, b = 200 }')
    .replace("[missing]", 'ward = { categories = ["a", "b"] }\n\n[missing]')
    .replace('"refuse"', '"drop"\ncomplete = 0.9')
)


@pytest.fixture
def job(tmp_path):
    """Return what writes a job file and loads it."""

    def load(text=TEXT):
        path = tmp_path / "visits.dpmic.toml"
        path.write_text(text)
        return dpmic.Job.load(path)

    return load


@pytest.fixture
def table(tmp_path):
    """A table and a ledger, where the job file has them."""
    rows = zip(*(column.tolist() for column in COLUMNS.values()), strict=True)
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    return dpmic.Ledger(tmp_path / "visits.ledger", epsilon=3)


@pytest.fixture
def sealed(tmp_path):
    """A table with a header and no record that anybody could read, and a ledger."""
    (tmp_path / "visits.csv").write_bytes((",".join(COLUMNS) + "\n").encode() + GARBAGE)
    return dpmic.Ledger(tmp_path / "visits.ledger", epsilon=3)


def problems(text):
    """Return what is wrong in a text by itself."""
    from dpmic.job import _rules

    entries = Entries.read(text)
    _rules.apply(entries)
    return [str(problem) for problem in entries.problems]


# the template


def test_the_file_of_the_guide_is_a_job():
    page = (ROOT / "docs" / "guides" / "job-file.md").read_text()
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert not problems(text)


def test_a_template_has_every_key():
    text = template("visits.csv", ["age"], "visits.dpmic.toml")
    section = {
        part.partition("]")[0]: part for part in re.split(r"^\[", text, flags=re.MULTILINE)[1:]
    }
    assert list(section) == list(KEYS)
    for table, keys in KEYS.items():
        for key in keys:
            found = re.search(rf"^(# )?{key} = |: {key} = ", section[table], re.MULTILINE)
            assert found, f"{table}.{key}"


def test_what_a_template_suggests_can_be_used():
    """With every # taken away each line means what its comment says."""
    text = template("visits.csv", ["age"], "visits.dpmic.toml")
    used = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert len(tomllib.loads(used)["question"]) == len(KEYS["question"])
    assert not Entries.read(used).problems
    shown = re.findall(r"^#   (\{ .*? \}|\"ignore\") ", text, re.MULTILINE)
    assert len(shown) == 4
    for number, value in enumerate(shown):
        assert not Entries.read(f"[columns]\nage = {value}").problems, number


def test_a_template_asks_for_what_nobody_can_know():
    names = ["patient", "age", "dose"]
    text = template("visits.csv", names, "visits.dpmic.toml")
    found = problems(text)
    assert len(found) == 6
    assert all("it is not filled in" in problem for problem in found)
    asked = ("data.dataset", "privacy.person", "missing.rule")
    for place in (*asked, *(f"columns.{name}" for name in names)):
        assert any(f", {place}: " in problem for problem in found)
    assert tomllib.loads(text)["question"]["top"] == 3  # of as many pairs


def test_a_column_without_a_name_is_ignored(tmp_path):
    """A separator at the end of every line makes one."""
    text = template("t.csv", ["a", "b", ""], "t.dpmic.toml")
    columns = tomllib.loads(text)["columns"]
    assert columns == {"a": "?", "b": "?", "": "ignore"}
    assert 'columns.""' not in " ".join(problems(text))


def test_a_filled_in_template_is_a_job():
    text = template("visits.csv", ["patient", "age", "dose"], "visits.dpmic.toml")
    text = (
        text.replace('dataset = "?"', 'dataset = "visits 2024"')
        .replace('person = "?"', 'person = "patient"')
        .replace("top = 3", "top = 1")
        .replace('rule = "?"', 'rule = "drop"')
    )
    text = re.sub(r"^(age|dose) .*", r"\1.bounds = [0, 120]", text, flags=re.MULTILINE)
    assert not problems(text)  # the line of the person says nothing new


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=1, max_size=5))
def test_any_name_can_be_a_column(names):
    content = tomllib.loads(template("visits.csv", names, "visits.dpmic.toml"))
    assert set(content["columns"]) == set(names)
    for name, entry in content["columns"].items():
        assert entry == ("ignore" if names.count(name) > 1 or not name.strip() else "?")


@sweep("name", ["a b.csv", 'a"b.csv', "a\nb.csv", "größe.csv", "a$b.csv", "\u202eb.csv"])
def test_any_file_can_be_named(name):
    text = template(name, ["age"], f"{name}.dpmic.toml")
    content = tomllib.loads(text)
    assert content["data"]["file"] == name
    assert content["report"]["file"] == f"{name}.html"
    assert "\u202e" not in text


def test_a_template_replaces_nothing_but_a_template(tmp_path):
    path = tmp_path / "visits.dpmic.toml"
    text = template("visits.csv", ["age"], path)
    save(text, path)
    path.write_text(path.read_text() + "# filled in")
    with pytest.raises(ParameterError, match="this file exists; choose another name, or pass"):
        save(text, path)
    assert path.read_text().endswith("# filled in")
    save(text, path, overwrite=True)
    assert path.read_text() == text
    (tmp_path / "visits.csv").write_text("age\n1\n")
    with pytest.raises(ParameterError, match="it is not a job file"):
        save(text, tmp_path / "visits.csv", overwrite=True)
    with pytest.raises(ParameterError, match="it cannot be written"):
        save(text, tmp_path / "no folder" / "visits.dpmic.toml")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["visits.csv", path.name]


# what is wrong


def test_a_good_job_has_no_problem(job, table):
    for text in (TEXT, PAIR, TEST, ALL):
        assert job(text).check() == ()


WRONG = {
    "a table": ("[groups]", "[group]", "line 24, group: there is no such table", "'groups'"),
    "a key": ("epsilon =", "epsillon =", "line 8, privacy.epsillon: there is no such key", "'ep"),
    "a key elsewhere": ("top = 2", "top = 2\nepsilon = 1", "question.epsilon:", "below [privacy]"),
    "no table": ("[data]", "top = 3\n[data]", "line 1, top: there is no", "below [question]"),
    "no file": ('file = "visits.csv"\n', "", "data.file: it is missing", "below [data]"),
    "a file": ('"visits.csv"', "5", "line 2, file = 5: a text is expected", "quotes"),
    "an empty name": ('"visits 2024"', '""', "dataset = '': it is empty", "between the quotes"),
    "a code": ("[privacy]", 'na = "-9"\n[privacy]', "a list of texts is", 'write na = ["-9"]'),
    "no dataset": ('dataset = "visits 2024"\n', "", "data.dataset: it is missing", "the ledger"),
    "people": ("people = 1000", "people = 1", "line 4, people = 1: it is too small", "2 or more"),
    "many": ("people = 1000", "people = 10_000_001", "it is too large", "at most 10000000"),
    "no unit": ('person = "patient"\n', "", "privacy.person: it is missing", "one_row_per"),
    "open unit": ('"patient"', '"?"', "line 7, privacy.person: it is not filled in", "one_row"),
    "two units": (
        "epsilon",
        "one_row_per_person = true\nepsilon",
        "person allows several rows",
        "put #",
    ),
    "a yes": ("epsilon", "allow_noisy = 1\nepsilon", "allow_noisy = 1: true or false", "without"),
    "rows": ("epsilon", "rows_per_person = 0\nepsilon", "rows_per_person = 0: it is", "1 or"),
    "no epsilon": ("epsilon = 1.0\n", "", "privacy.epsilon: it is missing", "epsilon = 1"),
    "epsilon": ("1.0", '"1"', "line 8, epsilon = '1': epsilon must be a real", "pass a number"),
    "negative": ("1.0", "-1", "line 8, epsilon = -1.0: epsilon must be finite", "pass epsilon = 1"),
    "large": ("1.0", "20", "line 8, epsilon = 20", "allow_large_epsilon = true if you"),
    "no question": ('ask = "strongest pairs"\n', "", "question.ask: it is missing", '"one pair"'),
    "a question": ('"strongest pairs"', '"strong pairs"', "line 12, ask = ", "'strongest pairs'"),
    "no top": ("top = 2", "", "question.top: it is missing", "write top = 5"),
    "open top": ("top = 2", 'top = "?"', "line 13, question.top: it is not filled in", "top = 5"),
    "top": ("top = 2", "top = 4", "line 13, top = 4: there are only 3 pairs", "top = 3 or less"),
    "top of target": ("top = 2", 'top = 3\ntarget = "age"', "top = 3: there are only 2 pairs", ""),
    "another's": ("top = 2", "top = 2\ndraws = 99", "question.draws: ask = ", "put #"),
    "open": ("top = 2", 'top = 2\ncap = "?"', "question.cap: it is not filled in", "put #"),
    "target": ("top = 2", 'top = 2\ntarget = "aeg"', "no such column below [columns]", "'age'"),
    "idle target": ("top = 2", 'top = 2\ntarget = "patient"', "uses it as target", "bounds"),
    "mechanism": ("top = 2", 'top = 2\nmechanism = "laplace"', "no such choice", "'micr-laplace'"),
    "ranks": ("top = 2", 'top = 2\nmechanism = "mice-laplace"', "cannot score the pairs", "put #"),
    "axes": ("top = 2", 'top = 2\naxes = "log"', "axes = 'log': there is no such", "'any'"),
    "cap": ("top = 2", "top = 2\ncap = 1", "cap = 1: cap must be a multiple", "pass cap = 5"),
    "B": ("top = 2", "top = 2\nB = 1", "B = 1: the smallest grid", "pass B of"),
    "c": ("top = 2", "top = 2\nc = 0", "c = 0: a master needs", "pass c >= 1"),
    "split": ("top = 2", "top = 2\nsplit = 2", "split = 2: a share", "split = 0.8"),
    "no column": ("age = { bounds = [0, 120] }\n", 'age = "?"\n', "columns.age: it is not", "{ b"),
    "a column": ("{ bounds = [0, 120] }", "[0, 120]", "line 17, columns.age: this is not", "{ b"),
    "its key": ("{ bounds = [0, 120] }", "{ bound = [0, 120] }", "has no key 'bound'", "'bounds'"),
    "ends": ("[0, 120]", "[120, 0]", "line 17, columns.age: the lower bound must", "{ bounds"),
    "three": ("[0, 120]", "[0, 1, 2]", "columns.age: an interval has two ends", "{ bounds"),
    "a date": ("[0, 120]", "[0, 2020-01-01]", "must be two numbers or two dates", "{ bounds"),
    "one category": ("bounds = [0, 120]", 'categories = ["a"]', "from 2 to 100", "categories ="),
    "twice": ("bounds = [0, 120]", 'categories = ["a", "a"]', "listed twice", "categories ="),
    "both": ("[0, 120]", '[0, 120], categories = ["a", "b"]', "either bounds or", "{ bounds"),
    "person": (
        'patient = "ignore"',
        "patient.bounds = [0, 9]",
        "identifies the person",
        '"ignore"',
    ),
    "idle fill": ("[0, 120]", "[0, 120], missing = 0", "the rule is 'refuse'", 'rule = "fill"'),
    "fill": ("[0, 120]", '[0, 120], missing = "no"', "must be a real number", "{ bounds"),
    "rule": ('"refuse"', '"dropp"', "line 22, rule = 'dropp': there is no", "'drop'"),
    "no fill": ('"refuse"', '"fill"', "no column has a value", "missing = 0"),
    "share": ('"refuse"', '"drop"\ncomplete = 1.5', "complete = 1.5: a share", "= 0.8"),
    "idle share": ('"refuse"', '"refuse"\ncomplete = 0.5', "it applies only to dropped", "put #"),
    "groups": ("[groups]", '[groups]\nby = "age"\nat_least = 5', "by = 'age': groups", "categ"),
    "no groups": ("[groups]", "[groups]\nat_least = 5", "groups.by: it is missing", 'by = "ward"'),
    "report": ('"visits.html"', "1", "line 27, file = 1: a text", "quotes"),
    "estimate": (
        "[report]",
        '[report]\nestimate = "yes"',
        "true or false is expected",
        "without quotes",
    ),
    "sep": ('file = "visits.csv"', 'file = "v"\nna = "NA"', "na = 'NA': a list of texts", '["NA"'),
}
"""What is replaced in a good job by what, and pieces of the error."""
MISSED = {"a key", "groups"}  # a key is missing under its own name, groups leave fewer pairs


@sweep("case", WRONG)
def test_wrong_entries_are_named_with_their_line_and_a_remedy(case):
    old, new, reason, remedy = WRONG[case]
    assert TEXT.count(old) >= 1
    found = problems(TEXT.replace(old, new, 1))
    (named,) = [problem for problem in found if reason in problem] or [f"none of {found}"]
    assert remedy in named.partition(reason)[2], named
    assert len(found) == 1 + (case in MISSED), found


@sweep("case", ["x", "y", "same", "open", "free", "rows", "drop", "groups", "words", "estimate"])
def test_wrong_entries_of_a_pair_and_of_a_test(case):
    ranked = PAIR.replace('y = "dose"', 'y = "dose"\nmechanism = "mice-laplace"')
    ward = 'ward = { categories = ["a", "b"] }\n\n[missing]'
    grouped = TEST.replace("[missing]", ward)
    text, reason = {
        "x": (PAIR.replace('x = "age"\n', ""), "question.x: it is missing; write x = "),
        "y": (PAIR.replace('y = "dose"', 'y = "dosis"'), "did you mean 'dose'"),
        "same": (PAIR.replace('y = "dose"', 'y = "age"'), "x and y are the same column"),
        "open": (PAIR.replace("dose = { bounds = [0, 400] }", 'dose = "?"'), "uses it as y"),
        "free": (ranked.replace("dose = { bounds = [0, 400] }", 'dose = "?"'), ""),
        "rows": (TEST.replace("epsilon", "rows_per_person = 2\nepsilon"), "independent rows"),
        "drop": (TEST.replace('"refuse"', '"drop"'), "a test cannot drop records"),
        "groups": (grouped.replace("[groups]", '[groups]\nby = "ward"'), "cannot be run by group"),
        "words": (grouped.replace('"dose"\ndraws', '"ward"\ndraws'), "y = 'ward': a test ranks"),
        "estimate": (TEST.replace("[report]", "[report]\nestimate = true"), "no estimate of MIC*"),
    }[case]
    found = problems(text)
    assert len(found) == (1 if reason else 0)
    assert all(reason in problem for problem in found)


def test_columns_of_a_table_that_are_not_asked_about_may_stay_open():
    assert not problems(PAIR.replace("weight = { bounds = [0, 300] }", 'weight = "?"'))


def test_all_pairs_have_no_groups(job):
    """They were charged as one matrix of all records, which the command could not show."""
    text = GROUPED.replace('"strongest pairs"\ntop = 2', '"all pairs"')
    (found,) = problems(text)
    assert "groups.by: all pairs cannot be published by group; write ask = " in found
    terms, options = job(text).keywords()
    del terms["ledger"]
    with pytest.raises(ParameterError, match=r"^by: all pairs of every group"):
        pairwise.prepare(job(GROUPED).made_up(2000), Terms(**terms), bounds=options["bounds"])


def test_groups_are_categories():
    assert not problems(GROUPED)
    (found,) = problems(GROUPED.replace("{ a = 300", "{ c = 300"))
    assert "at_least of 'c': there is no such group; the categories are 'a', 'b'" in found
    (found,) = problems(GROUPED.replace("{ a = 300", "{ a = 0"))
    assert "at_least.a = 0: it is too small" in found
    (found,) = problems(GROUPED.replace("[report]", "[report]\nestimate = true"))
    assert "groups have no estimate of MIC*; put # before the line" in found
    (found,) = problems(re.sub("at_least.*", "", GROUPED))
    assert "groups.at_least: it is missing; promise the least size of each" in found


def test_everything_is_said_at_once(job):
    text = TEXT.replace("1.0", "20").replace("top = 2", "tap = 2").replace("[0, 120]", "[120, 0]")
    found = job(text).check()
    assert len(found) == 6  # with the file and the ledger, which are not there
    with pytest.raises(ParameterError) as raised:
        job(text).query()
    message = str(raised.value)
    assert "visits.dpmic.toml: 6 entries are missing or wrong; correct them:\n  " in message
    for problem in found:
        assert str(problem).removesuffix(".") in message
    assert not message.endswith("..")


@sweep("text", ["[data", "epsilon = \n", "[data]\nfile = visits.csv", "x = 1\nx = 2", "\udcff"])
def test_what_is_not_toml_is_refused_with_its_line(tmp_path, text):
    path = tmp_path / "visits.dpmic.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=r"it is not valid TOML: .*(line \d|at end|position \d)"):
        dpmic.Job.load(path)


def test_a_job_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="there is no such file; check the name"):
        dpmic.Job.load(tmp_path / "visits.dpmic.toml")


def test_lines_are_found_however_a_key_is_written():
    text = "\n[ columns . \"a b\" ]\nbounds = [1, 0]\n\n[columns]\n 'c' . bounds = [\n 2,\n 1]\n"
    assert [line.partition(":")[0] for line in problems(text) if "lower bound" in line] == [
        'line 2, columns."a b"',
        "line 6, columns.c",
    ]


def test_columns_are_compared_with_the_header(job, table):
    text = TEXT.replace("dose =", "dosis =").replace('person = "patient"', 'person = "who"')
    first, second = map(str, job(text.replace('patient = "ignore"\n', "")).check())
    first, second = second, first
    assert first.startswith("line 17, column 'dosis' of ")
    assert first.endswith("visits.csv: there is no such column; did you mean 'dose'?")
    assert second.startswith("line 7, column 'who' of ")
    assert "the columns that the job does not mention are 'patient', 'dose' (the column" in second
    assert "weight" not in first + second  # a first line may be a record


def test_a_mistyped_column_is_not_ignored(job, table):
    """The real one would silently be left out of the question."""
    (found,) = job(PAIR.replace("weight = { bounds = [0, 300] }", 'wieght = "ignore"')).check()
    assert str(found).startswith("line 20, column 'wieght' of ")
    assert str(found).endswith("there is no such column; did you mean 'weight'?")
    assert job(PAIR.replace("weight = { bounds = [0, 300] }\n", "")).check() == ()


def test_a_record_in_place_of_the_header_is_not_shown(job, table, tmp_path):
    (tmp_path / "visits.csv").write_text("Ann,HIV,x,z\n1,2,3,4\n")
    found = "".join(map(str, job(TEXT.replace("weight =", "x =")).check()))
    assert "column 'age' of " in found
    assert not {"Ann", "HIV", "'z'"} & set(re.split(r"[ ,.]", found))


def test_problems_have_the_order_of_the_file(job, table):
    wrong = {'"patient"': '"who"', '"visits 2024"': '"?"', "dose =": "dosis =", "top = 2": ""}
    text = TEXT.replace("[0, 120]", "[120, 0]").replace('ledger = "', 'ledger = "no ')
    for old, new in wrong.items():
        text = text.replace(old, new, 1)
    found = list(map(str, job(text).check()))
    starts = ["line 3,", "line 7,", "line 9,", "question.top:", "line 17,", "line 18,"]
    assert [line[: len(start)] for line, start in zip(found, starts, strict=True)] == starts


def test_a_mistyped_ledger_makes_no_other_budget(job, table, tmp_path):
    wrong = job(TEXT.replace("visits.ledger", "visit.ledger"))
    (found,) = wrong.check()
    assert "line 9, ledger " in str(found)
    assert "dpmic ledger create " in str(found)
    for call in (wrong.query, wrong.run):
        with pytest.raises(ParameterError, match="there is no such ledger"):
            call()
    assert not (tmp_path / "visit.ledger").exists()


# nothing is read, nothing is spent


def test_no_record_is_read_before_it_runs(job, sealed, tmp_path):
    before = (tmp_path / "visits.ledger").read_bytes()
    for text in (TEXT, PAIR, ALL, TEST):
        loaded = job(text)
        assert loaded.check() == ()
        assert loaded.rehearse().dataset == MADE_UP
        if text != TEST:
            assert loaded.plan().n == 1000
    assert (tmp_path / "visits.ledger").read_bytes() == before


def test_a_quotation_mark_in_a_record_is_not_seen(job, sealed, tmp_path):
    with (tmp_path / "visits.csv").open("ab") as file:
        file.write(b'1,2,"3"4,5\n')
    assert job().check() == ()


def test_bad_records_spend_nothing_and_are_not_shown(job, sealed, tmp_path):
    (tmp_path / "visits.csv").write_text("patient,age,dose,weight\n" + "1,2,secret,4\n" * 50)
    for text in (TEXT, PAIR, ALL, TEST):
        with pytest.raises(InputError) as raised:
            job(text).run()
        assert "secret" not in str(raised.value)
    assert sealed.history() == []


def test_a_rehearsal_needs_neither_table_nor_ledger(job, tmp_path):
    loaded = job()
    made = loaded.rehearse(300)
    assert (made.n, made.epsilon <= 1, len(made.pairs)) == (300, True, 2)
    assert made.dataset == MADE_UP
    assert MADE_UP in made.to_json()
    assert [file.name for file in tmp_path.iterdir()] == ["visits.dpmic.toml"]


def test_the_number_of_people_is_never_guessed(job):
    unknown = job(TEXT.replace("people = 1000", ""))
    for call in (unknown.plan, unknown.rehearse):
        with pytest.raises(ParameterError, match=r"people = 5000 below \[data\]"):
            call()
    assert unknown.plan(2000).n == 2000
    with pytest.raises(ParameterError, match="people = 1: it is too small"):
        unknown.plan(1)


# what is published


def test_a_job_asks_what_the_functions_ask(job, table, tmp_path):
    frame = dpmic.data.load(str(tmp_path / "visits.csv"))
    terms = {"epsilon": 1.0, "person": "patient", "dataset": "visits 2024", "ledger": table}
    bounds = {"age": (0, 120), "dose": (0, 400), "weight": (0, 300)}
    pair = {name: bounds[name] for name in ("age", "dose")}
    for text, ask in {
        TEXT: lambda: dpmic.screen(frame, bounds=bounds, top=2, **terms),
        PAIR: lambda: dpmic.release("age", "dose", data=frame, bounds=pair, **terms),
        TEST: lambda: dpmic.release_test("age", "dose", data=frame, draws=19, **terms),
    }.items():
        published = job(text).run()
        assert published.replayed is None
        again = ask()  # the same question has the same answer
        assert again == published
        assert again.replayed is not None
    assert table.spent == pytest.approx(3)


@pytest.mark.slow
def test_all_pairs_and_every_option(job, table):
    text = ALL.replace("[columns]", 'axes = "linear"\nmechanism = "micr-laplace"\nB = 20\nc = 2\n')
    text = text.replace("c = 2\n", 'c = 2\ndelta = 1e-6\ntarget = "age"\n[columns]\n')
    text = text.replace('ledger = "visits.ledger"', "allow_noisy = true\nrows_per_person = 2")
    published = job(text).run()
    assert published.target == "age"
    assert len(published.values) == 2
    assert published.rows_per_person == 2
    assert published.parameters["B"] == 20
    assert "axes" not in published.parameters  # linear ones have no name
    assert published.parameters["c"] == 2
    assert table.spent == 0


def test_another_table_may_be_asked(job, table, tmp_path):
    frame = dpmic.data.build({name: values[:500] for name, values in COLUMNS.items()}, "polars")
    (tmp_path / "visits.csv").unlink()
    assert job().query(frame).n == 500


def test_the_plan_is_that_of_the_functions(job):
    assert job().plan() == dpmic.plan(1000, 1.0, candidates=3, top=2)
    (row,) = job(PAIR).plan(500).rows
    assert row == dpmic.plan(500, 1.0)["capped-laplace"]
    of_target = ALL.replace('"all pairs"', '"all pairs"\ntarget = "age"\ndelta = 1e-6')
    assert job(of_target).plan() == dpmic.plan(1000, 1.0, candidates=2, delta=1e-6)
    several = TEXT.replace("epsilon", "rows_per_person = 2\nepsilon")
    planned = dpmic.plan(1000, 1.0, candidates=3, top=2, rows_per_person=2)
    assert job(several).plan().half_width == pytest.approx(planned.half_width, rel=1e-6)
    assert job(several).plan().error == pytest.approx(planned.error, rel=1e-6)
    with pytest.raises(ParameterError, match="a test publishes none; run dpmic check"):
        job(TEST).plan()


DROPPED = PAIR.replace('"refuse"', '"drop"')
IN_WARDS = DROPPED.replace("[missing]", 'ward = { categories = ["a", "b"] }\n\n[missing]').replace(
    "[groups]", '[groups]\nby = "ward"\nat_least = { a = 1200, b = 1000 }'
)
OF_A_PAIR = {
    "drop": (DROPPED, {"n": 2400}, "2,400 of 3,000 people are promised to be complete"),
    "groups": (IN_WARDS, {"n": 800, "epsilon": 0.5}, "shown is group b, which has the most noise"),
    "wide": (PAIR.replace('"dose"', '"dose"\naxes = "wide"'), {}, "default options alone"),
    "ranks": (PAIR.replace('"dose"', '"dose"\nmechanism = "mice-laplace"'), {}, ""),
    "noisy": (PAIR.replace("1.0", "0.002"), {"epsilon": 0.002}, "refused as too noisy"),
}
"""Text of a job, what its plan is for, and a piece of the note."""


@sweep("case", OF_A_PAIR)
def test_the_plan_of_a_pair_is_that_of_its_query(job, case):
    """It was that of default options, all records and all of epsilon, whatever the job says."""
    text, known, words = OF_A_PAIR[case]
    planned = job(text).plan(3000)
    (row,) = planned.rows
    text = text.replace("epsilon", "allow_noisy = true\nepsilon")
    query = job(text).rehearsal(3000)
    query = query.noisiest[1] if case == "groups" else query
    assert row.scale == query.setting.noise.scale
    assert row.mechanism == query.mechanism.name
    assert {"n": planned.n, "epsilon": planned.epsilon} == {"n": 3000, "epsilon": 1.0} | known
    assert (row.value is None) == (case == "wide")
    assert words in row.note


OF_A_TABLE = {
    "drop": (TEXT.replace('"refuse"', '"drop"'), 2400, 1.0, "2,400 of 3,000 people"),
    "groups": (GROUPED.replace("a = 300, b = 200", "a = 1200, b = 1000"), 900, 0.5, "group b"),
    "wide": (TEXT.replace("top = 2", 'top = 2\naxes = "wide"'), 3000, 1.0, "default options alone"),
    "all": (ALL.replace('"all pairs"', '"all pairs"\ncap = 6'), 3000, 1.0, "default options alone"),
    "split": (TEXT.replace("top = 2", "top = 2\nsplit = 0.7"), 3000, 1.0, "default options alone"),
}


@sweep("case", OF_A_TABLE)
def test_the_plan_of_a_table_is_that_of_its_query(job, case):
    text, n, epsilon, words = OF_A_TABLE[case]
    planned = job(text).plan(3000)
    query = job(text).rehearsal(3000)
    query = query.noisiest[1] if case == "groups" else query
    added = query.noise if case == "all" else query.values
    assert (planned.n, planned.epsilon) == (n, epsilon)
    assert planned.values_epsilon == added.epsilon
    assert planned.half_width == pytest.approx(of_value(added).half_width(0.95))
    assert planned.parameters["axes"] == ("wide" if case == "wide" else "any")
    assert planned.selection_epsilon == (0 if case == "all" else query.selection_epsilon)
    assert (planned.error is None) == (case in ("wide", "all", "split"))
    assert words in planned.note


def test_a_test_has_noise_but_no_plan(job):
    query = job(TEST).rehearsal(3000)
    half = ValueNoise("laplace", query.noise.scale).half_width(0.95)
    told = f"within {half:.2g} of the exact Cramer's V of ranks in 95% of cases"
    assert query.noise_in_words == told


def test_the_refusal_of_a_noisy_group_names_ways_out_in_keys(job):
    with pytest.raises(ParameterError) as refused:
        job(GROUPED.replace("1.0", "0.01")).rehearse(2000)
    said = str(refused.value)
    assert "group 'a': the noise is too large for 300 people: a value would be" in said
    assert "promise more with at_least = ..., if the group is certainly that large" in said
    assert said.endswith("or allow_noisy = true to publish anyway, or leave the group out.")


def test_refusals_speak_of_keys(job, table):
    noisy = TEXT.replace("1.0", "0.01")
    for call in (job(noisy).query, job(noisy).rehearse):
        with pytest.raises(ParameterError, match="allow_noisy = true to publish anyway"):
            call()
    assert for_the_file(dpmic.errors.with_code("pass `missing='drop'`")) == 'pass rule = "drop"'
    assert table.spent == 0


# what the functions will take: categories, gaps, groups


def test_keys_that_no_function_knows_are_refused_before_anything_else(job, table):
    known = {term.name for term in fields(Terms)}
    found = [str(problem) for problem in job(GROUPED).check()]
    assert any("not supported yet" in problem for problem in found) == ("categories" not in known)


@dataclass(frozen=True, kw_only=True)
class NewTerms(Terms):
    categories: dict | None = None
    missing: object = "refuse"
    complete: float | None = None
    by: str | None = None
    at_least: object = None


def test_terms_get_what_the_file_says(job, monkeypatch):
    monkeypatch.setattr("dpmic.job._job.Terms", NewTerms)
    terms, options = job(GROUPED).keywords()
    assert terms["categories"] == {"ward": ["a", "b"]}
    assert (terms["missing"], terms["complete"]) == ("drop", 0.9)
    assert (terms["by"], terms["at_least"]) == ("ward", {"a": 300, "b": 200})
    assert options["bounds"] == {"age": (0, 120), "dose": (0, 400), "weight": (0, 300)}
    filled = TEXT.replace("[0, 120]", "[0, 120], missing = 7").replace('"refuse"', '"fill"')
    assert job(filled).keywords()[0]["missing"] == {"age": 7}
    dated = TEXT.replace("[0, 120]", "[2020-01-01, 2024-12-31]")
    ends = datetime.date(2020, 1, 1), datetime.date(2024, 12, 31)
    assert job(dated).keywords()[1]["bounds"]["age"] == ends


def test_made_up_columns_lack_only_values_that_have_others_in_their_place(job):
    filled = TEXT.replace("[0, 120]", "[0, 120], missing = 7").replace('"refuse"', '"fill"')
    made = job(filled).made_up(2000)
    assert made["age"].null_count > 0 == made["dose"].null_count
    assert job(filled).rehearse(2000).dataset == MADE_UP


def test_promises_in_words(job):
    def said(text):
        text = text.replace("epsilon", "allow_noisy = true\nepsilon")
        return job(text).rehearsal(2000).promises

    assert said(TEXT) == {}
    dropped = said(GROUPED.replace('by = "ward"\nat_least = { a = 300, b = 200 }', ""))
    words = "90% or more have both, at least 1,800 (complete=0.9). A promise above the truth"
    assert words in dropped["missing values"]
    assert "must be spelled exactly as in the list" in dropped["categories"]
    default = said(TEXT.replace('"refuse"', '"drop"'))["missing values"]
    assert "at least 1,600 (complete=0.8, the default). A promise above the truth" in default
    assert default.endswith("lowers scores, and no message says so")
    grouped = said(GROUPED)  # no group has 1,800
    assert "90% or more of each group have both (complete=0.9)" in grouped["missing values"]
    assert grouped["groups"] == (
        "by ward; promised sizes: a 300, b 200; each group gets half of epsilon; "
        "records of other groups take no part"
    )
    scattered = said(TEXT.replace('"refuse"', '"scatter"'))
    assert scattered == {"missing values": "each is replaced by a random value"}


def test_the_noise_of_groups_is_that_of_the_smallest(job):
    grouped = job(GROUPED.replace("epsilon", "allow_noisy = true\nepsilon")).rehearsal(2000)
    assert grouped.noise_in_words.startswith("in the group with the smallest promise: ")
    assert grouped.noise_in_words.endswith(grouped.parts[1].noise_in_words)  # b


@pytest.mark.parametrize("rule", ["scatter", "fill"])
def test_a_test_of_filled_in_columns_says_beforehand_that_it_claims_nothing(job, rule):
    assert job(TEST).rehearsal(2000).promises == {}
    filled = TEST.replace('rule = "refuse"', f'rule = "{rule}"')
    if rule == "fill":
        filled = filled.replace("[0, 120]", "[0, 120], missing = 7")
    said = for_the_file(job(filled).rehearsal(2000).promises["can show"])
    assert said.startswith("no relation, whatever its p-value")
    assert said.endswith('use ask = "one pair" with rule = "drop"')


def test_a_job_needs_no_reminder_about_bounds(job, monkeypatch):
    monkeypatch.setattr("dpmic.privacy._guards._reminded", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundsReminder)
        job().rehearse()
    x = np.linspace(0, 1, 1000)
    with pytest.warns(BoundsReminder):
        dpmic.release(x, x, epsilon=1, bounds=((0, 1), (0, 1)))


# made-up data


def test_made_up_columns_follow_the_file(job):
    made = job(GROUPED).made_up(1000)
    assert made.column_names == ["patient", "age", "dose", "weight", "ward"]
    assert made["ward"].to_pylist().count("a") >= 300
    assert made["ward"].to_pylist().count("b") >= 200
    for name, high in (("age", 120), ("dose", 400), ("weight", 300)):
        values = [value for value in made[name].to_pylist() if value is not None]
        assert 0 <= min(values) < 0.1 * high < 0.9 * high < max(values) <= high
        assert 0.95 * len(made) <= len(values) < len(made)  # of 10% that may be missing
    assert made.equals(job(GROUPED).made_up(1000))


def test_made_up_dates_are_dates(job):
    dated = TEXT.replace("[0, 120]", "[1970-01-02, 1970-01-11]")
    days = [when.day for when in job(dated).made_up(500)["age"].to_pylist()]
    assert (min(days), max(days)) == (2, 10)


def test_made_up_people_have_several_rows():
    made = _made_up.columns({"x": (0.0, 1.0)}, 90, rows=3, person="who")
    counts = np.unique(made["who"].to_pylist(), return_counts=True)[1]
    assert sorted(set(counts.tolist())) == [1, 2, 3]
    assert counts.size == 90


def test_made_up_columns_depend_on_each_other():
    domains = {"x": (0.0, 1.0), "y": (5.0, 9.0), "z": Categories(("a", "b", "c")), "w": (0.0, 1.0)}
    made = _made_up.columns(domains, 2000)
    assert set(made["z"].to_pylist()) == {"a", "b", "c"}
    x, y, w = (made[name].to_numpy() for name in ("x", "y", "w"))
    assert dpmic.mice(x, y).mic > 0.4 > 0.1 > dpmic.mice(x, w).mic


def test_a_job_is_shown_by_its_name(job):
    assert repr(job()).endswith("visits.dpmic.toml': strongest pairs)")


@pytest.mark.parametrize("ask", ["test", "mice-laplace"])
def test_scattered_values_need_bounds_whatever_is_asked(job, ask):
    """Ranks need no bounds, but random values lie within some."""
    own = f'mechanism = "{ask}"\n\n[columns]'
    text = TEST if ask == "test" else PAIR.replace("[columns]", own)
    text = text.replace('"refuse"', '"scatter"')
    assert not job(text).entries.problems
    assert job(text).rehearsal(5000).run() is not None
    without = text.replace("dose = { bounds = [0, 400] }", 'dose = "ignore"')
    assert problems(without)
    found = str(problems(without)[0])
    assert "columns.dose: the question uses it as y; write { bounds = [0, 120] }" in found
    assert not problems(without.replace('"scatter"', '"refuse"'))


def test_reading_tells_how_far_it_is_and_can_be_stopped(job, table):
    class Stopped(BaseException):
        pass

    def stop(what, done, total):
        assert (what, done <= total) == ("reading", True)
        raise Stopped

    with listening(stop), pytest.raises(Stopped):
        job(TEXT).query()
