"""What many pure releases cost together, exactly: the optimal composition theorem.

Kairouz, Oh and Viswanath (ICML 2015) show that nothing composed of ``count`` mechanisms of loss
``pure`` each tells more than as many randomised responses of that loss. Those are binomial: with
p = e^pure / (1 + e^pure) and q = 1 - p, the composition is (epsilon, delta)-DP for

    delta = sum over l of C(count, l) max(0, p^(count - l) q^l - e^epsilon q^(count - l) p^l),

and for no smaller delta. Proof and rounding: docs/proofs/screening-and-matrices.md.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache

# With 60 digits, each summand errs by less than 1e-45 of itself for up to a hundred million
# mechanisms; the summands that count, and what is subtracted in them, add up to at most 1 each.
_DIGITS = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)  # so that nothing underflows
_MARGIN = Decimal("1e-40")

PRECISION = 1e-10
"""How close :func:`largest_pure` comes to the optimum, relatively."""


def least_delta(pure: float, count: int, epsilon: float) -> Decimal:
    """Return a number not below the least delta of the composition, and at most 2e-40 above.

    Examples
    --------
    >>> f"{least_delta(0.1, 45, 3.0):.4e}"
    '9.3087e-7'
    """
    with localcontext(_DIGITS):
        odds, cost = Decimal(pure).exp(), Decimal(epsilon).exp()
        # The summand for l = 0, then each from the one before.
        likely = (count * (odds.ln() - (1 + odds).ln())).exp()
        unlikely = (-count * (1 + odds).ln()).exp()
        total = Decimal(0)
        for l in range(count + 1):
            gain = likely - cost * unlikely
            if gain <= 0:  # and so are all that follow: likely / unlikely falls with l
                break
            total += gain
            share = Decimal(count - l) / (l + 1)
            likely *= share / odds
            unlikely *= share * odds
        return total + _MARGIN


@lru_cache(maxsize=64)
def largest_pure(epsilon: float, delta: float, count: int) -> float:
    """Return the largest loss that each of ``count`` mechanisms may have.

    What is returned satisfies ``least_delta(pure, count, epsilon) <= delta``, by the rigorous
    evaluation; that nothing much larger does is a matter of accuracy, not of privacy.

    Examples
    --------
    >>> round(largest_pure(1.0, 1e-6, 45), 4), round(1 / 45, 4)
    (0.0366, 0.0222)
    """
    allowed = Decimal(delta)
    fits, fails = epsilon / count * (1 - 1e-12), epsilon
    while least_delta(fails, count, epsilon) <= allowed:
        fails *= 2
    while fails > fits * (1 + PRECISION):
        middle = math.sqrt(fits * fails)
        if least_delta(middle, count, epsilon) <= allowed:
            fits = middle
        else:
            fails = middle
    return fits
