"""Every mechanism by its name."""

from __future__ import annotations

from dpmic.privacy.geometric import MICrGeometric
from dpmic.privacy.laplace import LaplaceMechanism, MICeLaplace, MICrLaplace
from dpmic.privacy.mechanism import Mechanism, Setting

__all__ = [
    "MECHANISMS",
    "LaplaceMechanism",
    "MICeLaplace",
    "MICrGeometric",
    "MICrLaplace",
    "Mechanism",
    "Setting",
]

MECHANISMS: dict[str, type[MICrLaplace] | type[MICeLaplace] | type[MICrGeometric]] = {
    kind.name: kind for kind in (MICrLaplace, MICeLaplace, MICrGeometric)
}
