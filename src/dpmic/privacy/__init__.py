"""Differential privacy: queries, mechanisms, noise, sensitivity, ledger, plan and audit."""

from dpmic.privacy._geometric import MICrGeometric
from dpmic.privacy._laplace import CappedLaplace, MICeLaplace, MICrLaplace
from dpmic.privacy._mechanism import Mechanism

__all__ = ["CappedLaplace", "MICeLaplace", "MICrGeometric", "MICrLaplace", "Mechanism"]
