"""Tables that were tuned or simulated, with their origin: parameters, errors, scores."""

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def stored(name: str) -> dict[str, Any]:
    """Return the table in one of the JSON files of this package, with its ``provenance``.

    Examples
    --------
    >>> stored("errors")["provenance"]["command"]
    'dpmic reproduce errors --seed 0'
    """
    text = resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def provenance(name: str) -> dict[str, Any]:
    """Return the command, the seed and the iterations that made a table."""
    return dict(stored(name)["provenance"])
