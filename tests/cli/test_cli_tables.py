"""Whole tables, tests, plans, audits, ledgers and the demo."""

import csv
import io
import json
import re

import commands
import numpy as np
import pyarrow as pa
import pytest
from gpu_stand_in import StandIn
from sweeps import sweep

import dpmic
from dpmic.all_pairs import devices
from dpmic.cli.demo import BOUNDS, fair_survey
from dpmic.privacy import audit as attacks
from dpmic.results import AuditBound

_WARD = np.where(np.arange(commands.N) % 2, "u", "v")
TWO_WARDS = commands.TABLE.append_column("ward", pa.array(_WARD))
ABC = ("--columns", "a,b", "--columns", "c")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    commands.folder(monkeypatch, tmp_path)
    return commands.runner(monkeypatch, capsys)


def lines(out):
    return list(csv.DictReader(io.StringIO(out)))


def test_every_pair(run):
    code, out, err = run("matrix", "people.csv", *ABC, "--json")
    expected = dpmic.pairwise(commands.TABLE.select(["a", "b", "c"]))
    assert (code, err) == (0, "")
    assert dpmic.Pairwise.from_json(out) == expected
    rows = lines(run("matrix", "people.csv", *ABC, "--csv")[1])
    assert [(row["x"], row["y"]) for row in rows] == list(expected.pairs)
    assert [float(row["mic"]) for row in rows] == expected.mic.tolist()
    (row,) = lines(run("matrix", "people.csv", *ABC, "--csv", "--top", "1")[1])
    assert (row["x"], row["y"]) == expected.top(1)[0][:2]
    shown = run("matrix", "people.csv", *ABC)[1]
    assert f"{expected.mic[0]:.4f}" in shown


@pytest.mark.parametrize(
    ("given", "exact"), [((), False), (("--exact", "2"), 2), (("--exact", "all"), True)]
)
def test_a_matrix_on_a_gpu(run, monkeypatch, given, exact):
    monkeypatch.setattr(devices, "cuda", StandIn())
    _, out, err = run("matrix", "people.csv", *ABC, "--device", "auto", *given, "--json")
    expected = dpmic.pairwise(commands.TABLE.select(["a", "b", "c"]), device="cuda", exact=exact)
    assert (dpmic.Pairwise.from_json(out), err) == (expected, "")
    assert expected.parameters.get("device") == (None if exact is True else "cuda")


def test_a_test_on_a_gpu(run, monkeypatch):
    given = ("test", "people.csv", "a", "b", "--permutations", "99", "--seed", "1", "--device")
    monkeypatch.setattr(devices, "cuda", StandIn())
    _, out, err = run(*given, "auto", "--json")
    x, y = (commands.TABLE[own].to_numpy() for own in "ab")
    expected = dpmic.independence_test(x, y, permutations=99, rng=1, device="cuda")
    assert np.array_equal(dpmic.IndependenceTest.from_json(out).null, expected.null)
    assert err == ""
    code, _, err = run("test", "people.csv", "a", "b", "--device", "cuda", "--epsilon", "1")
    assert (code, "--device cuda: a private test does not take it" in err) == (2, True)
    monkeypatch.setattr(devices.cuda, "problem", lambda: ("no GPU can be used", "look for one"))
    assert "no GPU can be used; look for one, or pass --device cpu" in run(*given, "cuda")[2]


@sweep(
    ("given", "said"),
    [
        (("--device", "cuda"), "no GPU can be used; look for one, or pass --device cpu"),
        (("--device", "auto", "--exact", "0"), "--exact 0: it is not a number of pairs, "),
        (("--device", "auto", "--exact", "some"), "--exact some: it is not a number of pairs, "),
        (("--device", "auto", "--exact", "significant"), "it needs p-values; pass --pvalues"),
        (("--device", "auto", "--exact", "all", "--tic"), "tic needs every entry of every pair"),
        (("--exact", "5"), "the CPU is always exact; leave it out, or pass --device auto"),
        (("--device", "cuda", "--statistic", "mic"), "mic runs on the CPU only"),
    ],
)
def test_refused_devices(run, monkeypatch, given, said):
    monkeypatch.setattr(devices.cuda, "problem", lambda: ("no GPU can be used", "look for one"))
    code, out, err = run("matrix", "people.csv", *ABC, *given)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.slow
