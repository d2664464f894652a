"""A probability that is promised is rounded down, a p-value up, wherever one is printed."""

import dataclasses
import html
import re
from decimal import Decimal, Inexact, localcontext

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from sweeps import sweep

import dpmic
from dpmic import report
from dpmic._format import format_ceil, format_complement, format_floor
from dpmic.cli import _answers

X, Y = np.random.default_rng(3).uniform(size=(2, 200))
PVALUE = 0.01234444
"""In two, three, four and six digits: 0.012, 0.0123, 0.01234 and 0.0123444, each of them less."""


def texts(result, answer):
    """Everything that people see of a result."""
    rows = [text for row in answer.rows for text in row]
    told = [repr(result), result._repr_html_(), report.page(result), *rows, *answer.below]
    return [*told, getattr(result, "guarantee", "")]


@given(st.floats(1e-12, 1, exclude_max=True))
def test_all_but_a_miss_is_never_overstated_and_never_one(miss):
    exact, written = 1 - Decimal(repr(miss)), Decimal(format_complement(miss))
    assert written <= exact
    assert exact - Decimal(repr(miss)) / 10**4 - Decimal("1e-9") <= written < 1


@sweep(
    ("miss", "text"),
    [(0.05, "0.95"), (0.9, "0.1"), (1 / 3, "0.666666"), (1e-7, "0.9999999"), (0.0, "0.999999999")],
)
def test_probabilities_are_written_as_people_write_them(miss, text):
    assert format_complement(miss) == text


@given(st.floats(1e-300, 1), st.integers(1, 6))
@example(0.125, 2)  # halfway, where the nearest is the even one
def test_rounded_numbers_lie_on_their_side(value, digits):
    low, high = (float(f(value, digits)) for f in (format_floor, format_ceil))
    assert low <= value <= high
    assert high - low <= 1.01 * value * 10.0 ** (1 - digits)


def test_the_programs_decimals_change_nothing():
    with localcontext() as context:
        context.prec, context.traps[Inexact] = 2, True
        assert format_complement(1e-7) == "0.9999999"
        assert format_ceil(0.1234567) == "0.123457"
        assert format_floor(0.1234567) == "0.123456"


def test_a_range_never_promises_certainty():
    found = dpmic.estimate_bounds(X, epsilon=5.0, failure=1e-7)
    assert "With probability at least 0.9999999, at most" in found.guarantee
    promised = [
        share
        for text in texts(found, _answers.bounds(found))
        for share in re.findall(r"[Ww]ith probability at least(?:</?\w+[^>]*>|\s)*([\d.]+)", text)
    ]
    assert promised == ["0.9999999"] * len(promised)
    assert len(promised) >= 6


def test_p_values_are_never_understated():
    private = dpmic.release_test(X, Y, epsilon=1.0, draws=19)
    private = dataclasses.replace(private, pvalue=PVALUE, value=0.5)  # a value may be 0.0121
    test = dpmic.independence_test(X, Y, permutations=19, rng=0)
    test = dataclasses.replace(test, pvalue=PVALUE)
    pairs = dpmic.pairwise(np.column_stack((X, Y)), pvalues=True, permutations=19, rng=0)
    pairs = dataclasses.replace(pairs, pvalues=np.array([PVALUE]))
    for result, answer in (
        (private, _answers.published(private)),
        (test, _answers.test(test, "a", "b")),
        (pairs, _answers.matrix(pairs, None)),
    ):
        printed = [n for text in texts(result, answer) for n in re.findall(r"0\.01[23]\d*", text)]
        printed = [float(number) for number in printed]
        assert len(printed) >= 4
        assert min(printed) >= PVALUE


def test_a_small_p_value_is_printed_as_a_bound():
    pairs = dpmic.pairwise(np.column_stack((X, Y)), pvalues=True, permutations=19, rng=0)
    pairs = dataclasses.replace(pairs, pvalues=np.array([1e-5]))
    (row,) = _answers.matrix(pairs, None).rows
    assert row[-2:] == ["<0.0001", "<0.0001"]
    for text in (repr(pairs), pairs._repr_html_(), report.page(pairs)):
        assert "p < 0.0001" in html.unescape(text) or "<0.0001" in html.unescape(text)
