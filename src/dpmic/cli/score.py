"""``dpmic score``."""

from __future__ import annotations

import math
from typing import Any

from dpmic._progress import working
from dpmic.cli import _options as o
from dpmic.cli import answers, inputs
from dpmic.cli._output import Delivery
from dpmic.cli._shell import repeated
from dpmic.errors import ParameterError

EXAMPLE = "dpmic score survey.csv age income --report score.html"


def score(
    file: o.File,
    x: o.X,
    y: o.Y,
    statistic: o.Statistic = o.Statistic.mice,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    alpha: o.Alpha = 0.6,
    cells: o.Cells = None,
    c: o.C = 15,
    missing: o.MissingOption = o.Missing.raise_,
    *,
    out: Delivery,
) -> None:
    """Score how strongly two columns depend on each other. Not private."""
    from dpmic.statistics import family

    out.check(file, bounds_file)
    options: dict[str, Any] = {"alpha": alpha, "B": cells, "c": c, "missing": missing.value}
    if statistic is o.Statistic.micr:
        ends = inputs.bounds_of_pair(bounds, bounds_file, x, y)
        options["bounds"] = (ends[x], ends[y])
    elif bounds or bounds_file:
        raise ParameterError("--bounds", f"{statistic} uses none", "pass --statistic micr")
    counts = statistic is o.Statistic.micr and missing is o.Missing.raise_ and c < math.inf
    reader = inputs.counted if counts and out.report is None else inputs.read
    table = reader(file, [x, y])
    with working("scoring"):
        result = getattr(family, statistic)(x, y, data=table, **options)

    def page() -> str:
        from dpmic import report
        from dpmic.data import pair

        points = pair(x, y, data=table, missing=missing.value)
        return report.page(result, points=points, command=repeated())

    out.give(answers.score(result, x, y), page)
