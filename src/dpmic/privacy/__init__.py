"""The trusted base: sensitivity, noise, mechanisms, ledger and audit."""

from dpmic.privacy.mechanisms import Mechanism, MICeLaplace, MICrGeometric, MICrLaplace

__all__ = ["MICeLaplace", "MICrGeometric", "MICrLaplace", "Mechanism"]
