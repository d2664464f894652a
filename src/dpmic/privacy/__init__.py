"""The trusted base: sensitivity, noise, mechanisms, ledger and audit."""

from dpmic.privacy.mechanisms import Mechanism, MICeLaplace, MICrLaplace

__all__ = ["MICeLaplace", "MICrLaplace", "Mechanism"]
