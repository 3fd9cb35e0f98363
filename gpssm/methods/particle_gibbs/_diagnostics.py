"""Whether the chains can be believed: split R-hat, effective numbers of draws, and how often states change."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from gpssm.methods.particle_gibbs._chains import Record

CONVERGED = 1.01
"""Split R-hat at which chains are taken for one."""
ENOUGH = 400.0
"""Effective draws, of all chains together."""
STUCK = 0.1
"""Share of the sweeps in which every state should change."""


class Diagnosis(NamedTuple):
    """Of each number that was watched, and of the states."""

    names: tuple[str, ...]
    r_hat: Float[np.ndarray, " W"]
    effective: Float[np.ndarray, " W"]
    update_rates: Float[np.ndarray, " T"]
    """Share of sweeps in which the particles have changed the state of a step, over all records that reach it."""

    @property
    def converged(self) -> bool:
        """Whether all chains tell the same, and enough."""
        return bool(np.max(self.r_hat) < CONVERGED and np.min(self.effective) >= ENOUGH)

    def sentences(self, chains: int, sweeps: int) -> list[str]:
        """What is said with every fit, and warnings where there is reason."""
        told = [
            f"{chains} chains of {sweeps} sweeps: split R-hat at most {np.max(self.r_hat):.3f} "
            f"({self.names[int(np.argmax(self.r_hat))]}), effective draws at least {np.min(self.effective):.0f} "
            f"({self.names[int(np.argmin(self.effective))]}); " + self._groups(),
            f"states changed in {np.mean(self.update_rates):.0%} of the sweeps, at step "
            f"{int(np.argmin(self.update_rates))} of the records in {np.min(self.update_rates):.0%}",
        ]
        if not self.converged:
            told.append(
                f"WARNING: the chains have not converged (split R-hat {np.max(self.r_hat):.3f} should be below "
                f"{CONVERGED}, {np.min(self.effective):.0f} effective draws at least {ENOUGH:.0f}): use more sweeps"
            )
        if np.min(self.update_rates) < STUCK:
            told.append(
                f"WARNING: some states change in {np.min(self.update_rates):.0%} of the sweeps only: use more particles"
            )
        return told

    def _groups(self) -> str:
        parts = []
        for kind in dict.fromkeys(name.split(" of ")[0] for name in self.names):
            places = [i for i, name in enumerate(self.names) if name.split(" of ")[0] == kind]
            parts.append(f"{kind} {np.max(self.r_hat[places]):.3f} and {np.min(self.effective[places]):.0f}")
        return ", ".join(parts)


def diagnose(record: Record, valid: Bool[np.ndarray, "E T"], states: int, outputs: int) -> Diagnosis:
    """Of all sweeps after the warm-up."""
    # Imported here, because it is slow to import and of use at the end of a fit only.
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    chains, sweeps, count = record.watched.shape
    points = (count - states - outputs - 1) // states
    names = (
        *(f"process noise of state {d + 1}" for d in range(states)),
        *(f"measurement noise of output {o + 1}" for o in range(outputs)),
        *(f"function of state {d + 1} at point {i + 1}" for d in range(states) for i in range(points)),
        "log joint density",
    )
    moving = np.ptp(record.watched, axis=(0, 1)) > 0.0
    r_hat, effective = np.ones(count), np.full(count, float(chains * sweeps))
    # What is held is known exactly.
    r_hat[moving] = split_gelman_rubin(record.watched[..., moving])
    effective[moving] = effective_sample_size(record.watched[..., moving])
    reached = valid.sum(axis=0)
    rates = np.where(valid, record.updated, 0.0).sum(axis=0) / np.maximum(reached * chains * sweeps, 1)
    return Diagnosis(names, r_hat, effective, rates[reached > 0])
