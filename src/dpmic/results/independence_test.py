"""A test of whether two variables are independent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic._format import format_ceil
from dpmic.errors import InputError
from dpmic.results import html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["IndependenceTest"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class IndependenceTest:
    """How an observed TICe compares with that of random permutations.

    Attributes
    ----------
    statistic : float
        The Total Information Coefficient of the two columns, not normalised.
    pvalue : float
        If the columns are independent, this is ``a`` or less with probability ``a`` at most. It
        says neither how strong a relation is nor how likely there is one. Never 0.
    n : int
        Records used, after missing ones were dropped.
    B, c : float
        The most cells in a grid, and master parts for each wished part.
    null : ndarray
        The statistic of each permutation. Read-only.
    """

    statistic: float
    pvalue: float
    n: int
    B: float
    c: float
    null: NDArray[np.float64]

    def __post_init__(self) -> None:
        null = np.array(self.null, np.float64)
        null.setflags(write=False)
        object.__setattr__(self, "null", null)
        sound = null.ndim == 1 and null.size > 0 and bool(np.isfinite(null).all())
        if not (sound and 0 < self.pvalue <= 1 and math.isfinite(self.statistic)):
            raise InputError(
                "this test", "its numbers are not those of a test", "pass what was computed"
            )

    @property
    def permutations(self) -> int:
        """How many permutations there were; no p-value is below 1 / (permutations + 1)."""
        return self.null.size

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the permutations' statistic and the observed one; needs matplotlib."""
        from dpmic.plots.nulls import null

        return null(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that ``json.dumps`` takes and ``from_dict`` reads."""
        c = "inf" if math.isinf(self.c) else self.c  # JSON has no infinity
        return {**self._content(), "c": c, "null": self.null.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> IndependenceTest:
        """Rebuild a test from ``to_dict`` or from parsed JSON."""
        try:
            return cls(**{**content, "c": float(content["c"])})
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "this test", f"it is not complete ({error})", "pass what to_dict returned"
            ) from None

    def to_json(self) -> str:
        """Return the test as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> IndependenceTest:
        """Rebuild a test from ``to_json``."""
        try:
            content = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InputError("this text", f"it is not JSON ({error})", "pass to_json's") from None
        return cls.from_dict(content)

    def _content(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndependenceTest) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.statistic, self.pvalue, self.n, self.B, self.c, self.permutations))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since an unpickled array is writeable again.
        return partial(type(self), **self._content()), ()

    def __repr__(self) -> str:
        return (
            f"IndependenceTest(TICe={self.statistic:.4g}, p={format_ceil(self.pvalue, 3)}, "
            f"n={self.n}, {self.permutations} permutations)"
        )

    def _repr_html_(self) -> str:
        rows = {
            "p-value against independence": format_ceil(self.pvalue, 3),
            "TICe": f"{self.statistic:.4g}",
            "TICe of permutations, median": f"{np.median(self.null):.4g}",
            "permutations": f"{self.permutations}",
            "records": f"{self.n}",
            "computed with": f"B = {self.B:.6g}, c = {self.c:g}",
        }
        return html.table(rows)
