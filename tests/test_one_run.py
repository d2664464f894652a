"""Examples that show one run are compared: their words as they are, their numbers up to noise."""

import doctest

import pytest
from one_run import NOISE, Checker, mark, same_but_for_noise


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("age and dose: 0.747\n", "age and dose: 0.751\n", True),
        ("age and dose: 0.747\n", "age and dose: 0.951\n", False),
        ("age and dose: 0.747\n", "age and risk: 0.747\n", False),
        ("age and dose: 0.747\n", "age and dose: 0.747 and more\n", False),
        ("0.76,   from 2608 people\n", "0.75, from 2608 people\n", True),
        ("0.76, from 2608 people\n", "0.76, from 2609 people\n", False),
        ("related: 0.76, ...\n", "related: 0.75, give or take 0.01\n", True),
        ("1. (0.5) [x] 0.5", "1. (0.51) [x] 0.49", True),
    ],
)
def test_decimals_may_differ_by_noise_and_nothing_else_may(want, got, same):
    assert same_but_for_noise(want, got) == same


def test_only_marked_examples_are_compared_so():
    text = ">>> print(0.75)\n0.76\n>>> print(0.75)  # one run\n0.76\n"
    examples = doctest.DocTestParser().get_examples(text)
    mark(examples)
    assert [NOISE in example.options for example in examples] == [False, True]
    checker = Checker(doctest.OutputChecker())
    assert not checker.check_output("0.76\n", "0.75\n", 0)
    assert checker.check_output("0.76\n", "0.75\n", NOISE)
