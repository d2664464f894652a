"""The optimal composition theorem, against enumeration, its printed form and another library."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from sweeps import sweep

from dpmic.privacy._composition import largest_pure, least_delta

# dp-accounting 0.6, privacy_loss_distribution.from_randomized_response(2 / (1 + exp(pure)), 2,
# value_discretization_interval=1e-7).self_compose(count).get_delta_for_epsilon(epsilon). It rounds
# losses up to its grid, so it lies slightly above.
ACCOUNTED = [
    (0.1, 45, 3.0, 9.308949822460214e-07),
    (0.0366, 45, 1.0, 9.97576067482641e-07),
    (0.4, 10, 2.5, 0.02455802333856771),
    (1.0, 3, 1.7, 0.2842304161738233),
]


@pytest.mark.parametrize(("pure", "count", "epsilon", "delta"), ACCOUNTED)
def test_another_accountant_agrees(pure, count, epsilon, delta):
    assert float(least_delta(pure, count, epsilon)) == pytest.approx(delta, rel=1e-4)
    assert float(least_delta(pure, count, epsilon)) <= delta * (1 + 1e-9)


@sweep("count", [1, 2, 3, 6])
@sweep("epsilon", [0.01, 0.7, 1.5, 4.0])
def test_all_outcomes_of_small_compositions(count, epsilon):
    """The hockey-stick divergence of coins, outcome by outcome, in fractions."""
    odds = Fraction(3, 2)  # a loss of log 1.5, nearly
    p, q, cost = odds / (1 + odds), 1 / (1 + odds), Fraction(math.exp(epsilon))
    gains = (
        math.prod(p if hit else q for hit in coins)
        - cost * math.prod(q if hit else p for hit in coins)
        for coins in itertools.product((True, False), repeat=count)
    )
    brute = float(sum(max(gain, Fraction(0)) for gain in gains))
    assert float(least_delta(math.log(1.5), count, epsilon)) == pytest.approx(
        brute, rel=1e-12, abs=1e-15
    )


@pytest.mark.parametrize(("pure", "count"), [(0.3, 8), (0.05, 21), (1.2, 5)])
def test_as_the_theorem_is_printed(pure, count):
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3 at its own losses (count - 2 i) pure."""
    for i in range(count // 2 + 1):
        printed = sum(
            math.comb(count, l)
            * (math.exp((count - l) * pure) - math.exp((count - 2 * i + l) * pure))
            for l in range(i)
        ) / (1 + math.exp(pure)) ** count  # fmt: skip
        found = float(least_delta(pure, count, (count - 2 * i) * pure))
        assert found == pytest.approx(printed, rel=1e-9, abs=1e-14)


@sweep("count", [1, 3, 45, 190])
@sweep("delta", [1e-3, 1e-6, 1e-12])
@sweep("epsilon", [0.1, 1.0, 10.0])
def test_the_largest_loss_fits_and_a_little_more_does_not(count, delta, epsilon):
    pure = largest_pure(epsilon, delta, count)
    assert least_delta(pure, count, epsilon) <= Decimal(delta)
    assert least_delta(pure * (1 + 1e-6), count, epsilon) > Decimal(delta)
    assert pure >= epsilon / count * (1 - 1e-11)  # never below basic composition


def test_basic_composition_costs_no_delta():
    assert least_delta(0.1, 10, 1.0001) <= Decimal("2e-40")


def test_rounding_never_understates():
    """Twice the digits change nothing that the margin does not cover."""
    from decimal import Context, localcontext

    from dpmic.privacy import _composition as composition

    for pure, count, epsilon in ((0.01, 500, 1.0), (0.3, 40, 3.0)):
        rough = least_delta(pure, count, epsilon)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(composition, "_DIGITS", Context(prec=120))
            patch.setattr(composition, "_MARGIN", Decimal(0))
            exact = least_delta(pure, count, epsilon)
        with localcontext(Context(prec=200)):
            assert exact <= rough <= exact + Decimal("2e-40")
