"""The public functions for tables: ``pairwise`` and ``cross``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpmic import _validate
from dpmic._format import plural
from dpmic._progress import counting
from dpmic._validate import Categories, Domain, Master
from dpmic.all_pairs._checkpoint import Checkpoint, begun_by, exists
from dpmic.all_pairs.devices import (
    CLOSE,
    Cpu,
    Device,
    Exact,
    Gpu,
    GpuError,
    Origin,
    Processor,
    in_place_of_gpu,
    processor,
)
from dpmic.all_pairs.significance import MASTER_FACTOR, MOST_CELLS, PermutationPlan
from dpmic.all_pairs.work import CountedSide, CountedWork, Side, Work
from dpmic.all_pairs.workers import as_scored
from dpmic.data import (
    LEAST_RECORDS,
    Missing,
    Source,
    bounded,
    find_all,
    position,
    read_variables,
    refuse_single,
    with_domains,
)
from dpmic.errors import InputError, ParameterError, safe_repr, with_code
from dpmic.results import Pairing, Pairwise
from dpmic.results.pairwise import Owned, strongest
from dpmic.statistics import sources
from dpmic.statistics.family import Method, Statistic, count_records, counted_grids
from dpmic.statistics.sources import Counting, Found

Arrays = dict[str, NDArray[Any]]
Domains = tuple[Domain | None, ...]
Path = str | os.PathLike[str]
QValues = Literal["bh", "storey"]


def pairwise(
    table: Any,
    *,
    statistic: Statistic = "mice",
    bounds: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float | None = None,
    master: Master = "reshef",
    tic: bool = False,
    pearson: bool = False,
    pvalues: bool = False,
    pooled: bool = False,
    permutations: int = 10_000,
    test_B: float = MOST_CELLS,
    test_c: float = MASTER_FACTOR,
    qvalues: QValues = "bh",
    rng: np.random.Generator | int | None = None,
    missing: Missing = "raise",
    target: str | None = None,
    workers: int | None = None,
    device: Device = "cpu",
    exact: Exact = False,
    out: Path | None = None,
) -> Pairwise:
    """Score the dependence of every pair of columns of a table.

    Which columns are related, and how strongly? This ranks every column once, spreads the pairs
    over the cores, and shows a progress bar if it takes longer than a second.

    Parameters
    ----------
    table : frame, ndarray, path, stream or CountTable
        A pandas, polars or pyarrow table, or an array with one row per record. Columns may be
        numbers, dates or nominal, as for :func:`mice`. With ``"micr"`` also data that are counted
        in one pass, as for :func:`micr`.
    statistic : {"mice", "micr", "mic"}
        The score: :func:`mice`, :func:`micr` or :func:`mic`.
    bounds : mapping or sequence, optional
        For ``"micr"``: ``{"age": (0, 120), ...}`` for the columns that take part, or one interval
        per column. For a nominal column list its categories instead.
    alpha : float
        The exponent in B = max(n ** alpha, 4), in (0, 1].
    B : float, optional
        The most cells a grid may have, at least 4; overrides ``alpha``.
    c : float, optional
        The master factor, at least 1, and 15 by default. A count table brings its own.
    master : {"reshef", "paper"}
        The rule for the master, as for :func:`mice`. ``"mic"`` has its own.
    tic : bool
        Also return the Total Information Coefficient. It needs every entry of each characteristic
        matrix, which takes longer than finding the largest.
    pearson : bool
        Also return Pearson's and Spearman's correlations, and ``result.nonlinearity``: MIC minus
        the square of Pearson's. Nominal columns have none.
    pvalues : bool
        Also test each pair for independence, as :func:`independence_test` does: TICe with B = 9
        and c = 5 against permutations. ``result.qvalues`` and ``result.significant()`` correct for
        the number of pairs.
    pooled : bool
        Share permutations among pairs with the same null distribution: those with the same number
        of records and the same ties, and so all pairs of columns without ties or gaps. Every
        p-value stays exact. This is much faster if many pairs share.
    permutations : int
        The number of permutations for each pair, or for each shared null.
    test_B : float
        B of the test: the most cells of its grids.
    test_c : float
        c of the test: its master factor.
    qvalues : {"bh", "storey"}
        The correction for many tests: Benjamini and Hochberg's, or Storey's, which also estimates
        how many pairs are independent and so finds more if few are.
    rng : numpy.random.Generator or int, optional
        Source of the permutations. With an integer, p-values do not depend on the workers. Without
        one, p-values already in ``out`` are kept.
    missing : {"raise", "drop"}
        Refuse missing values, or leave out, for each pair, the records with a missing value in
        either column. A pair with fewer than four records then scores NaN.
    target : str, optional
        Score only the pairs of this column with the others.
    workers : int, optional
        Threads of this process; by default one per core. If joblib's ``dask`` backend is active
        and no number is given, the workers of its cluster do the work; the scores are the same.
    device : {"cpu", "cuda", "auto"}
        The processor for complete columns of numbers: the CPU, a GPU
        (``pip install "dpmic[cuda]"``), or the GPU if there is one with room, else the CPU. A
        GPU's scores differ from the CPU's by a few millionths, and its pairs share permutations.
        Other pairs, and ``"mic"``, always use the CPU.
    exact : bool, int or "significant"
        Which scores of a GPU must be bit-identical to the CPU's. With a number k, the k strongest
        pairs are those of the CPU, with its scores; ``"significant"`` means all pairs with a
        q-value of at most 0.05, True all pairs. The CPU scores these again or, with True, searches
        the grid sizes that the GPU finds can be best.
    out : path, optional
        A ``.parquet`` file for the scores. Finished pairs are saved beside it during the work:
        repeat the call to resume after an interruption, or to read the finished scores.

    Returns
    -------
    Pairwise
        ``result.matrix`` is symmetric, with NaN on its diagonal; ``result.top(10)`` lists the
        strongest pairs.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, (500, 3))
    >>> x[:, 2] = x[:, 0] ** 2
    >>> scores = dpmic.pairwise(x)
    >>> scores.top(1)
    (('0', '2', 0.962...),)
    """
    method, threads = _method(statistic, alpha, B, c, master), _workers(workers)
    plan = _permutation_plan(pvalues, pooled, permutations, test_B, test_c, qvalues, rng)
    asked = _exact(exact, device, tic=tic, pvalues=pvalues)
    where = _device(device, asked, method, out)
    found = sources.find_all(table, public=True)
    if isinstance(found, Counting):
        if device == "cuda":
            raise _needs_records("device = 'cuda'")
        work = _counted(found, method, bounds, missing, _flag(tic, "tic"), plan)
        if _flag(pearson, "pearson"):
            raise _needs_records("pearson")
    else:
        source, domains = _bounded(found, method, bounds)
        refuse_single(source.names)
        side, pairing = _read(source, domains, missing), Pairing(len(source.names))
        extras = _flag(tic, "tic"), missing == "drop", plan, _flag(pearson, "pearson")
        work = Work(method, side, side, pairing, *extras, where, asked)
    if target is not None:
        work = work.with_target(position(target, work.left.names, "target ="))
    return _score(work, threads, out, rng, qvalues)


def cross(
    left: Any,
    right: Any,
    *,
    statistic: Statistic = "mice",
    bounds: Any = None,
    alpha: float = 0.6,
    B: float | None = None,
    c: float = 15,
    master: Master = "reshef",
    tic: bool = False,
    pearson: bool = False,
    pvalues: bool = False,
    pooled: bool = False,
    permutations: int = 10_000,
    test_B: float = MOST_CELLS,
    test_c: float = MASTER_FACTOR,
    qvalues: QValues = "bh",
    rng: np.random.Generator | int | None = None,
    missing: Missing = "raise",
    workers: int | None = None,
    device: Device = "cpu",
    exact: Exact = False,
    out: Path | None = None,
) -> Pairwise:
    """Score the dependence of every column of one table with every column of another.

    Parameters
    ----------
    left, right : frame, series or ndarray
        Two tables with the same records in the same order; a series is a table with one column.
    bounds : (left, right), optional
        For ``"micr"``: the bounds of both tables, each as for :func:`pairwise`.
    statistic, alpha, B, c, master, tic, pearson, pvalues, pooled, permutations, test_B, test_c
        As for :func:`pairwise`.
    qvalues, rng, missing, workers, device, exact, out
        As for :func:`pairwise`.

    Returns
    -------
    Pairwise
        ``result.matrix`` has one row per left column, and one column per right column.

    Examples
    --------
    >>> import numpy as np, dpmic
    >>> x = np.random.default_rng(7).uniform(-1, 1, (500, 3))
    >>> dpmic.cross(x, x[:, :1] ** 2).matrix.round(2)
    array([[0.96],
           [0.05],
           [0.05]])
    """
    method, threads = _method(statistic, alpha, B, c, master), _workers(workers)
    plan = _permutation_plan(pvalues, pooled, permutations, test_B, test_c, qvalues, rng)
    asked = _exact(exact, device, tic=tic, pvalues=pvalues)
    where = _device(device, asked, method, out)
    each = zip((left, right), _both(bounds), ("x", "y"), strict=True)
    found = [_bounded(find_all(table, name), method, own) for table, own, name in each]
    one, other = (_read(source, domains, missing) for source, domains in found)
    if one.n != other.n:
        raise InputError(
            f"the left table has {plural(one.n, 'row')} and the right one {other.n:,}",
            "each record must be a row of both",
            "pass tables with the same records",
        )
    pairing = Pairing(len(one.names), len(other.names))
    extras = _flag(tic, "tic"), missing == "drop", plan, _flag(pearson, "pearson")
    work = Work(method, one, other, pairing, *extras, where, asked)
    return _score(work, threads, out, rng, qvalues)


def _method(statistic: Any, alpha: Any, B: Any, c: Any, master: Any) -> Method:
    _validate.choice(statistic, "statistic", Statistic)
    if statistic == "mic" and master != "reshef":
        raise ParameterError(
            f"master = {safe_repr(master)}", "mic has its own master", "leave it out"
        )
    return Method(statistic, alpha, B, c, master)


def _exact(exact: Any, device: Any, *, tic: Any, pvalues: Any) -> Exact:
    """Return which scores of a GPU must be those of the CPU, or refuse the options."""
    if device == "cpu" and not (isinstance(exact, bool | np.bool_) and not exact):
        otherwise = with_code("leave it out, or pass `device='auto'`")
        raise ParameterError("exact", "the CPU is always exact", otherwise)
    if isinstance(exact, bool | np.bool_):
        if exact and tic:
            remedy = "pass a number of pairs, or leave one of them out"
            raise ParameterError("exact", "tic needs every entry of every pair", remedy)
        return bool(exact)
    if isinstance(exact, str) and exact == "significant":
        if pvalues:
            return "significant"
        remedy = with_code("pass `pvalues=True` too, or a number of pairs")
        raise ParameterError("exact = 'significant'", "it needs p-values", remedy)
    if isinstance(exact, int | np.integer) and exact >= 1:
        return int(exact)
    raise ParameterError(
        f"exact = {safe_repr(exact)}",
        "it is not True, a positive number or 'significant'",
        "pass True for all pairs, or the number of strongest pairs",
    )


def _device(device: Any, exact: Exact, method: Method, out: Path | None) -> Processor:
    """Return the device that scores, or refuse the options."""
    if method.statistic == "mic" and device == "cuda":
        remedy = with_code("pass `statistic='mice'`, or `device='cpu'`")
        raise ParameterError("device = 'cuda'", "mic runs on the CPU only", remedy)
    if method.statistic == "mic" and device == "auto":
        return Cpu()
    return processor(device, exact, idle=out is not None and exists(out))


def _workers(workers: int | None) -> int | None:
    return None if workers is None else _validate.integer(workers, "workers", least=1)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(
            f"{name} = {safe_repr(value)}", f"{name} is a switch", "pass True or False"
        )
    return bool(value)


def _permutation_plan(
    pvalues: Any,
    pooled: Any,
    permutations: Any,
    test_B: Any,
    test_c: Any,
    qvalues: Any,
    rng: Any,
) -> PermutationPlan | None:
    """Return the permutations that p-values need, if these are wanted."""
    together = _flag(pooled, "pooled")
    plan = PermutationPlan.of(permutations, rng, pooled=together, B=test_B, c=test_c)
    adjusted = _validate.choice(qvalues, "qvalues", QValues) != "bh"
    if _flag(pvalues, "pvalues"):
        return plan
    given = {"pooled": together, "rng": rng is not None, "qvalues": adjusted}
    given |= {"test_B": plan.B != MOST_CELLS, "test_c": plan.c != MASTER_FACTOR}
    for name in (name for name, is_given in given.items() if is_given):
        raise ParameterError(name, "only p-values need it", with_code("pass `pvalues=True` too"))
    return None


def _both(bounds: Any) -> tuple[Any, Any]:
    """Return the bounds of two tables."""
    if bounds is None:
        return None, None
    remedy = "pass ({'age': (0, 120), ...}, {'pay': (0, 5000), ...})"
    return _validate.two(bounds, "bounds", "each of the two tables needs bounds", remedy)


def _counted(
    found: Counting,
    method: Method,
    bounds: Any,
    missing: Missing,
    tic: bool,
    plan: PermutationPlan | None,
) -> Work:
    """Count the columns that take part, wherever they are."""
    if method.statistic != "micr":
        raise _needs_records(f"statistic = {method.statistic!r}")
    if plan is not None:
        raise _needs_records("pvalues")
    source, intervals = _bounded(found, method, found.bounds(bounds))
    refuse_single(source.names)
    table = count_records(source, intervals, counted_grids(source, method), missing)
    side = CountedSide(source.names, (), intervals, table)
    return CountedWork(method, side, side, Pairing(len(source.names)), tic)


def _needs_records(option: str) -> ParameterError:
    return ParameterError(
        option,
        "it needs all records at once, but these arrive in parts",
        with_code("pass `statistic='micr'` without p-values, or the records in memory"),
    )


def _bounded(source: Found, method: Method, bounds: Any) -> tuple[Any, Any]:
    """Return the columns that take part and, for MICr, their intervals."""
    if method.statistic == "micr":
        if bounds is None:
            raise ParameterError(
                "bounds",
                "micr draws its grids between bounds, from domain knowledge",
                with_code("pass {'age': (0, 120), ...}, or `statistic='mice'`, which needs none"),
            )
        return (bounded if isinstance(source, Counting) else with_domains)(source, bounds)
    if bounds is not None:
        raise ParameterError(
            "bounds",
            f"{method.statistic} needs none",
            with_code("leave them out, or pass `statistic='micr'`"),
        )
    return source, (None,) * len(source.names)


def _read(source: Source, domains: Domains, missing: Missing) -> Side:
    """Read the columns; missing values are refused, or left for each pair to drop."""
    _validate.choice(missing, "missing", Missing)
    if not domains:
        raise InputError(
            "0 columns", "a pair needs two columns", "pass bounds of at least one column"
        )
    columns = read_variables(source, domains, missing=missing)
    n = columns[0].values.size
    if n < LEAST_RECORDS:
        raise InputError(
            f"the table has {plural(n, 'row')}",
            f"a score needs at least {LEAST_RECORDS} records",
            "pass more data",
        )
    return Side(source.names, columns, domains)


def _parameters(work: Work, qvalues: QValues) -> dict[str, Any]:
    """Return the options that fix the computation; usual values of a test are left out."""
    limits, plan = work.limits, work.permutations
    parameters: dict[str, Any] = {"B": limits.B, "c": limits.c, "master": limits.master}
    if work.method.statistic == "micr":
        sides = (work.left,) if work.pairing.right is None else (work.left, work.right)
        parameters["bounds"] = [[_listed(own) for own in side.domains] for side in sides]
    if plan is not None and (plan.B, plan.c) != (MOST_CELLS, MASTER_FACTOR):
        parameters |= {"test_B": plan.B, "test_c": plan.c}
    if qvalues != "bh":
        parameters["qvalues"] = qvalues
    return parameters


def _score(
    work: Work, threads: int | None, out: Path | None, rng: object, qvalues: QValues
) -> Pairwise:
    """Do the work; on the CPU if a GPU that need not be used fails, or did before."""
    begun = None if out is None or not work.device.optional else begun_by(out)
    if begun == Origin() != _origin(work):
        device = in_place_of_gpu("the CPU has begun this file")
        return _saved(replace(work, device=device), threads, out, rng, qvalues)
    try:
        return _saved(work, threads, out, rng, qvalues)
    except GpuError as error:
        # A file that the GPU has begun is left for it: the CPU's numbers are a little different.
        if not work.device.optional or (out is not None and begun_by(out)):
            raise
        device = in_place_of_gpu(error.reason)
    return _saved(replace(work, device=device), threads, out, rng, qvalues)


def _saved(
    work: Work, threads: int | None, out: Path | None, rng: object, qvalues: QValues
) -> Pairwise:
    """Do the work, and save what is finished if a file is given."""
    pairs = work.pairing.count
    facts: dict[str, Any] = {
        "statistic": work.method.statistic,
        "names": work.left.names,
        "others": None if work.pairing.right is None else work.right.names,
        "n": work.left.n,
        "parameters": _parameters(work, qvalues),
        "permutations": None if work.permutations is None else work.permutations.permutations,
    }
    origin = _origin(work)
    with ExitStack() as stack:
        checkpoint = None
        found: dict[str, Any] = {}
        done = np.zeros(pairs, bool)
        if out is not None:
            identity = {**facts, **_identity(work, seeded=rng is not None)}
            checkpoint = stack.enter_context(Checkpoint.open(out, identity, pairs, origin))
            origin = checkpoint.origin
            _put(found, done, checkpoint.known(), pairs)
        with counting("pairs", pairs, int(done.sum())) as advance:
            for positions, columns in as_scored(work, done.copy(), threads):
                _put(found, done, {"position": positions, **columns}, pairs)
                if checkpoint is not None:
                    checkpoint.add(positions, columns)
                advance(positions.size)
        facts["parameters"] |= _shown(origin)
        arrays: dict[str, Any] = {name: Owned(values) for name, values in found.items()}
        result = Pairwise(**facts, pvalues=arrays.pop("pvalue", None), **arrays)
        if checkpoint is None or not checkpoint.finished:
            result = _with_exact_scores(work, result, threads)
        if checkpoint is not None:
            checkpoint.finish(result)
    return result


def _with_exact_scores(work: Work, result: Pairwise, threads: int | None) -> Pairwise:
    """Replace the scores of a GPU that must be exact by those of the CPU."""
    if isinstance(work.exact, bool) or not isinstance(work.device, Gpu) or not work.on_device:
        return result
    if work.exact == "significant":
        chosen = result.qvalues <= 0.05
    else:  # all that may be among the k strongest
        least = result.mic[strongest(result.mic, work.exact)].min(initial=np.inf)
        chosen = result.mic >= least - CLOSE
    names = ("mic", "tic") if work.total else ("mic",)
    scores = {name: getattr(result, name).copy() for name in names}
    with counting("exact scores", int(chosen.sum())) as advance:
        for positions, columns in as_scored(work.on_cpu, ~chosen, threads):
            for name, values in scores.items():
                values[positions] = columns[name]
            advance(positions.size)
    same = ("tic", "pearson", "spearman", "records", "pvalues")
    arrays = {name: getattr(result, name) for name in same} | scores
    owned: dict[str, Any] = {k: v if v is None else Owned(v) for k, v in arrays.items()}
    return replace(result, **owned)


def _listed(domain: Domain | None) -> list[Any]:
    """Return a domain in JSON types."""
    return list(domain.labels if isinstance(domain, Categories) else domain or ())


def _identity(work: Work, *, seeded: bool) -> dict[str, Any]:
    """Return what else the numbers in a file depend on; without a seed any draws are valid."""
    sides = (work.left,) if work.right is work.left else (work.left, work.right)
    plan = work.permutations
    return {
        "data": [side.digest() for side in sides],
        "seed": plan.seed if seeded and plan is not None else None,
        "tic": work.total,
        # With missing values, B depends on each pair's own records.
        "missing": "drop" if work.gaps else "raise",
        "alpha": float(work.method.alpha) if work.gaps and work.method.B is None else None,
        # Version 0.1 pooled pairs with different nulls, and wrote True.
        "pooled": "by null" if plan is not None and plan.pooled else False,
        # Files of earlier versions lack these.
        **({"pearson": True} if work.linear else {}),
    }


def _origin(work: Work) -> Origin:
    """Return which device makes the numbers, if another one may make others."""
    tested = work.permutations is not None
    if not isinstance(work.device, Gpu) or not work.on_device or (work.device.exact and not tested):
        return Origin()
    # The first p-values of a GPU were too small, and in files with "cuda" alone.
    return Origin("cuda, corrected p-values" if tested else "cuda", work.exact)


def _shown(origin: Origin) -> dict[str, Any]:
    """Return the origin as parameters of a result."""
    said = origin.of_file()
    return {**said, "device": "cuda"} if said else {}


def _put(found: Arrays, done: NDArray[np.bool_], columns: Mapping[str, Any], pairs: int) -> None:
    """Store the numbers of some pairs at their positions."""
    positions = columns["position"]
    done[positions] = True
    for name, values in columns.items():
        if name != "position":
            found.setdefault(name, np.empty(pairs, values.dtype))[positions] = values
