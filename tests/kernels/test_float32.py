"""The error that docs/proofs/float32-search.md assumes of a logarithm in float32."""

import re
from decimal import Decimal, localcontext

import numpy as np
import pytest
from project import ROOT
from test_variants import VARIANTS

native = pytest.importorskip(
    "dpmic._kernels._native", reason="the compiled kernels were not built: see CONTRIBUTING.md"
)

ERROR, ROUNDING = 1.6e-5, 2.0**-24  # POLYNOMIAL and ROUNDING of native/search.hpp
COUNTS = np.arange(2**20 + 1, dtype=np.int32)


@pytest.fixture(params=VARIANTS)
def variant(request):
    """Use the kernels for a processor, if this one has its instructions."""
    usual = native.variant
    try:
        native._use(request.param)
    except ValueError as error:
        pytest.skip(f"{request.param}: {error}")
    yield request.param
    native._use(usual)


@pytest.mark.parametrize("slope", [0.0, 0.999, 3.3219, 6.64, 12.001, 20.0])
def test_no_logarithm_is_further_off(variant, slope):
    assert native.variant == variant
    products = native.approximate(np.append(COUNTS, np.zeros(15, np.int32)), slope)
    products = products[: COUNTS.size].astype(np.float64)
    assert products[0] == 0
    exact = np.log2(COUNTS[1:]) - slope
    off = np.abs(products[1:] / COUNTS[1:] - exact)
    assert np.max(off - 2 * ROUNDING * np.abs(exact)) < ERROR
    assert np.max(off) > 1e-5  # it is a polynomial of degree 5


def test_the_polynomial_is_as_far_off_as_the_proof_says():
    source = (ROOT / "src/dpmic/_kernels/native/search.hpp").read_text()
    written = re.findall(
        r"(-?[\d.]+)f", source.partition("COEFFICIENTS[] = {")[2].partition("}")[0]
    )
    with localcontext(prec=30):
        coefficients = [Decimal(float(np.float32(own))) for own in written]

        def off(m):
            value = sum(own * m**i for i, own in enumerate(coefficients))
            return abs(value - m.ln() / Decimal(2).ln())

        largest = max(off(1 + Decimal(i) / 800) for i in range(801))
    assert len(coefficients) == 6
    assert Decimal("1.3089e-5") < largest < Decimal("1.309e-5")
