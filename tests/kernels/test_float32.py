"""The error that docs/proofs/float32-search.md assumes of a logarithm in float32."""

import numpy as np
import pytest

native = pytest.importorskip(
    "dpmic._kernels._native", reason="the compiled kernels were not built: see CONTRIBUTING.md"
)

ERROR, ROUNDING = 1.6e-5, 2.0**-24  # POLYNOMIAL and ROUNDING of native/search.hpp
COUNTS = np.arange(2**20 + 1, dtype=np.int32)


@pytest.mark.parametrize("slope", [0.0, 0.999, 3.3219, 6.64, 12.001, 20.0])
def test_no_logarithm_is_further_off(slope):
    products = native.approximate(np.append(COUNTS, np.zeros(15, np.int32)), slope)
    products = products[: COUNTS.size].astype(np.float64)
    assert products[0] == 0
    exact = np.log2(COUNTS[1:]) - slope
    off = np.abs(products[1:] / COUNTS[1:] - exact)
    assert np.max(off - 2 * ROUNDING * np.abs(exact)) < ERROR
    assert np.max(off) > 1e-5  # it is a polynomial of degree 5
