"""Marginal inference as a method."""

from gpssm.methods._guess import AbstractGuess, Differences, SubspaceStates
from gpssm.methods.marginal._method import Marginal

__all__ = ["AbstractGuess", "Differences", "Marginal", "SubspaceStates"]
