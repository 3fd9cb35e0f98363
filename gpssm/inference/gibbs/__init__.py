"""Particle Gibbs: draws from the posterior of states, function and hyper-parameters together."""

from gpssm.inference.gibbs._conditional_smc import conditional_smc
from gpssm.inference.gibbs._sweep import Chain, Gibbs, Told, pooled
from gpssm.inference.gibbs._target import HyperPrior, Target, Unknowns

__all__ = ["Chain", "Gibbs", "HyperPrior", "Target", "Told", "Unknowns", "conditional_smc", "pooled"]
