"""What follows from a published value and its noise: post-processing, at no cost of privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmic import _validate
from dpmic.errors import ParameterError
from dpmic.parameters import chance, interval, tuned
from dpmic.parameters.value_noise import ValueNoise

if TYPE_CHECKING:
    from dpmic.results.release import HistogramRelease, Release
    from dpmic.results.screening import ScoredPairs

NOISE_COVERS = "95%; covers the privacy noise, not sampling error"
"""What every display says of the interval of a value."""

ESTIMATE_COVERS = (
    "95%; covers the privacy noise and sampling error where records fill most of their bounds"
)
"""What every display says of the interval of an estimate."""

NAMED_BEFOREHAND = "Each holds for a pair named beforehand, not for one selected for its strength."
"""What displays say of the intervals of several estimates."""

MOST_CATEGORIES = 10
"""Up to so many categories at most 3% of unrelated pairs exceeded what 5% of numbers exceed, for
n = 250 to 5,000; with 20 it was up to 28%."""

NEARLY = 1e-5
"""How far an epsilon that is read off a result may be from the one that chose its grids."""


def level_of(level: object) -> float:
    """Check the level of an interval."""
    share = _validate.real(level, "level")
    if not 0 < share < 1:
        raise ParameterError(f"level = {level!r}", "it is a probability", "pass 0.95")
    return share


def noise_interval(value: float, half: float) -> tuple[float, float]:
    """Return an interval around a value in [0, 1]."""
    return max(value - half, 0.0), min(value + half, 1.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """How scores are distributed for each MIC*, and the noise that a value has besides."""

    scores: interval.Scores
    noise: ValueNoise

    @classmethod
    def of_noise(cls, result: Release | ScoredPairs, mechanism: str, noise: ValueNoise) -> Evidence:
        """Return that of scores with noise.

        Their grids suit the epsilon for which one score would have that noise. Beyond the table
        of grids its end holds, so scores are known at every epsilon.
        """
        epsilon = result.sensitivity / noise.mean / result.rows_per_person
        _refuse_few(mechanism, result.n)
        known = [_default_grids(mechanism, result.n, near) for near in _around(epsilon)]
        _refuse_other_grids(result.parameters, known)
        return cls(interval.lookup(mechanism, result.n, epsilon), noise)

    @classmethod
    def of_counts(cls, result: HistogramRelease) -> Evidence:
        """Return that of a noisy histogram, whose value has its noise already."""
        epsilon = result.epsilon / result.rows_per_person
        _refuse_few(result.mechanism, result.n)
        least, most = interval.simulated(result.mechanism)[1]
        if not least * (1 - NEARLY) <= epsilon <= most * (1 + NEARLY):
            raise ParameterError(
                f"epsilon = {epsilon:.6g} for one row",
                f"noisy histograms were simulated for {least:g} to {most:g}",
                "release with such an epsilon, or use mechanism='auto'",
            )
        _refuse_other_grids(
            result.parameters,
            [
                {"m": near.m, "B": near.B}
                for near in (tuned.lookup_histogram(result.n, e) for e in _around(epsilon))
            ],
        )
        return cls(interval.lookup(result.mechanism, result.n, epsilon), ValueNoise("none", 0.0))

    def interval(self, value: float, estimate: float, level: float) -> tuple[float, float]:
        """Return what MIC* may be; the estimate, which minimises an error, is always in it."""
        share = level_of(level)
        low, high = self.scores.interval(value, self.noise, share)
        return min(low, estimate), max(high, estimate)


def margin(noise: ValueNoise, granularity: float, values: int) -> float:
    """Return what the noise of none of so many values exceeds, with a probability of 95%."""
    # Bonferroni: it holds however the values' noises depend on each other.
    return noise.half_width(1 - 0.05 / values) + 2 * granularity


def unrelated(
    result: Release | ScoredPairs, mechanism: str, noise: ValueNoise, pairs: int = 1
) -> chance.Unrelated | None:
    """Return what unrelated columns score before noise, where grids are the default ones.

    Columns of few different numbers, and of up to ten categories, score less. If values may be
    missing, the promised number of complete records counts. Nothing is known where unrelated
    columns can score more: a person has several rows, which repeat each other; missing values are
    filled in, in the same records of both columns; or a column has many categories.
    """
    parameters = result.parameters
    filled = parameters.get("missing", "drop") != "drop"
    if result.rows_per_person > 1 or filled or most_categories(parameters) > MOST_CATEGORIES:
        return None
    epsilon = result.sensitivity / noise.mean
    n = int(parameters.get("promised", result.n))
    scales = ("any", "linear") if mechanism == "capped-laplace" else ("linear",)
    simulated = interval.is_simulated(mechanism, n) and parameters.get("axes", "linear") in scales
    if not simulated:
        return None
    known = [_default_grids(mechanism, n, near) for near in _around(epsilon)]
    for name, own in parameters.items():
        if name in known[0] and name != "axes" and own not in [near[name] for near in known]:
            return None
    return chance.before_noise(mechanism, n, epsilon, pairs=pairs)


def most_categories(parameters: Mapping[str, Any]) -> int:
    """Return the most categories of a nominal column; 0 if there is none."""
    lists = [parameters.get(f"{axis} categories", ()) for axis in ("x", "y")]
    lists += parameters.get("categories", {}).values()
    return max(map(len, lists))


def _default_grids(mechanism: str, n: int, epsilon: float) -> dict[str, Any]:
    """Return the parameters whose scores were measured."""
    if mechanism == "capped-laplace":
        return {"cap": tuned.lookup_capped(n, epsilon).cap, "axes": "any"}
    near = tuned.lookup(mechanism, n, epsilon)
    own = {"B": near.B, "c": near.c, "lmax": near.lmax, "master": "reshef"}
    return own | {"axes": "linear"}


def _around(epsilon: float) -> tuple[float, ...]:
    """Return what may have been asked for: sizes of grids jump at the entries of their table."""
    return float(f"{epsilon:.5g}"), epsilon, epsilon * (1 - NEARLY), epsilon * (1 + NEARLY)


def _refuse_few(mechanism: str, n: int) -> None:
    """Refuse fewer records than were simulated; more of them only narrow what is known."""
    least = interval.simulated(mechanism)[0][0]
    if n < least:
        raise ParameterError(
            f"n = {n}",
            f"intervals for MIC* were measured from n = {least:g} on",
            "release more records",
        )


def _refuse_other_grids(parameters: Mapping[str, Any], known: list[dict[str, Any]]) -> None:
    """Refuse grids other than the default ones: how their scores relate to MIC* is not known."""
    for name in parameters:
        if name in ("missing", "promised") or name.endswith("categories"):
            raise ParameterError(
                name,
                "how scores relate to MIC* was measured for complete columns of numbers alone",
                "use interval(), which is about the noise alone",
            )
    for name, default in known[0].items():
        if name in parameters and parameters[name] not in [near[name] for near in known]:
            usual = f"{default:g}" if isinstance(default, float) else default
            raise ParameterError(
                f"{name} = {parameters[name]!r}",
                f"how scores relate to MIC* was measured for {name} = {usual} alone",
                "release with that, or use interval(), which is about the noise alone",
            )


@dataclass(frozen=True, slots=True)
class KnownEstimates:
    """The estimates of a result as displays show them, or why there is nothing to show.

    ``rows`` have the estimate and the ends of its interval, for each pair.
    """

    rows: tuple[tuple[float | None, float | None, float | None], ...]
    note: str


def known_estimates(
    guesses: Sequence[float], ends: Callable[[], Sequence[tuple[float, float]]]
) -> KnownEstimates:
    """Return estimates with their intervals; after a release no display may fail."""
    try:
        known = ends()
    except ParameterError as refused:
        return KnownEstimates(((None, None, None),) * len(guesses), f"not known: {refused.reason}")
    rows = zip(guesses, known, strict=True)
    return KnownEstimates(tuple((guess, low, high) for guess, (low, high) in rows), ESTIMATE_COVERS)