def test_the_matrix_hands_its_options_on(run, tmp_path):
    options = ["--tic", "--pvalues", "--permutations", "50", "--seed", "3", "--workers", "1"]
    _, out, _ = run("matrix", "people.csv", *ABC, *options, "--json", "--out", "s.parquet")
    table = commands.TABLE.select(["a", "b", "c"])
    expected = dpmic.pairwise(table, tic=True, pvalues=True, permutations=50, rng=3)
    assert dpmic.Pairwise.from_json(out) == expected
    assert (tmp_path / "s.parquet").is_file()
    micr = ("matrix", "people.csv", "--statistic", "micr", "--bounds-file", "bounds.toml")
    bounded = dpmic.pairwise(
        table, statistic="micr", bounds={"a": (-1, 1), "b": (0, 1), "c": (0, 1)}
    )
    assert dpmic.Pairwise.from_json(run(*micr, "--json")[1]) == bounded
    assert len(lines(run(*micr, "--columns", "a,b", "--csv")[1])) == 1


@sweep(
    ("arguments", "words"),
    [
        (["matrix", "people.csv", "--columns", "a"], "1 column: a pair needs two columns"),
        (["matrix", "people.csv", "--columns", "a,a"], "a column is named twice"),
        (["matrix", "people.csv", "--seed", "1"], "only p-values need it; pass --pvalues too"),
        (["matrix", "people.csv", "--bounds", "a=0:1"], "mice does not use bounds"),
        (["matrix", "people.csv", "--statistic", "micr"], "micr needs bounds"),
        (["test", "people.csv", "a", "b", "--yes"], "--yes: only a private test takes it"),
        (["plan", "--n", "1000"], "n: a plan needs exactly two"),
        (
            ["plan", "--n", "1000", "--epsilon", "1", "--top", "5"],
            "pass --candidates 36 too, the number",
        ),
        (["plan", "--n", "9", "--candidates", "3", "--columns", "3"], "pass one of the two"),
        (["plan", "--n", "1000", "--columns", "3"], "the plan of a table needs n and epsilon"),
        (["plan", "--n", "1000", "--epsilon", "20"], "or --allow-large-epsilon if you mean it"),
        (["ledger", "show", "no.ledger"], "there is no such ledger; check the name, or create it"),
        (["audit", "micr-laplace", "--runs", "10"], "runs = 10"),
    ],
)
def test_what_is_refused(run, arguments, words):
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_independence(run):
    test = ("test", "people.csv", "a", "c", "--permutations", "99", "--seed", "1")
    expected = dpmic.independence_test(commands.A, commands.C, permutations=99, rng=1)
    assert dpmic.IndependenceTest.from_json(run(*test, "--json")[1]) == expected
    (row,) = lines(run(*test, "--csv")[1])
    assert float(row["pvalue"]) == expected.pvalue
    assert f"{expected.pvalue:.4g}" in run(*test, "--report", "test.html")[1]


def test_reports_of_what_is_not_private(run, tmp_path):
    code, _, _ = run("matrix", "people.csv", *ABC, "--report", "m.html")
    assert code == 0
    assert "<html" in (tmp_path / "m.html").read_text()


