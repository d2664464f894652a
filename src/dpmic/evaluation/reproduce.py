"""One command that measures what is missing, writes tables, draws figures, and makes the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpmic import __version__
from dpmic.errors import DpmicError, InputError
from dpmic.evaluation import (
    collections,
    consistency,
    expected,
    figures,
    grid_figure,
    intervals,
    loose,
    page,
    parameters,
    printed,
    real,
    synthetic,
    tables,
)
from dpmic.evaluation.jobs import Run
from dpmic.evaluation.parameters import Effort
from dpmic.evaluation.plans import plan
from dpmic.evaluation.printed import quoted
from dpmic.evaluation.relationships import R_SQUARED, NoisyFunction, family
from dpmic.evaluation.simulation import published_grids
from dpmic.evaluation.tables import ORDER, Table, named
from dpmic.evaluation.unseen import SIGMA, unseen
from dpmic.parameters import provenance

Part = Literal["synthetic", "real", "loose", "parameters", "errors", "intervals"]
PARTS: tuple[Part, ...] = ("parameters", "synthetic", "real", "loose", "errors", "intervals")
ENDS = (0.02, 0.97, 0.997)
"""For intervals, also functions hidden by noise, and functions with almost no noise."""


@dataclass(frozen=True)
class Scope:
    """How much is measured: everything in the paper, or a part of it in two minutes."""

    r_squared: tuple[float, ...]
    n: tuple[int, ...]
    iterations: int
    real_iterations: int
    every: dict[str, int]
    loose_n: int
    loose_iterations: int
    loose_every: dict[str, int]
    scales_iterations: dict[int, int]
    tuned_n: tuple[int, ...]
    cells: tuple[float, ...]
    fineness: tuple[float, ...]
    tuned_iterations: dict[int, int]
    error_iterations: dict[int, int]
    interval_iterations: dict[int, int]
    unseen_sigma: tuple[float, ...]


FULL = Scope(
    r_squared=R_SQUARED,
    n=(25, 250, 500, 1000, 5000, 10000),
    iterations=50,
    real_iterations=100,
    every={"Spellman23": 1, "Spellman4381": 1, "Baseball": 1},
    loose_n=1000,
    loose_iterations=1,
    loose_every={"distributions": 1, "Fair": 1, "Baseball": 24, "Spellman4381": 2},
    scales_iterations={250: 6, 1000: 4, 5000: 2, 20000: 2},
    tuned_n=(25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 50000),
    cells=(4, 6, 8, 10, 12, 20, 30, 40, 60, 80, 100, 125, 150, 200, 250, 300, 400),
    fineness=(2, 5, 10, 15),
    tuned_iterations={
        **{25: 10, 50: 10, 100: 8, 250: 6, 500: 5},
        **{1000: 4, 2500: 3, 5000: 3, 10000: 3, 50000: 2},
    },
    error_iterations={
        **{25: 20, 50: 20, 100: 20, 250: 10, 500: 10},
        # beyond the last n of the tuned table, where the calibration ends
        **{1000: 6, 2500: 5, 5000: 5, 10000: 4, 25000: 4, 50001: 3},
    },
    interval_iterations={
        **{25: 15, 50: 15, 100: 15, 250: 9, 500: 9},
        **{1000: 6, 2500: 6, 5000: 4, 10000: 4, 50000: 3},
    },
    unseen_sigma=SIGMA,
)
QUICK = Scope(
    r_squared=(0.3, 0.6, 0.9),
    n=(25, 250, 1000, 5000),
    iterations=4,
    real_iterations=20,
    every={"Spellman23": 64, "Spellman4381": 16, "Baseball": 96},
    loose_n=250,
    loose_iterations=1,
    loose_every={"distributions": 21, "Fair": 12, "Baseball": 768, "Spellman4381": 128},
    scales_iterations={250: 1, 1000: 1},
    tuned_n=(25, 250, 1000),
    cells=(4, 6, 8, 10, 12, 20, 40, 60, 80, 100, 125, 150),
    fineness=(5, 15),
    tuned_iterations={25: 1, 250: 1, 1000: 1},
    error_iterations={25: 2, 250: 2, 1000: 2},
    interval_iterations={25: 2, 250: 2, 1000: 2},
    unseen_sigma=(0.03, 0.2),
)
TUNED_EPSILONS = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Reproduction:
    """A folder with its tables, figures and page, and which of them to measure."""

    folder: Path
    run: Run
    quick: bool
    say: Callable[[str], None]

    @property
    def scope(self) -> Scope:
        """How much is measured."""
        return QUICK if self.quick else FULL

    def measure(self, part: Part) -> None:
        """Measure one part and write its tables."""
        measured = getattr(self, f"_{part}")()
        for name, rows in measured.items():
            tables.write(self.folder / "tables" / f"{name}.csv", [_stated(row) for row in rows])
        if measured:
            self._remember(part)

    def _distributions(self) -> tuple[NoisyFunction, ...]:
        return family(self.scope.r_squared)

    def _synthetic(self) -> dict[str, Table]:
        scope = self.scope
        rows, sums = synthetic.measure(
            self.run, self._distributions(), scope.n, printed.EPSILONS, scope.iterations
        )
        converging, rate = consistency.measure(self.run, self.quick)
        return {"synthetic": rows, "wsum": sums, "consistency": converging, "error_rate": rate}

    def _real(self) -> dict[str, Table]:
        """Measure every collection; without the data, say so and go on."""
        try:
            loaded = [load() for load in collections.COLLECTIONS.values()]
        except InputError as error:
            self.say(f"skipping the real data: {error}")
            return {}
        rows: Table = []
        for collection in loaded:
            every, runs = self.scope.every[collection.name], self.scope.real_iterations
            groups = plan(collection.n, printed.EPSILONS)
            rows += real.measure(self.run, collection, groups, runs, every=every)
        return {"real": rows, "medians": real.medians(rows)}

    def _loose(self) -> dict[str, Table]:
        """Measure the cost of bounds wider than the data, on synthetic and on real data."""
        scope, every = self.scope, self.scope.loose_every
        few = self._distributions()[:: every["distributions"]]
        found = {
            "loose": loose.synthetic(
                self.run, few, scope.loose_n, printed.EPSILONS, scope.loose_iterations
            ),
            "scales": loose.scales(self.run, few, scope.scales_iterations),
        }
        try:
            parts = list(loose.end_to_end(self.run, printed.EPSILONS, scope.real_iterations, every))
        except DpmicError as error:
            self.say(f"skipping the real data: {error}")
            return found
        return {**found, "end_to_end": loose.summary([row for rows in parts for row in rows])}

    def _parameters(self) -> dict[str, Table]:
        scope = self.scope
        effort = Effort(
            distributions=self._distributions(),
            n=scope.tuned_n,
            epsilon=TUNED_EPSILONS,
            cells=scope.cells,
            fineness=scope.fineness,
            iterations=scope.tuned_iterations,
        )
        ours = parameters.tuned(self.run, effort)
        stored = {
            "provenance": self._made("parameters", effort.iterations, effort.distributions),
            "n": list(scope.tuned_n),
            "epsilon": list(TUNED_EPSILONS),
            "rows": ours,
        }
        tables.replace(self.folder / "tuned.json", _lines(stored))
        laplace = ("capped-laplace", "micr-laplace", "mice-laplace")
        shown = [row for row in ours if row["mechanism"] in laplace]
        return {
            "parameters_paper": parameters.published(self.run, effort),
            "parameters_tuned": shown,
        }

    def _errors(self) -> dict[str, Table]:
        """Measure the errors of default releases, with the parameters of the package."""
        iterations = self.scope.error_iterations
        sampling = expected.Sampling(self._distributions(), expected.EPSILONS, iterations)
        rows = expected.measure(self.run, sampling)
        stored = {
            "provenance": self._made(
                "errors",
                iterations,
                sampling.distributions,
                capped_iterations=_halved(iterations),
                largest_relative_standard_error=expected.largest_standard_error(rows),
                parameters=provenance("tuned")["command"],
            ),
            "level": expected.LEVEL,
            "constant": expected.constant(self.run, sampling.distributions),
            "rows": rows,
        }
        tables.replace(self.folder / "errors.json", _lines(stored))
        return {"errors": rows}

    def _intervals(self) -> dict[str, Table]:
        """Measure default scores for each MIC*, and the coverage of intervals."""
        iterations = self.scope.interval_iterations
        strengths = tuple(sorted((*self.scope.r_squared, *ENDS)))
        sampling = intervals.Sampling(
            family(strengths), unseen(self.scope.unseen_sigma), iterations
        )
        rows, coverage = intervals.measure(self.run, sampling)
        stored = {
            "provenance": self._made(
                "intervals",
                iterations,
                sampling.fitted,
                capped_iterations=_halved(iterations),
                unseen=len(sampling.unseen),
                parameters=provenance("tuned")["command"],
            ),
            "rows": rows,
        }
        tables.replace(self.folder / "scores.json", _lines(stored))
        return {"intervals": coverage}

    def _made(
        self,
        part: Part,
        iterations: Mapping[int, int],
        distributions: Sequence[NoisyFunction],
        **more: Any,
    ) -> dict[str, Any]:
        """Return the origin of a file of numbers."""
        return {
            "command": self._command(part),
            "seed": self.run.seed,
            "iterations": {str(n): count for n, count in iterations.items()},
            "distributions": len(distributions),
            **more,
            "version": __version__,
        }

    def _command(self, part: str) -> str:
        quick = " --quick" if self.quick else ""
        return f"dpmic reproduce {part}{quick} --seed {self.run.seed}"

    def _remember(self, part: Part) -> None:
        """Record, beside the tables, what made them."""
        known = self._provenance()
        scope = self.scope
        iterations = {
            "synthetic": f"{scope.iterations} samples of each distribution",
            "real": f"{scope.real_iterations} runs on each pair",
            "loose": f"{scope.loose_iterations} samples of each distribution, with {loose.RUNS} "
            f"draws of noise; {scope.real_iterations} runs on each pair; {scope.scales_iterations} "
            "samples for the scales of axes",
            "parameters": f"{scope.tuned_iterations} samples of each distribution by n",
            "errors": f"{scope.error_iterations} samples of each distribution by n",
            "intervals": f"{scope.interval_iterations} samples of each distribution by n",
        }[part]
        known[part] = f"{self._command(part)} (dpmic {__version__}; {iterations})"
        text = json.dumps(known, indent=1, sort_keys=True)
        tables.replace(self.folder / "tables" / "provenance.json", text)

    def _provenance(self) -> dict[str, str]:
        path = self.folder / "tables" / "provenance.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}

    def present(self) -> Path | None:
        """Draw the figures and make the page from all tables in the folder, if there are any."""
        if not (self.folder / "tables").exists():
            return None
        read = {path.stem: tables.read(path) for path in (self.folder / "tables").glob("*.csv")}
        known = self._provenance()
        known["our parameters"] = str(provenance("tuned")["command"])
        asked = quoted(read.get("synthetic", []), read.get("real", []))
        if asked:
            read["quoted"] = asked = [_stated(row) for row in asked]
            tables.write(self.folder / "tables" / "quoted.csv", asked)
        made = self.folder / "index.html"
        tables.replace(made, page.page(read, self.draw(read), known))
        return made

    def draw(self, read: dict[str, Table]) -> dict[str, str]:
        """Draw and save every figure of these tables; return them as sources of images."""
        images = {}
        for name, figure in figures.drawn(read, grid_figure.grid_figure()):
            figures.save(figure, self.folder / "figures", name)
            images[name] = page.inlined(self.folder / "figures", name)
        return images


def reproduce(
    parts: tuple[Part, ...],
    folder: Path,
    *,
    quick: bool = False,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[str, int, int], None] = lambda stage, done, total: None,
    say: Callable[[str], None] = print,
) -> Path | None:
    """Reproduce parts of the paper's evaluation and return the page.

    Results of finished tasks are kept in ``folder / "cache"``: repeat the call to resume after an
    interruption. The same seed gives the same numbers, whatever the number of workers.
    """
    run = Run(folder / "cache", seed, workers, tell)
    reproduction = Reproduction(folder, run, quick, say)
    try:
        reproduction.draw({})  # fail early: can a figure be drawn and saved?
    except OSError as error:
        reason = f"it cannot be written to ({error.strerror})"
        raise InputError(f"output {folder}", reason, "pass another folder") from None
    for part in parts:
        reproduction.measure(part)
    return reproduction.present()


def _stated(row: dict[str, Any]) -> dict[str, Any]:
    """Add what a contender's epsilon guarantees: the file may be read without the page."""
    if row.get("mechanism") not in ORDER:
        return row
    contender = named(row["mechanism"])
    text = contender.guarantee
    if contender.broken:
        B = row.get("B") or printed.interpolated(contender.key, row["n"], row["epsilon"])[1]
        text = text.replace("G x", f"{published_grids(B)} x")
    return {**row, "guarantee": text}


def _halved(iterations: Mapping[int, int]) -> dict[str, int]:
    """Return the number of samples of each distribution for capped scores."""
    return {str(n): expected.halved(count) for n, count in iterations.items()}


def _lines(stored: dict[str, Any]) -> str:
    """Write JSON with one line per entry of a table, so that changes are easy to read."""
    head = {name: value for name, value in stored.items() if name != "rows"}
    rows = ",\n  ".join(json.dumps(row) for row in stored["rows"])
    return f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n  {rows}\n ]\n}}\n'
