"""First states from the data: latent trajectories by linear subspace regression.

A model with hidden states starts best from states that already carry information. The outputs themselves serve as the
first states; each hidden one is a direction of the recent past that helps most to predict the outputs to come, beyond
what the present output tells.
"""

import numpy as np
from jaxtyping import Float

from gpssm.data import Episode, Episodes

RIDGE = 1e-3


def subspace_states(episodes: Episodes, state_dim: int, *, window: int | None = None) -> list[Float[np.ndarray, "_ D"]]:
    """A state trajectory for each (standardised) episode: outputs first, then hidden directions of unit variance.

    With fewer states than outputs, the principal components of the outputs.
    """
    outputs = [interpolated(episode) for episode in episodes]
    num_outputs = outputs[0].shape[1]
    hidden = state_dim - num_outputs
    if hidden < 0:
        return [y @ principal_directions(outputs, state_dim) for y in outputs]
    if hidden == 0:
        return outputs
    shortest = min(len(y) for y in outputs)
    window = min(max(3, 2 * -(-hidden // num_outputs)), 8) if window is None else window
    window = max(1, min(window, (shortest - 1) // 2))
    extra = _hidden_directions(outputs, [episode.u for episode in episodes], hidden, window)
    return [np.concatenate([y, h], axis=1) for y, h in zip(outputs, extra, strict=True)]


def principal_directions(outputs: list[Float[np.ndarray, "_ O"]], count: int) -> Float[np.ndarray, "O D"]:
    """Directions of largest variance, scaled so that the components have unit variance."""
    rows = np.concatenate(outputs)
    # Fewer rows than directions span no more of them; with rows of zeros there are others, across which nothing varies.
    filled = np.pad(rows, ((0, max(count - len(rows), 0)), (0, 0)))
    _, singular, directions = np.linalg.svd(filled, full_matrices=False)
    scale = singular[:count] / np.sqrt(len(rows))
    return directions[:count].T / np.maximum(scale, 1e-8)


def interpolated(episode: Episode) -> Float[np.ndarray, "T O"]:
    """The outputs with gaps filled by straight lines (zero, the mean, where a channel has no measurement at all)."""
    filled = np.array(episode.y)
    steps = np.arange(len(episode))
    for column in range(episode.num_outputs):
        seen = episode.observed[:, column]
        filled[:, column] = np.interp(steps, steps[seen], episode.y[seen, column]) if seen.any() else 0.0
    return filled


def _hidden_directions(
    outputs: list[np.ndarray], inputs: list[np.ndarray], count: int, window: int
) -> list[Float[np.ndarray, "_ H"]]:
    past, future, future_inputs, present = (
        np.concatenate(parts)
        for parts in zip(*(_windows(y, u, window) for y, u in zip(outputs, inputs, strict=True)), strict=True)
    )
    if not len(past):
        # No record is long enough to have a past and a future; any spread of states will do.
        rng = np.random.default_rng(0)
        return [rng.standard_normal((len(y), count)) for y in outputs]
    both = _ridge(np.concatenate([past, future_inputs], axis=1), future)
    predicted = past @ both[: past.shape[1]]
    predicted -= present @ _ridge(present, predicted)
    left, singular, _ = np.linalg.svd(predicted, full_matrices=False)
    rank = min(count, left.shape[1])
    score = left[:, :rank] * np.sqrt(len(left))
    if rank < count or singular[0] < 1e-8:
        padding = np.random.default_rng(0).standard_normal((len(score), count))
        score = np.where(
            np.arange(count) < (rank if singular[0] >= 1e-8 else 0), np.pad(score, ((0, 0), (0, count - rank))), padding
        )
    by_past, by_future = _ridge(past, score), _ridge(np.concatenate([present, future, future_inputs], axis=1), score)
    guesses = [_apply(y, u, window, by_past, by_future) for y, u in zip(outputs, inputs, strict=True)]
    scale = np.maximum(np.concatenate(guesses).std(axis=0), 1e-6)
    return [guess / scale for guess in guesses]


def _windows(y: np.ndarray, u: np.ndarray, window: int) -> tuple[np.ndarray, ...]:
    """Past (outputs up to now, inputs before now), future outputs, inputs from now on, and the present, for each
    inner step."""
    steps = np.arange(window, len(y) - window)
    back, ahead = np.arange(-window, 1), np.arange(1, window + 1)
    past = np.concatenate([_rows(y, steps, back), _rows(u, steps, back[:-1])], axis=1)
    return past, _rows(y, steps, ahead), _rows(u, steps, ahead - 1), y[steps]


def _apply(y: np.ndarray, u: np.ndarray, window: int, by_past: np.ndarray, by_future: np.ndarray) -> np.ndarray:
    steps = np.arange(len(y))
    back, ahead = np.arange(-window, 1), np.arange(1, window + 1)
    late = np.concatenate([_rows(y, steps, back), _rows(u, steps, back[:-1])], axis=1) @ by_past
    early = np.concatenate([y, _rows(y, steps, ahead), _rows(u, steps, ahead - 1)], axis=1) @ by_future
    return np.where((steps < window)[:, None], early, late)


def _rows(values: np.ndarray, steps: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    clipped = np.clip(steps[:, None] + offsets[None, :], 0, len(values) - 1)
    return values[clipped].reshape(len(steps), len(offsets) * values.shape[1])


def _ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.solve(x.T @ x + RIDGE * len(x) * np.eye(x.shape[1]), x.T @ y)
