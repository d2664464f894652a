"""Tables of made-up numbers, in the shape that the evaluation writes; no measurement is in them."""

import numpy as np

from dpmic.evaluation.consistency import COMPARED, GEOMETRIC
from dpmic.evaluation.tables import CONTENDERS

SIZES = (25, 250, 1000, 5000)
EPSILONS = (1.0, 0.1)
# how far each contender is from MIC*, roughly as it will be: figures should look like real ones
WORTH = {
    "mice-lap": 5.0,
    "micr-lap": 2.0,
    "micr-geom": 1.8,
    "ours-capped": 0.8,
    "ours-capped-estimate": 0.7,
    "ours": 1.0,
    "ours-estimate": 0.9,
    "ours-mice": 2.4,
    "ours-mice-estimate": 2.0,
    "noisy-table": 2.2,
    "mice": 0.3,
    "micr": 0.5,
}
EXAMPLE = {
    "points": [(0.1, 0.2), (0.2, 0.9), (0.5, 0.6), (0.8, 0.1)],
    "mass_cuts": [0.35],
    "range_cuts": [0.5],
    "row_cuts": [0.5],
    "mass_counts": [[1, 1], [1, 1]],
    "range_counts": [[1, 1], [1, 1]],
}


def scale(key, n, epsilon):
    return WORTH.get(key, 0.0) * min(0.2, 4 / (epsilon * n) ** 0.7)


def wsum():
    return [
        {
            "mechanism": contender.key,
            "n": n,
            "epsilon": epsilon,
            "wsum": 0.25 if contender.key == "constant" else scale(contender.key, n, epsilon),
        }
        for contender in CONTENDERS
        for n in SIZES
        for epsilon in EPSILONS
    ]


def _spread(rng, key, n, epsilon):
    by = scale(key, n, epsilon)
    bias = float(rng.normal(0.2 * by, by / 3 + 0.01))
    variance = float(0.2 * by**2 * rng.exponential())
    return {"bias": bias, "variance": variance, "error": abs(bias) + variance**0.5}


def synthetic(rng, distributions=40):
    return [
        {
            "mechanism": contender.key,
            "n": n,
            "epsilon": epsilon,
            "distribution": f"F{i + 1:02}, R2 = 0.1",
            "mic_star": i / distributions,
            **_spread(rng, contender.key, n, epsilon),
        }
        for contender in CONTENDERS
        for n in SIZES
        for epsilon in EPSILONS
        for i in range(distributions)
    ]


def real(rng, pairs=60, epsilons=(1.0,)):
    sizes = {"Spellman23": 23, "Spellman4381": 4381, "Baseball": 337}
    mice = rng.beta(1.5, 3, size=pairs)
    mice[0] = 1.0
    return [
        {
            "collection": collection,
            "pair": f"pair {i}",
            "mechanism": key,
            "epsilon": epsilon,
            "mice": float(mice[i]),
            **_spread(rng, key, n, epsilon),
        }
        for collection, n in sizes.items()
        for key in WORTH
        for epsilon in epsilons
        for i in range(pairs)
    ]


def medians():
    errors = {"mice-lap": 0.4, "micr-lap": 0.097, "micr-geom": 0.069, "ours-capped": 0.034}
    return [
        {
            "collection": collection,
            "mechanism": key,
            "epsilon": epsilon,
            "bias": 0.02,
            "variance": 4e-4,
            "error": error,
            "printed_bias": None if key.startswith("ours") else 0.02,
            "printed_variance": None if key.startswith("ours") else 4e-4,
            "printed_error": 0.068 if key == "micr-geom" else None,
            "note": "",
        }
        for collection in ("Spellman23", "Baseball", "Spellman4381")
        for epsilon in EPSILONS
        for key, error in (errors | {"ours-capped-estimate": 0.031}).items()
    ]


def parameters_paper():
    return [
        {
            "mechanism": key,
            "n": n,
            "epsilon": epsilon,
            "c": 5,
            "B": 40,
            "wsum": 0.11,
            "printed_c": 5,
            "printed_B": 60,
            "printed_wsum": 0.12,
        }
        for key in ("micr-geom", "micr-lap")
        for n in SIZES
        for epsilon in EPSILONS
    ]


