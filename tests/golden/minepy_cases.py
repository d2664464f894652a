"""Write minepy_cases.json: what minepy 1.2.6 answers to small and odd data.

Run it where minepy 1.2.6 can be imported: ``python minepy_cases.py``. It is not imported by tests.
"""

import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
INF = math.inf
RAMP, WAVE = list(range(12)), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]

# What to score: x, y, and where they are not lists, their dtypes; then options of MINE.
ODD = [
    {"x": [5.0], "y": [2.0]},
    {"x": [1.0, 2.0], "y": [1.0, 2.0]},
    {"x": [1.0, 2.0], "y": [2.0, 1.0], "est": "mic_e"},
    {"x": [1.0, 1.0], "y": [1.0, 2.0]},
    {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]},
    {"x": [1.0, 2.0, 3.0], "y": [2.0, 1.0, 3.0], "est": "mic_e"},
    {"x": [1.0, 2.0, 2.0], "y": [1.0, 1.0, 2.0], "alpha": 1.0},
    {"x": [7.0] * 12, "y": WAVE},
    {"x": [True, 2, 0.5, False] * 3, "y": WAVE, "dtypes": ["object", None]},
    {"x": [True, False, True] * 4, "y": WAVE, "dtypes": ["object", "object"]},
    {"x": [True, False, True] * 4, "y": WAVE, "dtypes": ["bool", "uint8"]},
    {"x": ["1.5", "-2", "3e2"] * 4, "y": WAVE, "dtypes": ["str", "float32"]},
    {"x": RAMP, "y": WAVE, "dtypes": ["datetime64[D]", None]},
    {"x": WAVE, "y": RAMP, "dtypes": ["timedelta64[s]", "datetime64[ns]"]},
    {"x": [INF, 1, 2, -INF, 3, INF, 4, 5, -INF, 6, 7, 8], "y": WAVE},
    {"x": [INF, -INF] * 6, "y": [-INF, 0, 1, INF] * 3, "est": "mic_e"},
    {"x": [INF] * 12, "y": WAVE},
    {"x": RAMP, "y": WAVE, "alpha": INF},
    {"x": RAMP, "y": WAVE, "alpha": 50},
    {"x": RAMP, "y": WAVE, "alpha": 4.0},
    {"x": RAMP, "y": WAVE, "alpha": 1e-9},
    {"x": RAMP, "y": WAVE, "alpha": True},
    {"x": RAMP, "y": WAVE, "alpha": 9, "c": 1e8},
    {"x": RAMP, "y": WAVE, "alpha": 9, "c": 0.01},
    {"x": RAMP, "y": WAVE, "alpha": 9, "c": 0.5, "est": "mic_e"},
]


def random_cases(count):
    """Return cases with ties, few samples, odd dtypes and all kinds of options."""
    rng = np.random.default_rng(14)
    for _ in range(count):
        n = int(rng.integers(4, 26))
        x = rng.integers(0, rng.choice([2, 4, 9, 99]), n)
        y = x if rng.random() < 0.3 else rng.integers(0, rng.choice([2, 4, 9, 99]), n)
        y = np.where(rng.random(n) < 0.3, rng.integers(0, 9, n), y)
        yield {
            "x": x.tolist(),
            "y": y.tolist(),
            "dtypes": [str(rng.choice(["object", "int64", "float64"])), "float64"],
            "alpha": round(float(rng.choice([rng.uniform(0.2, 1), rng.uniform(4, 30)])), 3),
            "c": round(float(rng.choice([rng.uniform(0.1, 3), rng.uniform(3, 30)])), 3),
            "est": str(rng.choice(["mic_approx", "mic_e"])),
        }


def answer(case):
    """Return a case with what minepy computes of it."""
    import minepy

    x, y = case.get("dtypes", (None, None))
    data = [v if d is None else np.array(v, d) for v, d in ((case["x"], x), (case["y"], y))]
    mine = minepy.MINE(**{k: case[k] for k in ("alpha", "c", "est") if k in case})
    mine.compute_score(*data)
    numbers = {
        "mic": mine.mic(),
        "mas": mine.mas(),
        "mev": mine.mev(),
        "mcn": mine.mcn(),
        "mcn_general": mine.mcn_general(),
        "gmic": mine.gmic(),
        "tic": mine.tic(),
    }
    rounded = {name: round(value, 12) for name, value in numbers.items()}
    return case | rounded | {"matrix": [[round(v, 12) for v in row] for row in mine.get_score()]}


if __name__ == "__main__":
    lines = [json.dumps(answer(case)) for case in (*ODD, *random_cases(40))]
    (HERE / "minepy_cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
