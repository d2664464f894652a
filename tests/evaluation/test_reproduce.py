"""The whole command: what it writes, what it says, and how it goes on after a stop."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from project import ROOT

from dpmic import __version__, cli
from dpmic.errors import InputError
from dpmic.evaluation import consistency, figures, real, reproduce, tables, tuning
from dpmic.evaluation.collections import DROPPED, FILES
from dpmic.evaluation.jobs import Task
from dpmic.evaluation.printed import EPSILONS, interpolated
from dpmic.evaluation.relationships import R_SQUARED, noisy
from dpmic.evaluation.reproduce import Scope
from dpmic.evaluation.tables import CONTENDERS, named
from dpmic.parameters import tuned
from dpmic.parameters.tuned import Calibration
from dpmic.privacy import _guards

TABLES = {
    "synthetic": {"synthetic", "wsum", "consistency", "error_rate"},
    "real": {"real", "medians", "quoted"},
    "loose": {"loose", "end_to_end", "scales"},
    "parameters": {"parameters_paper", "parameters_tuned"},
    "errors": {"errors"},
    "intervals": {"intervals"},
}
FIGURES = {
    "synthetic": {
        "synthetic-1",
        "synthetic-0.1",
        "wsum-1",
        "wsum-0.1",
        "consistency",
        "error-rate",
    },
    "real": {
        f"real-{collection}-{epsilon}"
        for collection in ("Spellman23", "Spellman4381", "Baseball")
        for epsilon in ("1", "0.1")
    },
    "parameters": {"parameters"},
    "loose": set(),
    "errors": set(),
    "intervals": set(),
}
TINY = Scope(
    r_squared=(0.3, 0.9),
    n=(25, 30),
    iterations=2,
    real_iterations=3,
    every={"Spellman23": 5, "Spellman4381": 9, "Baseball": 1},
    loose_n=25,
    loose_iterations=1,
    loose_every={"distributions": 4, "Fair": 36, "Spellman4381": 28, "Baseball": 3},
    scales_iterations={25: 2, 30: 1},
    tuned_n=(25, 26),
    cells=(4, 6, 8, 12),
    fineness=(5,),
    tuned_iterations={25: 1, 26: 2},
    error_iterations={25: 3, 30: 2},
    interval_iterations={25: 2, 30: 2},
    unseen_sigma=(0.1,),
)


@pytest.fixture
def tiny(monkeypatch):
    """Make everything small: four distributions, one relationship, coarse MIC*."""

    def few(r_squared):
        return tuple(noisy(number, r2) for number in (12, 13) for r2 in r_squared)

    monkeypatch.setattr(reproduce, "family", few)
    monkeypatch.setattr(reproduce, "QUICK", TINY)
    monkeypatch.setattr(reproduce, "TUNED_EPSILONS", (0.3, 3.0))
    monkeypatch.setattr(tuning, "STAR_GRID", (20, 30))
    monkeypatch.setattr(consistency, "QUICK", {1000: 1, 1100: 1})
    monkeypatch.setattr(consistency, "RELATIONSHIPS", {"F12, a line": 12})


@pytest.fixture
def undrawn(monkeypatch):
    """Draw no figure."""
    monkeypatch.setattr(figures, "drawn", lambda *_: iter(()))


@pytest.fixture
def unsaved(monkeypatch):
    """Draw every figure, but write empty files: rendering takes longest."""

    def save(figure, folder, name):
        folder.mkdir(parents=True, exist_ok=True)
        for ending in ("png", "svg"):
            (folder / f"{name}.{ending}").touch()

    monkeypatch.setattr(figures, "save", save)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Two tables in the form of the real ones, with random numbers in them."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("DPMIC_DATA", str(folder))
    rng = np.random.default_rng(1)
    genes = [[f"G{i}", *rng.normal(size=8).round(3)] for i in range(12)]
    players = [["Ann", 1, 2, 0, 3, *rng.integers(9, size=3)] for _ in range(20)]
    write(folder / "spellman.csv", [["time", *range(40, 48)], *genes])
    write(folder / "baseball.csv", [[*DROPPED, "G", "HR", "BB"], *players])
    return folder


@pytest.fixture
def absent(tmp_path, monkeypatch):
    monkeypatch.setenv("DPMIC_DATA", str(tmp_path / "nowhere"))
    return tmp_path / "nowhere"


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def made(folder, kind, ending):
    return {path.stem for path in (folder / kind).glob(f"*.{ending}")}


def contents(folder):
    return {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}


class TestParts:
    @pytest.mark.slow
    def test_all_of_it(self, tiny, unsaved, data, tmp_path):
        out, told, said = tmp_path / "out", [], []
        made_page = reproduce.reproduce(
            reproduce.PARTS,
            out,
            quick=True,
            tell=lambda *progress: told.append(progress),
            say=said.append,
        )
        assert made_page == out / "index.html"
        assert said == []
        assert made(out, "tables", "csv") == set().union(*TABLES.values())
        drawn = set().union(*FIGURES.values()) | {"grids"}
        assert made(out, "figures", "png") == made(out, "figures", "svg") == drawn
        assert not list(out.rglob("*.tmp"))
        stages = dict.fromkeys(stage for stage, _, _ in told)
        assert {"MIC*", "scores, n = 25", "synthetic, n = 30", "Baseball", "consistency"} <= set(
            stages
        )
        assert all(0 <= done <= total for _, done, total in told)
        page = made_page.read_text(encoding="utf-8")
        assert page.count("data:image/") == len(drawn)
        assert "not epsilon-DP: proved guarantee G x epsilon" in page
        for part in TABLES:
            assert f"dpmic reproduce {part} --quick --seed 0" in page
        self.check_numbers(out)

    def check_numbers(self, out):
        """Tables hold what the parts measured, of the scope that was asked for."""
        keys = {contender.key for contender in CONTENDERS}
        sums = tables.read(out / "tables" / "wsum.csv")
        assert {(r["mechanism"], r["n"], r["epsilon"]) for r in sums} == {
            (key, n, epsilon) for key in keys for n in (25, 30) for epsilon in (1, 0.1)
        }
        rows = tables.read(out / "tables" / "synthetic.csv")
        assert {r["distribution"] for r in rows} == {
            f"F{i}, R2 = {r2}" for i in (12, 13) for r2 in (0.3, 0.9)
        }
        rows = tables.read(out / "tables" / "real.csv")
        pairs = {(r["collection"], r["pair"]) for r in rows}
        assert {name: sum(c == name for c, _ in pairs) for name in TINY.every} == {
            "Spellman23": 3,
            "Spellman4381": 4,
            "Baseball": 3,
        }
        rows = tables.read(out / "tables" / "parameters_paper.csv")
        assert {(r["mechanism"], r["n"]) for r in rows} == {("micr-lap", 25), ("micr-geom", 25)}
        rows = tables.read(out / "tables" / "parameters_tuned.csv")
        assert len(rows) == 2 * 2 * 2 + 2 * (2 + 2)  # caps for two more epsilons

    def test_every_file_says_what_an_epsilon_is_worth(self, tiny, undrawn, data, tmp_path):
        """MICr-Geom looks at G grids, two for each number of columns from 2 to B / 2."""
        reproduce.reproduce(("synthetic", "real"), tmp_path, quick=True)
        for name in ("wsum", "synthetic", "real", "medians"):
            for row in tables.read(tmp_path / "tables" / f"{name}.csv"):
                expected = named(row["mechanism"]).guarantee
                if row["mechanism"] == "micr-geom":
                    _, B = interpolated("micr-geom", row["n"], row["epsilon"])
                    grids = 2 * (B // 2 - 1)
                    expected = f"not epsilon-DP: proved guarantee {grids} x epsilon"
                assert row["guarantee"] == expected

    @pytest.mark.slow
    @pytest.mark.parametrize("part", reproduce.PARTS)
    def test_one_part_alone(self, part, tiny, unsaved, data, tmp_path):
        out = tmp_path / "out"
        reproduce.reproduce((part,), out, quick=True)
        assert made(out, "tables", "csv") == TABLES[part]
        assert made(out, "figures", "png") == FIGURES[part] | {"grids"}
        assert (out / "tuned.json").exists() == (part == "parameters")
        assert (out / "errors.json").exists() == (part == "errors")
        assert (out / "scores.json").exists() == (part == "intervals")
        assert set(json.loads((out / "tables" / "provenance.json").read_text())) == {part}

    @pytest.mark.slow
    def test_figures_are_images(self, tiny, tmp_path):
        reproduce.reproduce(("parameters",), tmp_path, quick=True)
        for name in ("parameters", "grids"):
            assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (tmp_path / "figures" / f"{name}.svg").read_text(encoding="utf-8")

    @pytest.mark.slow
    def test_parts_come_together_in_any_order(self, tiny, undrawn, data, tmp_path):
        for parts in (("real", "intervals"), ("parameters", "synthetic", "loose", "errors")):
            page = reproduce.reproduce(parts, tmp_path / "apart", quick=True, seed=3)
        reproduce.reproduce(reproduce.PARTS, tmp_path / "whole", quick=True, seed=3)
        assert contents(tmp_path / "apart") == contents(tmp_path / "whole")
        known = json.loads((tmp_path / "apart" / "tables" / "provenance.json").read_text())
        assert set(known) == set(reproduce.PARTS)
        for part, text in known.items():
            assert text.startswith(f"dpmic reproduce {part} --quick --seed 3 (dpmic {__version__}")
            assert text in page.read_text(encoding="utf-8").replace("&#x27;", "'")
        assert "3 runs on each pair" in known["real"]
        assert "2 samples of each distribution" in known["synthetic"]

    def test_a_part_made_again_otherwise_says_so(self, tiny, undrawn, data, tmp_path):
        for seed in (1, 2):
            reproduce.reproduce(("real",), tmp_path / "out", quick=True, seed=seed)
        known = json.loads((tmp_path / "out" / "tables" / "provenance.json").read_text())
        assert "--seed 2" in known["real"]

    def test_the_full_scope_is_the_papers(self, monkeypatch):
        full = reproduce.FULL
        assert (full.n, full.iterations, full.real_iterations) == (
            (25, 250, 500, 1000, 5000, 10000),
            50,
            100,
        )
        assert set(full.every.values()) == {1}
        assert full.r_squared == R_SQUARED
        assert set(full.tuned_iterations) == set(full.tuned_n)
        assert EPSILONS == (1.0, 0.1)
        quick = reproduce.QUICK
        assert set(quick.every) == set(full.every)
        assert set(quick.tuned_iterations) == set(quick.tuned_n)
        for scope in (full, quick):
            assert {4.0, 6.0, 8.0, 10.0, 12.0, 20.0, 40.0, 150.0} <= set(scope.cells)
            assert 5 in scope.fineness


@pytest.mark.slow
class TestStored:
    @pytest.fixture
    def stored(self, tiny, undrawn, tmp_path, monkeypatch):
        """Let the package read the table that was just made."""
        reproduce.reproduce(("parameters",), tmp_path / "out", quick=True, seed=7)
        text = (tmp_path / "out" / "tuned.json").read_text()
        known = json.loads(text)
        self.forget()
        monkeypatch.setattr(tuned, "_stored", lambda: known)
        yield known, text
        self.forget()

    def forget(self):
        tuned._entries.cache_clear()
        tuned._losses.cache_clear()
        tuned._numbers.cache_clear()

    def test_the_package_can_read_it(self, stored):
        known, _ = stored
        for row in known["rows"]:
            place = row["n"], row["epsilon"]
            if row["mechanism"] == "noisy-table":
                assert tuned.table_parts(*place) == row["parts"]
                continue
            if row["mechanism"] == "capped-laplace":
                found = tuned.lookup_capped(*place)
                assert found.cap == row["cap"]
            elif row["mechanism"] == "micr-geometric":
                found = tuned.lookup_histogram(*place)
                assert (found.m, found.B) == (row["m"], row["B"])
            else:
                found = tuned.lookup(row["mechanism"], *place)
                assert (found.B, found.c, found.lmax) == (row["B"], row["c"], row["lmax"])
            assert found.calibration == Calibration(row["low"], row["high"], row["spread"])
        assert len(known["rows"]) == 4 * 2 * 2 + 2 * (2 + 2)
        assert tuned.lookup("mice-laplace", 10**6, 0.5).B >= 4

    def test_it_says_what_made_it_and_can_be_read_by_people(self, stored, tmp_path):
        known, text = stored
        assert known["provenance"] == {
            "command": "dpmic reproduce parameters --quick --seed 7",
            "seed": 7,
            "iterations": {"25": 1, "26": 2},
            "distributions": 4,
            "version": __version__,
        }
        lines = [line for line in text.splitlines() if '"mechanism"' in line]
        assert [json.loads(line.strip().rstrip(",")) for line in lines] == known["rows"]
        assert text.endswith("}\n")
        shown = tables.read(tmp_path / "out" / "tables" / "parameters_tuned.csv")
        laplace = {"capped-laplace", "micr-laplace", "mice-laplace"}
        assert {row["mechanism"] for row in shown} == laplace


class TestAbsentData:
    @pytest.mark.slow
    def test_it_is_said_and_nothing_is_made(self, tiny, absent, tmp_path):
        said = []
        out = tmp_path / "out"
        assert reproduce.reproduce(("real",), out, quick=True, say=said.append) is None
        (text,) = said
        for word in ("skipping", str(absent), "DPMIC_DATA", "spellman.csv"):
            assert word in text
        assert not (out / "tables").exists()

    def test_other_parts_are_made(self, tiny, undrawn, absent, tmp_path):
        said = []
        out = tmp_path / "out"
        page = reproduce.reproduce(("synthetic", "real"), out, quick=True, say=said.append)
        assert len(said) == 1
        assert made(out, "tables", "csv") == TABLES["synthetic"]
        assert page == out / "index.html"
        assert 'id="real"' not in page.read_text(encoding="utf-8")

    def test_what_was_measured_before_stays(self, tiny, undrawn, data, tmp_path, monkeypatch):
        out = tmp_path / "out"
        reproduce.reproduce(("real",), out, quick=True)
        before = contents(out)
        monkeypatch.setenv("DPMIC_DATA", str(tmp_path))
        said = []
        assert reproduce.reproduce(("real",), out, quick=True, say=said.append) is not None
        assert len(said) == 1
        assert contents(out) == before

    def test_a_table_of_another_form(self, tiny, undrawn, data, tmp_path):
        write(data / "baseball.csv", [["G", "HR"], [1, 2]])
        said = []
        reproduce.reproduce(("real",), tmp_path / "out", quick=True, say=said.append)
        assert "baseball.csv" in said[0]


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Call the command and return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpmic", "reproduce", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return stopped.value.code, out, " ".join(err.split())

    return call


class TestCommand:
    def test_where_it_is(self, tiny, undrawn, data, command):
        code, out, err = command("real", "--quick", "--workers", "1")
        assert code == 0
        assert "reproduction-quick" in out
        assert Path("reproduction-quick/index.html").exists()
        assert "Spellman4381" in err

    def test_output_and_seed(self, tiny, undrawn, data, command):
        code, _, _ = command("real", "--quick", "--output", "here", "--seed", "5", "--workers", "1")
        assert code == 0
        assert "--seed 5" in Path("here/tables/provenance.json").read_text()

    def test_without_quick_the_full_scope_is_asked_for(
        self, tiny, undrawn, data, command, monkeypatch
    ):
        monkeypatch.setattr(reproduce, "FULL", TINY)
        monkeypatch.setattr(reproduce, "QUICK", None)
        code, _, _ = command("real", "--workers", "1")
        assert code == 0
        assert (
            "dpmic reproduce real --seed 0"
            in Path("reproduction/tables/provenance.json").read_text()
        )

    @pytest.mark.parametrize(
        ("part", "expected"), [("all", reproduce.PARTS), ("synthetic", ("synthetic",))]
    )
    def test_parts(self, part, expected, command, monkeypatch):
        asked = []
        monkeypatch.setattr(
            reproduce, "reproduce", lambda parts, *_, **options: asked.append((parts, options))
        )
        code, out, _ = command(part, "--workers", "3")
        assert (code, out) == (0, "")
        ((parts, options),) = asked
        assert parts == expected
        assert (options["workers"], options["quick"], options["seed"]) == (3, False, 0)

    def test_absent_data_is_a_message(self, tiny, absent, command):
        code, out, err = command("real", "--quick", "--workers", "1")
        assert (code, out) == (0, "")
        assert "dpmic: skipping the real data" in err
        assert "DPMIC_DATA" in err

    @pytest.mark.parametrize(
        "wrong", [("figures",), (), ("real", "--seed", "-1"), ("real", "--workers", "0")], ids=str
    )
    def test_usage_errors(self, wrong, command, tmp_path):
        code, out, err = command(*wrong)
        assert (code, out) == (2, "")
        assert "\n" not in err
        assert err.endswith("see dpmic reproduce --help.")
        assert list(tmp_path.iterdir()) == []

    def test_an_error_is_one_line(self, tiny, data, command, monkeypatch):
        def fail(*_, **__):
            raise InputError("value", "reason", "remedy")

        monkeypatch.setattr(real, "measure", fail)
        code, _, err = command("real", "--quick")
        assert code == 2
        assert "dpmic: value: reason" in err

    def test_without_matplotlib_nothing_is_measured(self, tiny, data, command, monkeypatch):
        """Hours of work are not done before it is said."""
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        code, _, err = command("real", "--quick")
        assert code == 2
        assert "pip install 'dpmic[plots]'" in err
        assert not Path("reproduction-quick").exists()

    def test_without_a_terminal_each_stage_is_a_line(self, tiny, undrawn, data, command):
        code, _, err = command("real", "--quick", "--workers", "1")
        assert code == 0
        for stage in ("Spellman23", "Baseball", "Spellman4381"):
            assert f"dpmic: {stage}: " in err

    def test_an_output_that_is_a_file(self, tiny, data, command, tmp_path):
        (tmp_path / "file").write_text("mine")
        code, _, err = command("real", "--quick", "--output", str(tmp_path / "file"))
        assert code == 2
        assert "it cannot be written to" in err
        assert (tmp_path / "file").read_text() == "mine"

    @pytest.mark.slow
    def test_tables_without_their_provenance(self, tiny, data, command, tmp_path, monkeypatch):
        """Stopped between two files, and then without data: what is there is shown."""
        (tmp_path / "out" / "tables").mkdir(parents=True)
        monkeypatch.setenv("DPMIC_DATA", str(tmp_path / "nowhere"))
        code, _, err = command("real", "--quick", "--output", str(tmp_path / "out"))
        assert (code, "skipping" in err) == (0, True)

    def test_bounds_are_not_reminded_of(self, tiny, undrawn, data, command, monkeypatch):
        """Nothing is released; the reminder is for those who release."""
        monkeypatch.setattr(_guards, "_reminded", False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            code, _, _ = command("real", "--quick", "--workers", "1")
        assert code == 0
        assert not _guards._reminded  # those who release afterwards are still reminded

    def test_control_c(self, tiny, undrawn, data, command, monkeypatch):
        """The third task is interrupted; the same command goes on and makes it the third."""
        monkeypatch.setattr(real, "BATCH", 1)
        work, done = Task.run, []

        def stopped(task, seed):
            if len(done) == 2:
                raise KeyboardInterrupt
            done.append(task.key)
            return work(task, seed)

        monkeypatch.setattr(Task, "run", stopped)
        code, out, err = command("real", "--quick", "--workers", "1")
        assert (code, out) == (130, "")
        assert "dpmic: stopped; the same command resumes from here" in err
        cache = Path("reproduction-quick/cache")
        kept = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
        assert len(kept) == 2
        assert not Path("reproduction-quick/tables").exists()
        again = []
        monkeypatch.setattr(
            Task, "run", lambda task, seed: (again.append(task.key), work(task, seed))[1]
        )
        code, _, _ = command("real", "--quick", "--workers", "1")
        assert code == 0
        assert len(again) == 2 * 10 - 2  # two groups of contenders
        assert not set(again) & set(done)
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        code, _, _ = command("real", "--quick", "--workers", "1", "--output", "fresh")
        assert contents(Path("fresh")) == contents(Path("reproduction-quick"))

    @pytest.mark.slow
    def test_a_second_run_makes_nothing_anew(self, tiny, undrawn, data, command, monkeypatch):
        arguments = ("all", "--quick", "--workers", "1")
        command(*arguments)
        before = contents(Path("reproduction-quick"))
        cache = {p: p.stat().st_mtime_ns for p in Path("reproduction-quick/cache").iterdir()}

        def never(*_):
            raise AssertionError("made again")

        monkeypatch.setattr(Task, "run", never)
        code, _, _ = command(*arguments)
        assert code == 0
        assert contents(Path("reproduction-quick")) == before
        now = {p: p.stat().st_mtime_ns for p in Path("reproduction-quick/cache").iterdir()}
        assert now == cache


def interrupted(command, cache, **options):
    """Start the command and interrupt its process group, as a terminal does, when it is at work."""
    started = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.PIPE, text=True, **options
    )
    while len(list(cache.glob("*.npz"))) < 3:
        assert started.poll() is None, started.stderr.read()
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    _, err = started.communicate(timeout=120)
    return started.returncode, err


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's interrupt is a signal to a group")
def test_the_quick_command(tmp_path):
    """Interrupted, taken up again, and given a third time: nothing is made twice."""
    given = os.environ.get("DPMIC_DATA", ROOT.parent / "shared" / "data")
    data = all((Path(given) / name).is_file() for name in FILES)
    out, cache = tmp_path / "out", tmp_path / "out" / "cache"
    command = [sys.executable, "-m", "dpmic", "reproduce", "all", "--quick", "--output", str(out)]
    options = {"cwd": tmp_path, "env": os.environ | {"DPMIC_DATA": str(given)}}
    code, err = interrupted(command, cache, **options)
    assert code == 130
    assert "dpmic: stopped; the same command resumes from here" in err
    kept = {path: path.stat().st_mtime_ns for path in cache.glob("*.npz")}
    run = partial(subprocess.run, command, capture_output=True, text=True, **options)
    second = run()
    assert second.returncode == 0, second.stderr
    assert ("skipping the real data" in second.stderr) == (not data)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    before = contents(out), {path.name: path.stat().st_mtime_ns for path in cache.glob("*.npz")}
    check_synthetic(out)
    check_page(out)
    if data:
        check_real(out)
    third = run()
    assert third.returncode == 0, third.stderr
    after = contents(out), {path.name: path.stat().st_mtime_ns for path in cache.glob("*.npz")}
    for earlier, later in zip(before, after, strict=True):
        assert set(later) == set(earlier)
        assert [name for name in later if later[name] != earlier[name]] == []


def check_synthetic(out):
    found = {
        (row["mechanism"], row["n"], row["epsilon"]): row["wsum"]
        for row in tables.read(out / "tables" / "wsum.csv")
    }
    for epsilon in (1, 0.1):
        for n in (1000, 5000):
            for published in ("micr-lap", "micr-geom"):
                assert found["ours", n, epsilon] < found[published, n, epsilon]
                assert found["ours-estimate", n, epsilon] < found[published, n, epsilon]
        for n in (25, 250, 1000, 5000):
            assert found["constant", n, epsilon] == pytest.approx(0.25, abs=0.01)
            assert found["mice", n, epsilon] < found["mice-lap", n, epsilon]
    # 63 distributions with 4 samples each against 189 with many: THEORY's prototype figures
    for n, expected in ((250, 0.171), (1000, 0.078), (5000, 0.030)):
        assert found["micr-lap", n, 1] == pytest.approx(expected, rel=0.25)


def check_page(out):
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "not epsilon-DP: proved guarantee G x epsilon" in page
    assert "dpmic reproduce synthetic --quick --seed 0" in page
    for name in made(out, "tables", "csv"):
        assert f"tables/{name}.csv" in page
    drawn = made(out, "figures", "png")
    assert drawn == made(out, "figures", "svg")
    assert FIGURES["synthetic"] | FIGURES["parameters"] | {"grids"} <= drawn
    assert page.count("data:image/") == len(drawn)


def check_real(out):
    """Medians near the print, as near as some pairs of all and 20 runs of 100 allow.

    Over seeds the errors below vary by 0.01 (Baseball) and 0.003 (Spellman4381).
    """
    found = {
        (row["collection"], row["mechanism"], row["epsilon"]): row
        for row in tables.read(out / "tables" / "medians.csv")
    }
    for place, expected, tolerance in (
        (("Baseball", "micr-lap", 1), 0.097, 0.03),
        (("Baseball", "micr-geom", 1), 0.068, 0.02),
        (("Spellman4381", "micr-lap", 1), 0.016, 0.008),
        (("Spellman23", "micr-lap", 1), 0.39, 0.08),
    ):
        assert found[place]["error"] == pytest.approx(expected, abs=tolerance)
        assert found[place]["printed_error"] == expected
    for collection in ("Baseball", "Spellman4381"):
        for epsilon in (1, 0.1):
            ours = found[collection, "ours", epsilon]["error"]
            for published in ("micr-lap", "micr-geom"):
                row = found[collection, published, epsilon]
                assert row["bias"] == pytest.approx(row["printed_bias"], abs=0.04)
                assert ours < row["error"]