def test_plans_of_tables(run):
    asked = ("plan", "--n", "5000", "--epsilon", "1")
    planned = dpmic.plan(5000, 1.0, candidates=36, top=5)
    code, out, err = run(*asked, "--candidates", "36", "--top", "5")
    assert (code, err) == (0, "")
    for words in (planned.title, planned.mechanism, "a pair that scores 0.5", "Nothing was spent."):
        assert words in out
    by_columns = run(*asked, "--columns", "9", "--top", "5", "--json")[1]
    assert dpmic.TablePlan.from_json(by_columns) == planned
    matrix = dpmic.plan(5000, 1.0, candidates=1225, delta=1e-6)
    (row,) = lines(run(*asked, "--candidates", "1225", "--delta", "1e-6", "--csv")[1])
    assert float(row["half_width"]) == matrix.half_width
    assert (row["top"], row["noise"], row["mechanism"]) == ("", "gaussian", matrix.mechanism)
    noisy = run("plan", "--n", "300", "--epsilon", "0.1", "--columns", "9")[1]
    assert "refused as too noisy unless you pass --allow-noisy" in noisy


def test_plans(run):
    code, out, err = run("plan", "--n", "1000", "--epsilon", "1")
    assert (code, err) == (0, "")
    assert "micr-geometric" in out
    planned = dpmic.plan(1000, 1.0)
    found = json.loads(run("plan", "--n", "1000", "--epsilon", "1", "--json")[1])
    assert found["rows"][0]["value"] == planned["capped-laplace"].value
    rows = lines(run("plan", "--epsilon", "1", "--error", "0.05", "--csv")[1])
    assert int(rows[0]["n"]) == dpmic.plan(epsilon=1.0, error=0.05)["capped-laplace"].n
    noisy = run("plan", "--n", "30", "--epsilon", "0.1")[1]
    assert "refused as too noisy unless you pass --allow-noisy" in noisy
    assert dpmic.plan(30, 0.1)["micr-laplace"].note.endswith("you pass allow_noisy=True")


def test_a_ledger_is_made_and_shown(run, tmp_path):
    code, out, _ = run("ledger", "create", "p.ledger", "--epsilon", "3", "--delta", "1e-6")
    assert code == 0
    assert "epsilon 0 of 3 spent, 3 left; delta 0 of 1e-06 spent, " in out
    ledger = dpmic.Ledger(tmp_path / "p.ledger")
    dpmic.release("a", "b", data=commands.TABLE, epsilon=1.0, bounds=((-1, 1), (0, 1)),
                  ledger=ledger, dataset="visits")  # fmt: skip
    ledger.spend("a question of somebody else", 0.5, dataset="theirs")
    _, out, _ = run("ledger", "show", "p.ledger")
    out = " ".join(out.split())
    assert "epsilon 1.5 of 3 spent" in out
    assert "visits: MIC of a and" in out
    assert "theirs: a question of" in out
    content = json.loads(run("ledger", "show", "p.ledger", "--json")[1])
    assert content["spent"] == ledger.spent
    assert content["history"][0]["question"]["columns"] == ["a", "b"]
    assert 0 <= content["history"][0]["answer"]["value"] <= 1
    assert content["history"][1]["answer"] is None
    rows = lines(run("ledger", "show", "p.ledger", "--csv")[1])
    assert [row["answered"] for row in rows] == ["True", "False"]
    assert [row["dataset"] for row in rows] == ["visits", "theirs"]


def test_a_ledger_shows_groups_in_words(run, tmp_path):
    """They were shown as the JSON of their key."""
    ledger = dpmic.Ledger(tmp_path / "p.ledger", epsilon=10)
    rows = {"data": TWO_WARDS, "by": "ward", "at_least": 800, "dataset": "visits", "epsilon": 4.0}
    asked = {"categories": {"ward": ["u", "v"]}, "bounds": {"a": (-1, 1), "b": (0, 1), "c": (0, 1)}}
    dpmic.release("a", "b", ledger=ledger, **rows, **asked)
    table = rows.pop("data")
    dpmic.screen(table, top=1, ledger=ledger, **rows, **asked)
    assert "{" not in run("ledger", "show", "p.ledger")[1]
    released, screened = (entry.words for entry in ledger.history())
    each = ", for each of 2 groups by ward (n = 2,000)"
    assert released == f"MIC of a and b by capped-laplace{each}"
    assert screened == f"the strongest pair of a, b, c{each}"
    content = json.loads(run("ledger", "show", "p.ledger", "--json")[1])
    assert content["history"][0]["question"]["groups"] == {"u": 800, "v": 800}


