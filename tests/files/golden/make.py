"""Makes the golden file and the prediction that goes with it: python -m tests.files.golden.make

It is run once for each format version. Later versions of gpssm must load the file as it is; it is never made anew.
"""

import json
from pathlib import Path

import gpjax.kernels as gk
import jax
import jax.random as jr

import gpssm
from gpssm.inference import BiRNN, TanhRNN
from gpssm.kernels import ArcCosine0, Manifold
from gpssm.models import GPSSM
from gpssm.predict import Channels, MeanOnly
from tests.reference.small_system import record, records
from tests.reference.stored_systems import history

HERE = Path(__file__).parent


def golden() -> gpssm.System:
    """Two states with different kernels, between them most of what a file can hold."""
    episodes = records()
    first = (gk.RBF(lengthscale=0.9) + gk.Linear(variance=0.2)) * gk.Matern52(active_dims=[0, 2])
    second = Manifold(gk.Matern32(), inputs=3, widths=(3, 2), key=jr.key(1)) + ArcCosine0(variance=0.5)
    model = GPSSM.from_data(episodes, state_dim=2, kernel=[first, second], num_inducing=6, key=jr.key(2))
    return gpssm.System(
        model=model,
        scaler=gpssm.Scaler.from_episodes(episodes),
        channels=Channels.of(episodes),
        recognition=BiRNN.from_data(episodes, state_dim=2, hidden=3, cell=TanhRNN, key=jr.key(3)),
        history=history(),
    )


def predictions(system: gpssm.System) -> dict[str, list]:
    """Predictions without random numbers, which differ between versions of JAX."""
    episode = record(25, seed=77)
    rollout = system.simulate_from([0.3, -0.2], inputs=episode.u, propagation=MeanOnly(), num_samples=1, key=jr.key(0))
    smoothed, filtered = system.smooth(episode, reader=system.recognition), system.filter(episode)
    return {
        "rollout": rollout.signals[0].tolist(),
        "states": smoothed.means.tolist(),
        "state factors": smoothed.chols.tolist(),
        "filtered": filtered.means.tolist(),
        "filtered factors": filtered.chols.tolist(),
    }


if __name__ == "__main__":
    with jax.enable_x64(True):
        made = golden()
        gpssm.save(made, HERE / "v1.gpssm", settings={"seed": 2}, units={"level": "m", "valve": "%"}, overwrite=False)
        (HERE / "v1.json").write_text(json.dumps(predictions(made)) + "\n", encoding="utf-8")
