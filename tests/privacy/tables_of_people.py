"""A sensitive table, and neighbours for attacks, that the tests of screens and matrices share."""

import dataclasses
import json
import logging
import pickle

import numpy as np
import pandas as pd
import pytest

RNG = np.random.default_rng(5)
PEOPLE = 600

AGE = RNG.random(PEOPLE)
FRAME = pd.DataFrame(
    {
        "age": AGE,
        "dose": (AGE + RNG.normal(0, 0.15, PEOPLE)).clip(0, 1),
        "pulse": (2 * AGE - 1) ** 2,
        "height": RNG.random(PEOPLE),
        "ward": np.full(PEOPLE, 0.5),  # constant
        "who": np.repeat(np.arange(PEOPLE // 4), 4),
        "note": "text",
    }
)
COLUMNS = ("age", "dose", "pulse", "height", "ward")
BOUNDS = dict.fromkeys(COLUMNS, (0, 1))
MICR = {"mechanism": "micr-laplace", "axes": "linear"}
"""What scores pairs in attacks that are the worst for MICr."""


def corner(n, width):
    """All records in one corner, then one of them opposite: all scores rise by Delta."""
    first = np.zeros((n, width))
    second = first.copy()
    second[0] = 1
    return first, second


def against(n, others):
    """Neighbours with one pair that loses Delta while all the others gain it.

    Column 0 is the target. Only the first record differs from the corner. It shares the far end
    of column 0 with column 1 in the first table, with all others in the second.
    """
    first, second = np.zeros((n, 2 + others)), np.zeros((n, 2 + others))
    first[0, :2] = 1
    second[0] = 1
    second[0, 1] = 0
    return first, second


def assert_nothing_exact(published, ledger, scores, caplog):
    """No output of a release holds one of these scores, to 10 digits or as bytes."""
    pytest.importorskip("matplotlib").use("agg")
    scores = [score for score in scores if 0.001 < score < 0.999]
    assert scores
    needles = [text for score in scores for text in (f"{score:.10f}"[1:], repr(score))]
    ax = published.plot()
    drawn = repr([line.get_data() for line in ax.lines]) + repr([t.get_text() for t in ax.texts])
    drawn += repr([patch.get_width() for patch in ax.patches]) + ax.get_title(loc="left")
    drawn += repr([image.get_array().tolist() for image in ax.images])
    outputs = [
        repr(published),
        published.to_json(),
        published.guarantee,
        published._repr_html_(),
        str(published.interval()),
        str(published.to_frame("pyarrow").to_pydict()),
        drawn,
        caplog.text,
        repr(ledger),
        str(ledger.history()),
        repr(vars(published)),
    ]
    for output in outputs:
        assert not any(needle in output for needle in needles)
    for binary in (pickle.dumps(published), ledger.path.read_bytes()):
        for score in scores:
            assert np.float64(score).tobytes() not in binary
            assert np.float64(score).tobytes()[::-1] not in binary
        assert not any(needle.encode() in binary for needle in needles)


def recorded(monkeypatch, caplog):
    """Record the exact scores that a release computes."""
    from dpmic.privacy._pairs import TableQuery

    caplog.set_level(logging.DEBUG)
    seen, real = [], TableQuery.compute
    monkeypatch.setattr(TableQuery, "compute", lambda *a: seen.extend(real(*a)) or list(seen))
    return seen


def assert_round_trips(published):
    kind = type(published)
    assert kind.from_json(published.to_json()) == published
    assert kind.from_dict(json.loads(json.dumps(published.to_dict()))) == published
    again = pickle.loads(pickle.dumps(published))
    assert again == published
    assert hash(again) == hash(published)


def weaker(added, share):
    """Return noise of several scores with a share of its scale, and the epsilon that it had."""
    if added.kind == "cube":
        return dataclasses.replace(added, steps=int(added.steps * share))
    return dataclasses.replace(added, scale=added.scale * share)