@pytest.mark.parametrize(
    "question", ["mine", "3", '{"groups": 3}', '{"each": 3}', '{"mechanism": "m"}']
)
def test_a_ledger_shows_any_other_question_as_it_is(run, tmp_path, question):
    dpmic.Ledger(tmp_path / "p.ledger", epsilon=10).spend(question, 1.0, dataset="d")
    assert question in run("ledger", "show", "p.ledger")[1]


def test_a_budget_is_fixed_once(run):
    run("ledger", "create", "p.ledger", "--epsilon", "3")
    code, out, err = run("ledger", "create", "p.ledger", "--epsilon", "4")
    assert (code, out) == (1, "")
    assert "has a total of 3," in err


@pytest.mark.parametrize(("lower", "code"), [(0.7, 0), (1.3, 1)])
def test_audits(run, monkeypatch, lower, code):
    claims = []

    def audit(mechanism, **options):
        claims.append((mechanism, options))
        return AuditBound(mechanism.name, mechanism.epsilon, lower, 0.999, 2000, "an event")

    monkeypatch.setattr(attacks, "audit", audit)
    for name in ("micr-laplace", "mice-laplace", "micr-geometric"):
        assert run("audit", name, "--epsilon", "1", "--runs", "2000")[0] == code
        assert claims[-1][0].name == name
    found, out, _ = run("audit", "micr-laplace", "--json")
    assert (found, json.loads(out)["disproved"]) == (code, bool(code))


@pytest.mark.parametrize(("lower", "verdict"), [(0.84, "not disproved"), (1.3, "disproved")])
def test_an_audit_tells_what_it_showed_and_no_more(run, monkeypatch, lower, verdict):
    bound = AuditBound("micr-laplace", 1.0, lower, 0.999, 2000, "an event")
    monkeypatch.setattr(attacks, "audit", lambda *_, **__: bound)
    _, out, _ = run("audit", "micr-laplace")
    assert f"micr-laplace: {verdict}: epsilon is at least {lower} with 99.9% confidence" in out
    assert "hold" not in out


@pytest.mark.slow
def test_the_demo(run, tmp_path):
    pytest.importorskip("statsmodels")
    for _ in range(2):  # its own report may be replaced
        code, out, err = run("demo")
        assert code == 0
        assert "6,366 women" in out
        assert out.endswith("Next: dpmic init yourtable.csv\n")
        assert "epsilon = 1" in out
        assert "demo.html" in err
    page = (tmp_path / "demo.html").read_text()
    assert "years married" in page
    assert "6366" in re.sub(r"[,\s\u202f]", "", page)


def test_the_bounds_of_the_demo_are_not_those_of_the_data():
    """Each is what the documentation allows; ends that the data attain are codes of answers."""
    pytest.importorskip("statsmodels")
    table = fair_survey()
    assert set(BOUNDS) == set(table.columns)
    coded = {"rate_marriage", "religious", "occupation", "occupation_husb"}
    for name in set(BOUNDS) - coded:
        assert BOUNDS[name] != (np.min(table[name]), np.max(table[name]))


COMMANDS = ["score", "matrix", "test", "plan", "release", "screen", "bounds", "audit"]
COMMANDS += ["reproduce", "demo"]


@sweep("command", [*COMMANDS, "ledger", "ledger create", "ledger show"])
def test_help_has_an_example(run, command):
    code, out, err = run(*command.split(), "--help")
    assert (code, err) == (0, "")
    assert f"Example: dpmic {command}" in " ".join(out.split())
    assert run(*command.split(), "-h") == (0, out, "")


def test_help_names_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in (*COMMANDS, "ledger"):
        assert f"\n  {command} " in out
    assert "--install-completion" in out
