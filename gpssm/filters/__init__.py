"""Filters: the state given the outputs so far, under a learnt model."""

from gpssm.filters._base import AbstractFilter, run_filter
from gpssm.filters._beliefs import beliefs
from gpssm.filters._gaussian import EKF, UKF, run_smoother
from gpssm.filters._particle import ParticleFilter

__all__ = ["EKF", "UKF", "AbstractFilter", "ParticleFilter", "beliefs", "run_filter", "run_smoother"]
