"""benchmarks/peers.py without peers: what it takes turns at, and that the page has its tables."""

import importlib.util
import json
import sys

from project import ROOT


def load(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", ROOT / f"benchmarks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


peers = load("peers")
PAGE = (ROOT / "docs" / "speed.md").read_text()


def test_the_page_has_the_table_of_every_processor():
    runs = [json.loads(path.read_text()) for path in peers.RESULTS.glob("*.json")]
    found = [run for run in runs if run["rows"] and "peers" in run["rows"][0]]
    assert found
    for run in found:
        assert run["processor"] in PAGE
        assert peers.table_of([peers.Row(**row) for row in run["rows"]]) in PAGE


def test_rows_of_one_thing_share_a_line():
    rows = [
        peers.Row("a score", 20, "noise", 0.5, {"one": 10.0, "other": 0.05}, "2x"),
        peers.Row("a score", 20, "sine", 2.0, {"one": 300.0}, "2x"),
        peers.Row("a command", 9, "noise", 1234.5),
    ]
    assert peers.table_of(rows).splitlines()[2:] == [
        "| a score | 20 | 0.5 / 2 | 20x / 150x | 0.1x | 2x |",
        "| a command | 9 | 1234 |  |  |  |",
    ]


def test_calls_take_turns_and_the_first_does_not_count(monkeypatch):
    seen = []
    monkeypatch.setattr(peers, "LEAST_SECONDS", 0.0)
    times = peers.least({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")})
    assert seen == ["a", "a", "b", "b", *["a", "b"] * peers.ROUNDS]
    assert set(times) == {"a", "b"}
