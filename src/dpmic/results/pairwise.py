"""The scores of all pairs of a table's columns, or of two tables' columns."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import format_pvalue, plural
from dpmic.data import Backend, build, position
from dpmic.errors import InputError, ParameterError, safe_repr
from dpmic.parameters import chance
from dpmic.parameters.chance import Unrelated
from dpmic.results import networks
from dpmic.results._base import (
    NUMBERS,
    PLAIN,
    Fact,
    Form,
    Result,
    as_metadata,
    flatten,
    read_only,
)
from dpmic.results._base import Owned as Owned  # also for those who make results
from dpmic.results.relation import Relation, standing_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LISTED = 10
"""Pairs in the text and the HTML of a result."""

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Row = tuple[str, str, float]


def strongest(values: Floats, k: object = MOST_LISTED) -> NDArray[np.intp]:
    """Return where the k largest values are, the largest first and equal ones in their order.

    NaN is never among them. Only what is returned is sorted.
    """
    wanted = _validate.integer(k, "k", least=1)
    wanted = min(wanted, values.size - int(np.count_nonzero(np.isnan(values))))
    if not wanted:
        return np.empty(0, np.intp)
    least = -np.partition(-values, wanted - 1)[wanted - 1]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)[: wanted - above.size]
    places = np.concatenate([above, equal])
    ordered: NDArray[np.intp] = places[np.argsort(-values[places], kind="stable")]
    return ordered


def listed(leading: Sequence[tuple[str, str]], total: int) -> list[str]:
    """Return a line of text for each of the leading pairs, given with their numbers."""
    more = [f"and {total - len(leading)} more"] if total > len(leading) else []
    return [f"{number}  {pair}" for pair, number in leading] + more


def ranked(leading: Sequence[tuple[str, str]], total: int) -> list[Fact]:
    """Return the leading pairs by rank, as facts."""
    facts = [Fact(f"{rank}. {pair}", number) for rank, (pair, number) in enumerate(leading, 1)]
    return facts + ([Fact("and more", str(total - len(leading)))] if total > len(leading) else [])


def independent_share(pvalues: Floats) -> float:
    """Return Storey's estimate of the share of independent pairs, at most 1.

    Of independent pairs half have a p-value above 1/2, and of others few. One is added to their
    number, so that the rate holds for independent p-values (Storey, Taylor and Siegmund 2004).

    Examples
    --------
    >>> independent_share(np.array([0.001] * 80 + [0.1, 0.3, 0.6, 0.9] * 5))
    0.22
    """
    if not pvalues.size:
        return 1.0
    return float(min((1 + np.count_nonzero(pvalues > 0.5)) / (0.5 * pvalues.size), 1.0))


@dataclass(frozen=True)
class Pairing:
    """All pairs of ``left`` columns, or each of them with each of ``right`` ones, row by row."""

    left: int
    right: int | None = None

    @property
    def count(self) -> int:
        """How many pairs there are."""
        m = self.left
        return m * (m - 1) // 2 if self.right is None else m * self.right

    def positions(self, i: Places, j: Places) -> Places:
        """Return where pairs come in the order of all."""
        if self.right is None:
            return self._begin(i) + (j - i - 1)
        return i * self.right + j

    def places(self, positions: Places) -> tuple[Places, Places]:
        """Return the pairs that come at some positions."""
        if self.right is not None:
            i, j = np.divmod(positions, self.right)
            return i, j
        begins = self._begin(np.arange(self.left))
        i = np.searchsorted(begins, positions, side="right") - 1
        return i, positions - begins[i] + i + 1

    def _begin(self, i: Places) -> Places:
        """Return where row i begins among all pairs of one table."""
        return i * (2 * self.left - i - 1) // 2

    def tiles(self, size: int) -> Iterator[tuple[range, range]]:
        """Return squares of columns, ``size`` wide, that have all pairs between them."""
        across = self.left if self.right is None else self.right
        for top in range(0, self.left, size):
            for side in range(top if self.right is None else 0, across, size):
                yield range(top, min(top + size, self.left)), range(side, min(side + size, across))

    def within(self, rows: range, columns: range) -> tuple[Places, Places]:
        """Return the pairs of a tile."""
        i, j = (places.ravel() for places in np.meshgrid(rows, columns, indexing="ij"))
        return (i[i < j], j[i < j]) if self.right is None else (i, j)


def _integers(values: object) -> NDArray[Any] | None:
    if values is None:
        return None
    own = values.array if isinstance(values, Owned) else np.asarray(values)
    if own.dtype.kind not in "iu":
        raise InputError("records", "these are not integers", "pass integers")
    return read_only(values, np.int64)


def _written(parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = PLAIN.write(parameters)
    return plain | {"c": "inf"} if plain.get("c") == math.inf else plain  # JSON has no infinity


def _read(parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(parameters)
    return plain | {"c": math.inf} if plain.get("c") == "inf" else plain


NAMES = as_metadata(Form(lambda names: None if names is None else tuple(names), PLAIN.write))
PARAMETERS = as_metadata(Form(PLAIN.keep, _written, _read))
COUNTS = as_metadata(Form(_integers, NUMBERS["form"].write))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Pairwise(Result):
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
        The score of each pair, in the order of ``pairs``. This and the next arrays are read-only.
    tic : ndarray or None
        The Total Information Coefficient of each pair, if it was asked for.
    pearson, spearman : ndarray or None
        The correlations of each pair, if they were asked for; NaN for nominal columns.
    records : ndarray or None
        The records used for each pair, where missing values were dropped pair by pair.
    pvalues : ndarray or None
        The p-value of each pair against independence, if it was asked for.
    permutations : int or None
        From how many permutations the p-values come.
    """

    statistic: str
    names: tuple[str, ...] = field(metadata=NAMES)
    others: tuple[str, ...] | None = field(default=None, metadata=NAMES)
    n: int
    parameters: Mapping[str, Any] = field(metadata=PARAMETERS)
    mic: Floats = field(metadata=NUMBERS)
    tic: Floats | None = field(default=None, metadata=NUMBERS)
    pearson: Floats | None = field(default=None, metadata=NUMBERS)
    spearman: Floats | None = field(default=None, metadata=NUMBERS)
    records: NDArray[np.int64] | None = field(default=None, metadata=COUNTS)
    pvalues: Floats | None = field(default=None, metadata=NUMBERS)
    permutations: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("mic", "tic", "pearson", "spearman", "records", "pvalues"):
            array = getattr(self, name)
            if array is not None and array.shape != (self._count,):
                raise InputError(
                    f"{name} of shape {array.shape}",
                    f"there are {self._count} pairs",
                    "pass a number for each",
                )
        if self.pvalues is not None and np.any((self.pvalues < 0) | (self.pvalues > 1)):
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

        The diagonal is NaN: a column with itself is not a pair.
        """
        return self.arranged(self.mic)

    def arranged(self, numbers: Floats) -> Floats:
        """Return a number of each pair, such as ``pvalues``, as :attr:`matrix` has the scores."""
        m = len(self.names)
        if self.others is not None:
            return numbers.reshape(m, len(self.others)).copy()
        matrix = np.full((m, m), np.nan)
        above = ~np.tri(m, dtype=bool)
        matrix[above] = numbers
        matrix.T[above] = numbers
        return matrix

    def value(self, x: str, y: str) -> float:
        """Return the score of a pair; of one table in either order."""
        row = position(x, self.names, "x =")
        column = position(y, self.names if self.others is None else self.others, "y =")
        if self.others is None:
            if row == column:
                reason = "a column with itself is not a pair"
                raise InputError(f"{safe_repr(x)}, {safe_repr(y)}", reason, "pass two columns")
            row, column = sorted((row, column))
        (place,) = self._pairing.positions(np.array([row]), np.array([column]))
        return float(self.mic[place])

    def top(self, k: int) -> tuple[Row, ...]:
        """Return the k strongest pairs with their scores, the largest first."""
        return self._rows(strongest(self.mic, k))

    @property
    def nonlinearity(self) -> Floats | None:
        """MIC less Pearson's correlation squared: how much of a relation is not a line.

        None where no correlations were asked for (Reshef et al. 2011).
        """
        return None if self.pearson is None else self.mic - self.pearson**2

    @cached_property
    def qvalues(self) -> Floats:
        """The p-values adjusted for the number of pairs, by Benjamini and Hochberg or by Storey.

        Of the pairs whose q-value is at most 0.05, no more than 5% are expected to be
        independent.
        """
        if self.pvalues is None:
            raise InputError("qvalues", "this result has no p-values", "pass pvalues=True")
        from scipy.stats import false_discovery_control

        tested = ~np.isnan(self.pvalues)
        adjusted = np.full(self.pvalues.size, np.nan)
        adjusted[tested] = false_discovery_control(self.pvalues[tested])
        if self.parameters.get("qvalues") == "storey":
            adjusted *= independent_share(self.pvalues[tested])
        adjusted.setflags(write=False)
        return adjusted

    def significant(self, rate: float = 0.05) -> tuple[Row, ...]:
        """Return the pairs with a q-value of at most ``rate``, a share of false discoveries.

        The strongest evidence comes first: the smallest p-value, then the largest score.
        """
        return self._rows(self._discoveries(rate))

    def to_edges(self, path: str | os.PathLike[str], rate: float = 0.05) -> None:
        """Write the significant pairs as a network, for Gephi, Cytoscape, igraph or networkx.

        Parameters
        ----------
        path : path
            A ``.gml`` file, a graph of all columns whose edges weigh their MIC, or a ``.csv`` file
            of edges. One that is there is replaced.
        rate : float
            As for :meth:`significant`.
        """
        target, found = networks.checked(path), self._discoveries(rate)
        numbers = {k: v[found].tolist() for k, v in self.columns().items() if k not in ("x", "y")}
        each = zip(self._rows(found), zip(*numbers.values(), strict=True), strict=True)
        edges = [(x, y, own) for (x, y, _), own in each]
        nodes = [*self.names, *(self.others or ())]
        networks.write(target, networks.Network(nodes, list(numbers), edges))

    def _discoveries(self, rate: object) -> NDArray[np.intp]:
        """Return where the pairs with a q-value of at most ``rate`` are, in their order."""
        share = _validate.real(rate, "rate")
        if not 0 < share < 1:
            raise ParameterError(f"rate = {safe_repr(rate)}", "it is a share of pairs", "pass 0.05")
        found = np.flatnonzero(self.qvalues <= share)
        assert self.pvalues is not None  # or there were no q-values
        ordered: NDArray[np.intp] = found[np.lexsort((-self.mic[found], self.pvalues[found]))]
        return ordered

    def columns(self, start: int = 0, stop: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the columns of some rows of ``to_frame``, with x and y as places of names."""
        rows = slice(start, self._count if stop is None else stop)
        x, y = self._pairing.places(np.arange(rows.start, rows.stop))
        numbers: dict[str, NDArray[Any] | None]
        numbers = {"mic": self.mic, "tic": self.tic, "pearson": self.pearson}
        numbers |= {"spearman": self.spearman, "nonlinearity": self.nonlinearity}
        numbers["records"] = self.records
        if self.pvalues is not None:
            numbers |= {"pvalue": self.pvalues, "qvalue": self.qvalues}
        there = {name: values[rows] for name, values in numbers.items() if values is not None}
        return {"x": x, "y": y, **there}

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a row for each pair: x, y, mic, and what else was asked for.

        That is tic; pearson, spearman and nonlinearity; records; pvalue and qvalue.
        """
        columns: dict[str, Any] = self.columns()
        columns["x"] = np.array(self.names, object)[columns["x"]]
        columns["y"] = np.array(self.others or self.names, object)[columns["y"]]
        return build(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores as a heat map, related columns next to each other; needs matplotlib.

        Colours begin where scores exceed those of :attr:`unrelated` columns. Where there are
        p-values, pairs that are not significant (:attr:`qvalues` above 0.05) are grey.
        """
        from dpmic.plots import matrix

        return matrix(self, ax)

    def _rows(self, positions: Places) -> tuple[Row, ...]:
        """Return some pairs by name, with their scores."""
        x, y = (places.tolist() for places in self._pairing.places(positions))
        others = self.names if self.others is None else self.others
        scores = self.mic[positions].tolist()
        return tuple((self.names[i], others[j], s) for i, j, s in zip(x, y, scores, strict=True))

    @property
    def unrelated(self) -> Unrelated | None:
        """What unrelated columns of numbers score at this n; None where it is not known.

        The strongest of as many unrelated pairs scores no more than ``most``, with a probability
        of 95%. Where values are missing it is for the median number of complete records.
        """
        return self._unrelated(self.n if self.records is None else int(np.median(self.records)))

    def _unrelated(self, records: int) -> Unrelated | None:
        """Return the same for a pair with so many records."""
        if "B" not in self.parameters or self.parameters.get("master") == "paper":
            return None
        pairs, c = max(self._count, 1), self.parameters["c"]
        if self.records is not None:  # B follows each pair's own number of records
            return chance.unrelated(self.statistic, records, c=c, pairs=pairs)
        return chance.unrelated(self.statistic, records, B=self.parameters["B"], c=c, pairs=pairs)

    def _standing_out(self) -> int:
        """Return how many pairs score more than unrelated ones with as many records."""
        if self.records is None:
            known = self.unrelated
            return 0 if known is None else int(np.count_nonzero(self.mic > known.most))
        sizes, places = np.unique(self.records, return_inverse=True)
        known_of = map(self._unrelated, sizes.tolist())
        floors = np.array([math.inf if known is None else known.most for known in known_of])
        return int(np.count_nonzero(self.mic > floors[places]))

    def headline(self) -> str:
        """Return the leading pair in a sentence, and how many pairs stand out."""
        leading = self.top(1)
        if not leading:
            return "No pair could be scored."
        ((x, y, score),) = leading
        own = self.n if self.records is None else int(self.records[strongest(self.mic, 1)][0])
        sentence = Relation((x, y), score, unrelated=self._unrelated(own)).sentence
        if self._count == 1:
            return sentence
        if self.pvalues is not None:
            count = int(np.count_nonzero(self.qvalues <= 0.05))
            are = "is" if count == 1 else "are"
            return f"{sentence} {count:,} of {self._count:,} pairs {are} significant (q <= 0.05)."
        if self.unrelated is None:
            return sentence
        return f"{sentence} {standing_out(self._standing_out(), self._count, 'pairs')} of numbers."

    def facts(self) -> list[Fact]:
        """Return the strongest pairs."""
        return ranked(self._leading(), self._count)

    def provenance(self) -> dict[str, str]:
        """Return how it was computed."""
        columns = len(self.names) + len(self.others or ())
        made = {
            "statistic": self.statistic,
            "records (n)": f"{self.n:,}",
            "columns": f"{columns:,}",
            **flatten(self.parameters),
        }
        if self.permutations is not None:
            made["permutations"] = f"{self.permutations:,}"
        return made

    def _fixed(self) -> dict[str, str]:
        """Return what fixed the computation, but not what is long."""
        short = {k: v for k, v in self.parameters.items() if isinstance(v, int | float | str)}
        fixed = {k: f"{v:.6g}" if isinstance(v, float) else str(v) for k, v in short.items()}
        if self.permutations is not None:
            fixed["permutations"] = str(self.permutations)
        return {"n": str(self.n), **fixed}

    def _size(self) -> str:
        widths = [self.names] if self.others is None else [self.names, self.others]
        columns = " x ".join(f"{len(width):,}" for width in widths)
        return f"{plural(self._count, 'pair')} of {columns} columns"

    def _leading(self) -> list[tuple[str, str]]:
        """Return the strongest pairs with their numbers, as text."""
        positions = strongest(self.mic)
        numbers = [f"{score:.4f}" for score in self.mic[positions]]
        if self.pvalues is not None:
            chances = map(format_pvalue, self.pvalues[positions].tolist())
            numbers = [f"{s} ({p})" for s, p in zip(numbers, chances, strict=True)]
        rows = self._rows(positions)
        return [(f"{x}, {y}", number) for (x, y, _), number in zip(rows, numbers, strict=True)]

    def _summary(self) -> str:
        fixed = ", ".join(f"{name}={text}" for name, text in self._fixed().items())
        return f"{self.statistic}: {self._size()}, {fixed}"

    def _listing(self) -> Sequence[str]:
        return listed(self._leading(), self._count)

    def _html_facts(self) -> list[Fact]:
        return [*self.facts(), Fact("size", self._size()), Fact("n", f"{self.n:,}")]
