"""Numbers that other programs print (tests/golden/README.md says which, and how)."""

import csv

import numpy as np
import pytest
from project import ROOT

import dpmic
from dpmic.compat.minepy import MINE

GOLDEN = ROOT / "tests" / "golden"


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def spellman(real_data):
    """Genes by name, and time columns by their header."""
    with (real_data / "spellman.csv").open(newline="") as file:
        header, *body = csv.reader(file)
    table = np.array([row[1:] for row in body], float)
    genes = {row[0]: values for row, values in zip(body, table, strict=True)}
    return genes, dict(zip(header[1:], table.T, strict=True))


@pytest.fixture(scope="module")
def baseball(real_data):
    """Columns by ``index:header``, numbers only."""
    with (real_data / "baseball.csv").open(newline="") as file:
        header, *body = csv.reader(file)
    return {
        f"{i}:{name}": np.array([row[i] for row in body]) for i, name in enumerate(header) if i > 0
    }


@pytest.fixture(scope="module")
def find(spellman, baseball):
    """Return the two columns that a golden row names."""
    genes, times = spellman

    def pair(row):
        if row["collection"] == "baseball":
            return baseball[row["x"]].astype(float), baseball[row["y"]].astype(float)
        if row["collection"] == "spellman23":
            return np.arange(1.0, 24.0), genes[row["y"]]
        return times[row["x"]], times[row["y"]]

    return pair


@pytest.mark.slow
def test_every_value_of_minepy(find):
    checked = rows(GOLDEN / "minepy.csv")
    assert len(checked) > 1000
    for row in checked:
        mine = MINE(alpha=float(row["alpha"]), c=float(row["c"]), est=row["est"])
        mine.compute_score(*find(row))
        ours = {
            "mic": mine.mic(),
            "mas": mine.mas(),
            "mev": mine.mev(),
            "mcn_eps0": mine.mcn(0),
            "mcn_general": mine.mcn_general(),
            "gmic_p-1": mine.gmic(-1),
            "tic": mine.tic(),
            "tic_norm": mine.tic(norm=True),
        }
        theirs = {name: float(row[name]) for name in ours}
        assert ours == pytest.approx(theirs, abs=1e-9), row


@pytest.mark.slow
def test_the_original_java_program(spellman):
    """MINE.jar prints five truncated decimals."""
    genes, _ = spellman
    time = np.arange(1.0, 24.0)
    checked = rows(GOLDEN / "minejar_spellman.csv")
    assert len(checked) > 4000
    for row in checked:
        score = dpmic.mic(time, genes[row["gene"]])
        assert score.mic == pytest.approx(float(row["mic"]), abs=1.1e-5), row
        assert score.mas == pytest.approx(float(row["mas"]), abs=1.1e-5), row
        assert score.mcn() == pytest.approx(float(row["mcn"]), abs=1.1e-5), row


def test_mic_is_minepys_mic_approx(find):
    for row in rows(GOLDEN / "minepy.csv"):
        if (row["est"], row["alpha"], row["c"]) == ("mic_approx", "0.6", "15"):
            assert dpmic.mic(*find(row)).mic == pytest.approx(float(row["mic"]), abs=1e-9)
