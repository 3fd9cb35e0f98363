"""What the search for the most likely linear system maximises, as a function of a flat vector."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.methods.linear._free_run import free_run_and_score
from gpssm.methods.linear._score import Score, evidence_and_score
from gpssm.predict._kalman import LinearSystem, Records

SQUARINGS = 10
"""Growth is judged by the norm of A to the power 2 to the power of this."""
GROWTH = 0.003
"""How far log |A^k| / k may lie above the logarithm of the allowed radius without cost: room for repeated poles."""
STEEPNESS = 1e4
NOISE_FLOOR = 1e-8
"""Noise variances (scaled units) cost this divided by themselves, so that noise-free data have a best model."""

Flat = Float[np.ndarray, " K"]


@dataclass(frozen=True)
class Shapes:
    """How a system with x[0] ~ N(0, I) and diagonal noises is one vector: noises as logarithms."""

    order: int
    inputs: int
    outputs: int

    def flat(self, system: LinearSystem) -> Flat:
        """The system as a vector."""
        noises = np.log(np.diagonal(system.Q)), np.log(system.R)
        return np.concatenate([part.ravel() for part in (system.A, system.B, system.c, system.C, system.b, *noises)])

    def system(self, flat: Flat) -> LinearSystem:
        """The system that a vector stands for."""
        order, inputs, outputs = self.order, self.inputs, self.outputs
        sizes = [order * order, order * inputs, order, outputs * order, outputs, order]
        A, B, c, C, b, log_q, log_r = np.split(flat, np.cumsum(sizes))
        return LinearSystem(
            A=A.reshape(order, order),
            B=B.reshape(order, inputs),
            c=c,
            C=C.reshape(outputs, order),
            b=b,
            Q=np.diag(np.exp(log_q)),
            R=np.exp(log_r),
            m0=np.zeros(order),
            P0=np.eye(order),
        )

    def slope(self, system: LinearSystem, score: Score) -> Flat:
        """Derivatives by the vector."""
        by_logs = score._replace(Q=score.Q * np.diagonal(system.Q), R=score.R * system.R)
        return np.concatenate([part.ravel() for part in by_logs])


@dataclass(frozen=True)
class Objective:
    """Log-evidence, of which a share may be that of free runs, less the costs of growth and of vanishing noise."""

    groups: list[Records]
    max_radius: float
    share: float = 0.0

    def __call__(self, system: LinearSystem) -> tuple[float, Score]:
        """Value and derivatives."""
        value, score = evidence_and_score(system, self.groups)
        if self.share > 0.0:
            free, by_free = free_run_and_score(system, self.groups)
            value = (1.0 - self.share) * value + self.share * free
            score = Score(*((1.0 - self.share) * part for part in score)).plus(by_free, self.share)
        cost, by_cost = self.costs(system)
        return value - cost, score.plus(by_cost, -1.0)

    def costs(self, system: LinearSystem) -> tuple[float, Score]:
        """Of growth and of vanishing noise."""
        q, r, steps = np.diagonal(system.Q), system.R, max(len(records.y) for records in self.groups)
        found = growth(system.A)
        excess = max(found.rate - np.log(self.max_radius) - GROWTH, 0.0)
        value = steps * STEEPNESS * excess**2 + float((NOISE_FLOOR / q).sum() + (NOISE_FLOOR / r).sum())
        return value, Score(
            A=2.0 * steps * STEEPNESS * excess * found.slope,
            B=np.zeros_like(system.B),
            c=np.zeros_like(system.c),
            C=np.zeros_like(system.C),
            b=np.zeros_like(system.b),
            Q=-NOISE_FLOOR / q**2,
            R=-NOISE_FLOOR / r**2,
        )


class Growth(NamedTuple):
    """How fast powers of a matrix grow."""

    rate: float
    slope: Float[np.ndarray, "D D"]


def growth(matrix: Float[np.ndarray, "D D"]) -> Growth:
    """log |A^k| / k with k = 1024, by squaring a matrix that is kept at unit norm, and its derivative."""
    rate, units, norms = 0.0, [], []
    for squaring in range(SQUARINGS + 1):
        norm = np.sqrt(np.sum(matrix**2) + 1e-30)
        rate += np.log(norm) / 2.0**squaring
        units.append(matrix / norm)
        norms.append(norm)
        matrix = units[-1] @ units[-1]
    slope = np.zeros_like(matrix)
    for squaring in range(SQUARINGS, -1, -1):
        unit = units[squaring]
        by_unit = slope @ unit.T + unit.T @ slope
        slope = (by_unit - unit * np.sum(unit * by_unit) + unit / 2.0**squaring) / norms[squaring]
    return Growth(float(rate), slope)
