"""How the embedded record was made: `python -m gpssm.demo._make_data` writes it anew."""

from pathlib import Path

import jax.random as jr
import numpy as np

from gpssm.systems import Pendulum

PATH = Path(__file__).with_name("pendulum.csv")
EPISODES, STEPS, SEED = 16, 40, 7


def main() -> None:
    """Simulate a driven, damped pendulum whose angle is measured with noise."""
    simulated = Pendulum().simulate(episodes=EPISODES, steps=STEPS, key=jr.key(SEED))
    lines = ["run,time,torque,angle,true_velocity"]
    for run, (episode, states) in enumerate(zip(simulated.episodes, simulated.states, strict=True)):
        for step in range(len(episode)):
            values = (episode.u[step, 0], episode.y[step, 0], np.asarray(states)[step, 1])
            lines.append(f"{run},{step * (episode.dt or 1.0):.1f}," + ",".join(f"{value:.5f}" for value in values))
    PATH.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
