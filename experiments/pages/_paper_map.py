"""Which of our pictures and tables belongs to which of the paper."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A figure or table of the paper."""

    where: str
    what: str
    page: str
    """The experiment; empty where nothing is run."""
    picture: str


def _picture(name: str, text: str) -> str:
    return f"[{text}](../../results/{name}.png)"


PAPER = (
    Entry(
        "Figure 1", "the model and its recognition network, drawn", "", "[the mathematics](../concepts/mathematics.md)"
    ),
    Entry(
        "Figure 2",
        "learnt transition functions, four kernels",
        "kink",
        f"[kink](kink.md): {_picture('kink_best', 'our recipe')}, {_picture('kink_paper', 'the recipe of the paper')}",
    ),
    Entry(
        "Figure 3",
        "sampled futures of the cart-pole, observed and hidden velocities",
        "cart_pole",
        f"[cart-pole](cart_pole.md): {_picture('cart_pole_futures', 'futures')}",
    ),
    Entry("Table 1", "distance of the tip, 2, 8 and 15 episodes", "cart_pole", "[cart-pole](cart_pole.md): its table"),
    Entry(
        "Table 1, its claim",
        "state-space model ahead of autoregression and Kalman model",
        "noisy_cart_pole",
        f"[noisy cart-pole](noisy_cart_pole.md): {_picture('noisy_cart_pole', 'errors and differences')}",
    ),
    Entry(
        "Figure 4",
        "predictions with lagged actions",
        "lagged_actions",
        f"[lagged actions](lagged_actions.md): {_picture('lagged_actions_futures', 'futures')}",
    ),
    Entry(
        "Figure 5",
        "sampled futures of the double pendulum",
        "double_pendulum",
        f"[double pendulum](double_pendulum.md): {_picture('double_pendulum_futures', 'futures')}",
    ),
    Entry(
        "Figure 6",
        "free simulation of the actuator",
        "actuator",
        f"[actuator](actuator.md): {_picture('actuator_best', 'our settings')}, "
        f"{_picture('actuator_paper', 'those of the paper')}",
    ),
    Entry(
        "Appendix, 1D",
        "the functions of Figure 2 far from the data",
        "kink",
        f"{_picture('kink_best_wide', 'our recipe')}, {_picture('kink_paper_wide', 'the recipe of the paper')}",
    ),
    Entry(
        "Appendix, states",
        "learnt states of the cart-pole",
        "cart_pole",
        f"{_picture('cart_pole_observed_states', 'observed')}, {_picture('cart_pole_hidden_states', 'hidden')}",
    ),
    Entry(
        "Appendix, fits",
        "every training episode of the cart-pole",
        "cart_pole",
        f"{_picture('cart_pole_observed_fits', 'observed')}, {_picture('cart_pole_hidden_fits', 'hidden')}",
    ),
)
