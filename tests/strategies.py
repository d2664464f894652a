"""Columns that break implementations: ties, heavy tails, constants, tiny n."""

import numpy as np
from hypothesis import strategies as st

KINDS = ("uniform", "normal", "cauchy", "discrete", "binary", "constant", "lumpy", "sorted")


def column(kind, n, rng):
    """Return n values of one kind."""
    return {
        "uniform": lambda: rng.random(n),
        "normal": lambda: rng.normal(size=n),
        "cauchy": lambda: rng.standard_cauchy(n) ** 3,
        "discrete": lambda: rng.integers(0, 4, n).astype(float),
        "binary": lambda: rng.integers(0, 2, n).astype(float),
        "constant": lambda: np.full(n, 3.0),
        "lumpy": lambda: np.where(rng.random(n) < 0.6, 1.0, rng.random(n)),
        "sorted": lambda: np.sort(rng.normal(size=n)),
    }[kind]()


def pair(n, rng):
    """Return two columns of random kinds, independent or related."""
    x = column(rng.choice(KINDS), n, rng)
    if rng.random() < 0.5:
        return x, column(rng.choice(KINDS), n, rng)
    noise = rng.choice([0.0, 0.3]) * rng.normal(size=n)
    return x, rng.choice([x, x**2, np.sin(3 * x), -x]) + noise


@st.composite
def pairs(draw, min_n=4, max_n=60):
    """Draw two columns of the same length."""
    n = draw(st.integers(min_n, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return pair(n, rng)
