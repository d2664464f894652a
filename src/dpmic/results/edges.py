"""Significant pairs as a network: a list of edges in CSV, or a graph in GML.

Gephi, Cytoscape, igraph and networkx read both.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpmic import _io
from dpmic.errors import ParameterError, safe_repr


@dataclass(frozen=True)
class Network:
    """Columns as nodes, and pairs of them as edges, each with a number for every field."""

    nodes: Sequence[str]
    fields: Sequence[str]
    edges: Sequence[tuple[str, str, Sequence[float]]]


def checked(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return where edges can be written: a file in a folder that is there."""
    try:
        target = Path(os.fsdecode(path))
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} = {safe_repr(path)}", "it is not a path", "pass 'edges.gml' or 'edges.csv'"
        ) from None
    if target.suffix.lower() not in WRITERS:
        reason = "its ending says how edges are written"
        raise ParameterError(f"{name} = {str(target)!r}", reason, "let it end in .gml or .csv")
    if target.is_dir() or not target.parent.is_dir():
        reason = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise ParameterError(f"{name} = {str(target)!r}", reason, "pass a file in a folder")
    return target


def write(path: Path, network: Network) -> None:
    """Write edges completely or not at all."""
    text = WRITERS[path.suffix.lower()](network)
    try:
        with _io.atomic_write(path) as file:
            file.write(text.encode())
    except OSError as error:
        reason = f"it cannot be written ({error.strerror or error})"
        raise ParameterError(f"path = {str(path)!r}", reason, "choose another folder") from None


def as_csv(network: Network) -> str:
    """Return a line for each edge, with its numbers.

    Examples
    --------
    >>> print(as_csv(Network("ab", ["mic"], [("a", "b", [0.5])])), end="")
    source,target,mic
    a,b,0.5
    """
    table = io.StringIO()
    lines = csv.writer(table, lineterminator="\n")
    lines.writerow(["source", "target", *network.fields])
    lines.writerows([x, y, *numbers] for x, y, numbers in network.edges)
    return table.getvalue()


def as_gml(network: Network) -> str:
    """Return a graph whose nodes are all columns; the weight of an edge is its MIC.

    Examples
    --------
    >>> print(as_gml(Network(["a", 'b "x"'], ["mic"], [("a", 'b "x"', [0.5])])), end="")
    graph [
      directed 0
      node [ id 0 label "a" ]
      node [ id 1 label "b &quot;x&quot;" ]
      edge [ source 0 target 1 weight 0.5 mic 0.5 ]
    ]
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(network.nodes))}

    def lines() -> Iterator[str]:
        yield "graph ["
        yield "  directed 0"
        for name, place in places.items():
            yield f'  node [ id {place} label "{_escaped(name)}" ]'
        for x, y, numbers in network.edges:
            own = dict(zip(network.fields, numbers, strict=True))
            given = {"weight": own["mic"], **own}
            written = " ".join(f"{key} {_number(value)}" for key, value in given.items())
            yield f"  edge [ source {places[x]} target {places[y]} {written} ]"
        yield "]"

    return "".join(f"{line}\n" for line in lines())


def _number(value: Any) -> str:
    """Return a number of GML, which has no NaN: what is not known is a text."""
    return '"NaN"' if value != value else repr(value)


def _escaped(name: str) -> str:
    """Return a text of GML: ASCII, with the rest as HTML has it."""
    plain = name.replace("&", "&amp;").replace('"', "&quot;")
    return "".join(letter if " " <= letter <= "~" else f"&#{ord(letter)};" for letter in plain)


WRITERS = {".csv": as_csv, ".gml": as_gml}
