"""A sweep is what parametrize is, in one test."""

import sys

import pytest
from sweeps import sweep


def test_every_case_is_called_and_sweeps_stack():
    calls = []

    @sweep("a, b", [(1, 2), (3, 4)])
    @sweep("c", {5: "x", 6: "y"})
    def test(a, b, c, *, other):
        calls.append((a, b, c, other))

    test(other=0)
    assert sorted(calls) == [(1, 2, 5, 0), (1, 2, 6, 0), (3, 4, 5, 0), (3, 4, 6, 0)]


def test_the_case_that_fails_is_named():
    @sweep("a", range(5))
    @sweep("b", [9, 3], ids=["good", "bad"])
    def test(a, b):
        assert a != b, "equal"

    with pytest.raises(AssertionError, match="equal") as failed:
        test()
    assert failed.value.__notes__ == ["case 2 of 2: b = bad", "case 4 of 5: a = 3"]


def test_a_case_that_skips_is_left_out():
    calls = []

    @sweep("a", range(3))
    def test(a, at):
        if a >= at:
            pytest.skip(f"{a}")
        calls.append(a)

    test(at=2)
    assert calls == [0, 1]
    with pytest.raises(pytest.skip.Exception, match="0"):
        test(at=0)


@pytest.mark.parametrize(
    ("names", "cases", "words"), [("a", [], "without cases"), ("b", [1], "does not take")]
)
def test_sweeps_of_nothing_are_refused(names, cases, words):
    with pytest.raises(AssertionError, match=words):
        sweep(names, cases)(lambda a: None)


@pytest.mark.parametrize("use", ["stands in it", "writes into it"])
def test_a_folder_that_other_fixtures_use_is_not_swept(use, tmp_path, monkeypatch):
    @sweep("a", [1])
    def test(a, tmp_path):
        pass

    test(tmp_path=tmp_path)
    if use == "stands in it":
        monkeypatch.chdir(tmp_path)
    else:
        (tmp_path / "file").touch()
    with pytest.raises(AssertionError, match="parametrize"):
        test(tmp_path=tmp_path)


FOUND = []


@pytest.mark.parametrize("other", ["parametrized"])
@sweep("case", range(3))
def test_each_case_has_fixtures_of_its_own(
    case, other, rng, tmp_path, monkeypatch, capsys, caplog, request
):
    assert other == "parametrized"
    assert not hasattr(sys, "of_a_case")
    monkeypatch.setattr(sys, "of_a_case", case, raising=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    FOUND.append(rng.random())
    assert len(set(FOUND)) == 1
    assert capsys.readouterr().out == ""
    print("something")


class TestMethods:
    @sweep("case", [1, 2])
    def test_sweeps_take_methods(self, case):
        assert isinstance(self, TestMethods)