def parameters_tuned():
    return [
        {
            "mechanism": key,
            "n": n,
            "epsilon": epsilon,
            "B": int(n**0.5) + 4,
            "c": 15 if n * epsilon > 250 else 5,
            "lmax": int(n**0.3) + 2 if key == "mice-laplace" else None,
            "cap": None,
            "wsum_value": 0.05,
            "wsum_estimate": 0.04,
        }
        for key in ("micr-laplace", "mice-laplace")
        for n in SIZES
        for epsilon in (0.1, 0.3, 1.0, 3.0)
    ] + [
        {
            "mechanism": "capped-laplace",
            "n": n,
            "epsilon": epsilon,
            **dict.fromkeys(("B", "c", "lmax")),
            "cap": min(3.5 + n // 1000, 8),
            "wsum_value": 0.05,
            "wsum_estimate": 0.04,
        }
        for n in SIZES
        for epsilon in (0.01, 0.1, 0.3, 1.0, 3.0)
    ]


def loose():
    return [
        {
            "shape": shape,
            "n": 1000,
            "mechanism": key,
            "epsilon": epsilon,
            "wsum": 0.3 if key == "ours" else 0.04,
        }
        for shape in ("exp10", "Cauchy & <wide>")
        for key in ("micr-lap", "ours", "ours-any", "ours-wide")
        for epsilon in EPSILONS
    ]


def end_to_end():
    return [
        {
            "collection": collection,
            "n": n,
            "pairs": 36,
            "mechanism": key,
            "epsilon": epsilon,
            "median_error": 0.0123,
            "mean_error": 0.02,
        }
        for collection, n in (("Fair", 6366), ("Baseball", 337))
        for key in ("micr-lap", "ours", "ours-any", "ours-wide")
        for epsilon in EPSILONS
    ]


def scales():
    return [
        {"n": n, "mechanism": key, "epsilon": epsilon, "wsum": 0.02}
        for n in (250, 1000)
        for key in ("ours-capped", "ours-any")
        for epsilon in EPSILONS
    ]


def consistency():
    noise = {"micr": 0.0, "micr-lap eps=1": 1.0, "micr-lap eps=0.1": 10.0, GEOMETRIC: 2.0}
    noise["population"] = None
    rows = []
    for i, relationship in enumerate(["line", "parabola", "sine & <noise>", "$independent$"]):
        star = 1 - 0.3 * i
        for n in (100, 1000, 10_000, 100_000, 1_000_000):
            for statistic, level in noise.items():
                mean = star * (1 - n**-0.25) + 0.02 * (level is not None)
                by = 0 if level is None else 0.5 * n**-0.5 + level * 3 / n
                band = {"low": None, "high": None} if level is None else {}
                rows.append(
                    {
                        "relationship": relationship,
                        "n": n,
                        "statistic": statistic,
                        "B": n**0.4,
                        "mean": mean,
                        "low": mean - by,
                        "high": mean + by,
                        "mic_star": star,
                        "error": star - mean,
                        **band,
                    }
                )
    return rows


def error_rate():
    return [
        {
            "relationship": relationship,
            "compared": compared,
            "n": n,
            "measured": factor * n**slope,
            "fitted": factor * n**slope if n >= 1000 else None,
            "slope": slope,
            "exponent": proved.exponent,
            "theorem": proved.theorem,
        }
        for (compared, proved), slope in zip(COMPARED.items(), (-0.45, -0.6), strict=True)
        for relationship, factor in (("line", 1.0), ("$parabola$", 2.0))
        for n in (100, 10_000, 1_000_000)
    ]


def tables(seed=1):
    rng = np.random.default_rng(seed)
    return {
        "synthetic": synthetic(rng),
        "wsum": wsum(),
        "real": real(rng),
        "medians": medians(),
        "parameters_paper": parameters_paper(),
        "parameters_tuned": parameters_tuned(),
        "loose": loose(),
        "end_to_end": end_to_end(),
        "scales": scales(),
        "consistency": consistency(),
        "error_rate": error_rate(),
    }
