"""A small case of every method, for the conformance suite."""

import numpy as np

import gpssm
from gpssm.inference.marginal import ExactMoments, Parts
from gpssm.methods import (
    ARX,
    GPNARX,
    AbstractMethod,
    AroundLinear,
    Auto,
    BestOf,
    Constant,
    Differences,
    Direct,
    GPCorrection,
    Linear,
    Marginal,
    Mixture,
    ModelSpec,
    Network,
    OutputError,
    ParticleGibbs,
    PerStep,
    Polished,
    PreviousEpisode,
    Restarts,
    Stacked,
    Subspace,
    Then,
    Variational,
)
from gpssm.optimisers import LBFGS, Adam, Alternating

SPEC = ModelSpec(2, num_inducing=6)
POLISH = Variational(SPEC, q_x=PerStep(), optimiser=LBFGS(6))
NETWORK = Variational(SPEC, q_x=Network(4), optimiser=Adam(100))

POLISHED = Polished(2, num_inducing=6, hidden=4, steps=100, iterations=6, network_steps=50)

CASES: dict[str, AbstractMethod] = {
    "constant": Constant(),
    "previous episode": PreviousEpisode(),
    "arx": ARX(2),
    "gp-narx": GPNARX(1, iterations=6),
    "linear": Linear(2, iterations=6, simulation_weight=0.3),
    "subspace": Subspace((1, 2)),
    "subspace with direct term": Subspace((1, 2), direct=True),
    "direct": Direct(Linear(2, iterations=6)),
    "output error": OutputError(2, num_inducing=5, rounds=3, iterations=3),
    "marginal": Marginal(SPEC, guess=Differences(), rounds=2, iterations=5, draws=4),
    "marginal chosen": Marginal(SPEC, rounds=1, iterations=4, draws=0),
    "marginal around linear": Marginal(
        AroundLinear(2, num_inducing=5), rounds=1, iterations=4, draws=0, carry=ExactMoments(), parts=Parts(10, 5, 2)
    ),
    "particle gibbs": ParticleGibbs(ModelSpec(1, num_inducing=5), sweeps=60, warmup=40, chains=2, particles=4),
    "network": NETWORK,
    "per step": POLISH,
    "alternating": Variational(SPEC, q_x=PerStep(), optimiser=Alternating(2, LBFGS(4))),
    "correction": GPCorrection(Linear(2, iterations=4), num_inducing=6, optimiser=LBFGS(4)),
    "then": Then(NETWORK, Variational(q_x=PerStep(), optimiser=LBFGS(4), distil=50)),
    "best of": BestOf(Linear(1, iterations=4), Linear(2, iterations=4)),
    "restarts": Restarts(POLISH, 2),
    "mixture": Mixture({"arx": ARX(1), "linear": Linear(1, iterations=4)}, (0.7, 0.3), 0.9),
    "stacked": Stacked({"constant": Constant(), "arx": ARX(1)}),
    "polished": POLISHED,
    "auto": Auto(2, "normal", POLISHED),
}


def records(*, extra: int = 0) -> gpssm.Episodes:
    """Two records of a saturating system; `extra` more steps make another set."""
    rng = np.random.default_rng(7)
    return gpssm.Episodes(
        [_record(rng, steps + extra, f"run {i}") for i, steps in enumerate((30, 24))],
    )


def held_out() -> gpssm.Episodes:
    """A record that no fit has seen."""
    return gpssm.Episodes([_record(np.random.default_rng(8), 30, "new")])


def _record(rng: np.random.Generator, steps: int, name: str) -> gpssm.Episode:
    u, x, y = rng.standard_normal(steps), 0.0, []
    for control in u:
        y.append(x + 0.05 * rng.standard_normal())
        x = 0.8 * np.sin(x) + 0.5 * control + 0.02 * rng.standard_normal()
    y[5] = np.nan
    return gpssm.Episode(y=np.asarray(y), u=u, dt=0.1, name=name, output_names=["level"], input_names=["valve"])
