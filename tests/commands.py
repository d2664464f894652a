"""How tests give commands, and a table to give them."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from dpmic import cli

N = 2000
_RNG = np.random.default_rng(20261)
A = _RNG.uniform(-1, 1, N)
B = A**2
C = _RNG.uniform(0, 1, N)
TABLE = pa.table({"id": np.arange(N) // 2, "a": A, "b": B, "c": C})
BOUNDS = ("--bounds", "a=-1:1", "--bounds", "b=0:1")
TOML = "[bounds]\na = [-1, 1]\nb = [0, 1]\nc = [0, 1.0]\n"


def runner(monkeypatch, capsys):
    """Return what gives a command and returns its exit code, stdout and stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpmic", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    return call


def folder(monkeypatch, tmp_path):
    """Stand in a folder with a table and a file of bounds."""
    monkeypatch.chdir(tmp_path)
    csv.write_csv(TABLE, "people.csv")
    (tmp_path / "bounds.toml").write_text(TOML)
