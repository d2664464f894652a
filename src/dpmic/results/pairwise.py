"""The scores of all pairs of a table's columns, or of two tables' columns."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import format_ceil
from dpmic.data import Backend, build, position
from dpmic.errors import InputError, ParameterError, safe_repr
from dpmic.results import html, leading
from dpmic.results.pairing import Pairing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Pairwise"]

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Row = tuple[str, str, float]

ARRAYS = ("mic", "tic", "records", "pvalues")
"""The fields with a number for each pair."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairwise:
    """The scores of many pairs of columns, without the data.

    A pair that could not be scored, for want of records where both values are there, has NaN.

    Attributes
    ----------
    statistic : str
        ``"mice"``, ``"micr"`` or ``"mic"``.
    names : tuple of str
        The columns of the table, or of the left one.
    others : tuple of str or None
        The columns of the right table; None for all pairs of one table.
    n : int
        Rows of the table.
    parameters : dict
        What else fixed the computation: B, c and more. Read-only.
    mic : ndarray
        The score of each pair, in the order of ``pairs``. This and the next three are read-only.
    tic : ndarray or None
        The Total Information Coefficient of each pair, if it was asked for.
    records : ndarray or None
        The records used for each pair, where missing values were dropped pair by pair.
    pvalues : ndarray or None
        The p-value of each pair against independence, if it was asked for.
    permutations : int or None
        From how many permutations the p-values come.
    """

    statistic: str
    names: tuple[str, ...]
    others: tuple[str, ...] | None = None
    n: int
    parameters: Mapping[str, Any]
    mic: Floats
    tic: Floats | None = None
    records: NDArray[np.int64] | None = None
    pvalues: Floats | None = None
    permutations: int | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("names", tuple(self.names))
        put("others", None if self.others is None else tuple(self.others))
        # Through JSON, so that a result read back has the same lists and equals this one.
        put("parameters", MappingProxyType(json.loads(json.dumps(dict(self.parameters)))))
        for name in ARRAYS:
            if getattr(self, name) is not None:
                put(name, _owned(getattr(self, name), name, self._count))
        if self.pvalues is not None and not np.all(_within(self.pvalues)):
            raise InputError("pvalues", "one is not between 0 and 1", "pass probabilities")

    @property
    def _pairing(self) -> Pairing:
        return Pairing(len(self.names), None if self.others is None else len(self.others))

    @property
    def _count(self) -> int:
        """How many pairs there are."""
        return self._pairing.count

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs by name: each two columns, the earlier first; or left with right."""
        if self.others is None:
            return tuple(itertools.combinations(self.names, 2))
        return tuple(itertools.product(self.names, self.others))

    @property
    def matrix(self) -> Floats:
        """The scores by ``names``, symmetric; of two tables by ``names`` and ``others``.

        The diagonal is NaN: a column with itself is no pair.
        """
        m = len(self.names)
        if self.others is not None:
            return self.mic.reshape(m, len(self.others)).copy()
        matrix = np.full((m, m), np.nan)
        above = ~np.tri(m, dtype=bool)
        matrix[above] = self.mic
        matrix.T[above] = self.mic
        return matrix

    def value(self, x: str, y: str) -> float:
        """Return the score of a pair; of one table in either order."""
        row = position(x, self.names, "x =")
        column = position(y, self.names if self.others is None else self.others, "y =")
        if self.others is None:
            if row == column:
                reason = "a column with itself is no pair"
                raise InputError(f"{safe_repr(x)}, {safe_repr(y)}", reason, "pass two columns")
            row, column = sorted((row, column))
        (place,) = self._pairing.positions(np.array([row]), np.array([column]))
        return float(self.mic[place])

    def top(self, k: int) -> tuple[Row, ...]:
        """Return the k strongest pairs with their scores, the largest first."""
        return self._rows(leading.largest(self.mic, k))

    @cached_property
    def qvalues(self) -> Floats:
        """The p-values adjusted for the number of pairs, by Benjamini and Hochberg.

        Of the pairs whose q-value is at most 0.05, no more than 5% are expected to be
        independent.
        """
        if self.pvalues is None:
            raise InputError("qvalues", "this result has no p-values", "pass pvalues=True")
        from scipy.stats import false_discovery_control

        tested = ~np.isnan(self.pvalues)
        adjusted = np.full(self.pvalues.size, np.nan)
        adjusted[tested] = false_discovery_control(self.pvalues[tested])
        adjusted.setflags(write=False)
        return adjusted

    def significant(self, rate: float = 0.05) -> tuple[Row, ...]:
        """Return the pairs with a q-value of at most ``rate``, a share of false discoveries.

        The strongest evidence comes first: the smallest p-value, then the largest score.
        """
        share = _validate.real(rate, "rate")
        if not 0 < share < 1:
            raise ParameterError(f"rate = {safe_repr(rate)}", "it is a share of pairs", "pass 0.05")
        found = np.flatnonzero(self.qvalues <= share)
        assert self.pvalues is not None  # or there were no q-values
        return self._rows(found[np.lexsort((-self.mic[found], self.pvalues[found]))])

    def columns(self, start: int = 0, stop: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the columns of some rows of ``to_frame``, with x and y as places of names."""
        rows = slice(start, self._count if stop is None else stop)
        x, y = self._pairing.places(np.arange(rows.start, rows.stop))
        numbers = {"mic": self.mic, "tic": self.tic, "records": self.records}
        if self.pvalues is not None:
            numbers |= {"pvalue": self.pvalues, "qvalue": self.qvalues}
        there = {name: values[rows] for name, values in numbers.items() if values is not None}
        return {"x": x, "y": y, **there}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a row for each pair: x, y, mic, and tic, records, pvalue, qvalue if there."""
        columns: dict[str, Any] = self.columns()
        columns["x"] = np.array(self.names, object)[columns["x"]]
        columns["y"] = np.array(self.others or self.names, object)[columns["y"]]
        return build(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores as a heat map, gray where there is none; needs matplotlib."""
        from dpmic.plots.matrices import scores

        return scores(self, ax)

    def _rows(self, positions: Places) -> tuple[Row, ...]:
        """Return some pairs by name, with their scores."""
        x, y = (places.tolist() for places in self._pairing.places(positions))
        others = self.names if self.others is None else self.others
        scores = self.mic[positions].tolist()
        return tuple((self.names[i], others[j], s) for i, j, s in zip(x, y, scores, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that ``json.dumps`` takes and ``from_dict`` reads."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: _listed(content[name]) for name in ARRAYS}
        parameters = dict(self.parameters)
        if parameters.get("c") == math.inf:
            parameters["c"] = "inf"  # JSON has no infinity
        return {**content, **lists, "parameters": parameters}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Pairwise:
        """Rebuild a result from ``to_dict`` or from parsed JSON."""
        try:
            parameters = dict(content["parameters"])
            if parameters.get("c") == "inf":
                parameters["c"] = math.inf
            return cls(**{**content, "parameters": parameters})
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "this Pairwise", f"it is not complete ({error})", "pass what to_dict returned"
            ) from None

    def to_json(self) -> str:
        """Return the result as one line of JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Pairwise:
        """Rebuild a result from ``to_json``."""
        try:
            content = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InputError("this text", f"it is not JSON ({error})", "pass to_json's") from None
        return cls.from_dict(content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairwise) and all(
            _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.statistic, self.names, self.others, self.n, self.permutations))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since an unpickled array is writeable again.
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        return partial(type(self), **{**content, "parameters": dict(self.parameters)}), ()

    def _facts(self) -> dict[str, str]:
        """Return what fixed the computation, but not what is long."""
        plain = {k: v for k, v in self.parameters.items() if isinstance(v, int | float | str)}
        facts = {k: f"{v:.6g}" if isinstance(v, float) else str(v) for k, v in plain.items()}
        if self.permutations is not None:
            facts["permutations"] = str(self.permutations)
        return {"n": str(self.n), **facts}

    def _size(self) -> str:
        widths = [self.names] if self.others is None else [self.names, self.others]
        pairs = "1 pair" if self._count == 1 else f"{self._count} pairs"
        return f"{pairs} of {' x '.join(str(len(w)) for w in widths)} columns"

    def _leading(self) -> list[tuple[str, str]]:
        """Return the strongest pairs with their numbers, as text."""
        places = leading.largest(self.mic, leading.SHOWN)
        numbers = [f"{score:.4f}" for score in self.mic[places]]
        if self.pvalues is not None:
            chances = [format_ceil(p, 2) for p in self.pvalues[places].tolist()]
            numbers = [f"{s} (p = {p})" for s, p in zip(numbers, chances, strict=True)]
        rows = self._rows(places)
        return [(f"{x}, {y}", number) for (x, y, _), number in zip(rows, numbers, strict=True)]

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={text}" for name, text in self._facts().items())
        rows = leading.lines(self._leading(), self._count)
        return f"Pairwise({self.statistic}: {self._size()}, {facts}){rows}"

    def _repr_html_(self) -> str:
        rows = leading.ranks(self._leading(), self._count)
        facts = {"statistic": self.statistic, "size": self._size(), **self._facts()}
        return html.table({**rows, **facts})


def _owned(values: object, name: str, count: int) -> NDArray[Any]:
    """Return a read-only copy of numbers, one for each pair."""
    whole = name == "records"
    if whole and np.asarray(values).dtype.kind not in "iu":
        raise InputError(name, "these are no whole numbers", "pass integers")
    # A None of JSON becomes NaN.
    array: NDArray[Any] = np.array(values, np.int64 if whole else np.float64)
    if array.shape != (count,):
        raise InputError(
            f"{name} of shape {array.shape}", f"there are {count} pairs", "pass a number for each"
        )
    array.setflags(write=False)
    return array


def _within(pvalues: Floats) -> NDArray[np.bool_]:
    return np.isnan(pvalues) | ((pvalues >= 0) & (pvalues <= 1))


def _listed(values: NDArray[Any] | None) -> list[Any] | None:
    """Return an array as a list, with None for NaN, which JSON does not know."""
    if values is None:
        return None
    plain: list[Any] = values.tolist()
    for gap in np.flatnonzero(np.isnan(values)):
        plain[gap] = None
    return plain


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
