"""Autocovariances as quadratic forms of a series."""

import itertools

import numpy as np


def quadratic_forms(scored, num_lags):
    """Symmetric matrices B_k with e' B_k e = sum over t of e[t] e[t+k] over scored pairs."""
    steps = len(scored)
    forms = np.zeros((num_lags, steps, steps))
    for k, t in itertools.product(range(1, num_lags + 1), range(steps)):
        if t + k < steps and scored[t] and scored[t + k]:
            forms[k - 1, t, t + k] = forms[k - 1, t + k, t] = 0.5
    return forms
