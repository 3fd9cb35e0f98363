"""GPflow and Keras as a competitor: `python -m benchmarks.peers._gpflow PROBLEM.npz`, in an environment of its own.

The whole step is one `tf.function`. Keras has no fused GRU on a CPU; the chain is a loop that TensorFlow unrolls.
"""

import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # the Keras that GPflow's TensorFlow Probability is written for

import gpflow
import numpy as np
import tensorflow as tf

from benchmarks.peers._worker import Run, serve

JITTER = 1e-6
RATE = 1e-2
LOG_2PI = math.log(2.0 * math.pi)


def log_normal(squares: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """E log N, given the expected square."""
    return -0.5 * (LOG_2PI + tf.math.log(variance) + squares / variance)


def make_kernels(arrays: dict[str, np.ndarray]) -> list[gpflow.kernels.Kernel]:
    """A kernel for each state dimension."""
    kernels = []
    for lengthscales, variances in zip(arrays["lengthscale"], arrays["variance"], strict=True):
        parts = [
            (gpflow.kernels.Matern12 if matern else gpflow.kernels.RBF)(variance=v, lengthscales=scale)
            for matern, scale, v in zip(arrays["matern"], lengthscales, variances, strict=True)
        ]
        kernels.append(parts[0] if len(parts) == 1 else gpflow.kernels.Sum(parts))
    return kernels


def keras_order(columns: np.ndarray) -> np.ndarray:
    """Keras has the update gate first."""
    reset, update, candidate = np.split(columns, 3, axis=-1)
    return np.concatenate([update, reset, candidate], axis=-1)


class Bound(tf.Module):
    """The bound of all episodes along one given path of each."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        super().__init__()
        names = ("first_weight", "first_bias", "rest_weight", "rest_bias", "skip", "inducing", "q_mean", "q_chol")
        names += ("process_log_variance", "emission_log_variance")
        self.p = {name: tf.Variable(arrays[name]) for name in names}
        self.y, self.u = tf.constant(arrays["y"]), tf.constant(arrays["u"])
        self.inputs = tf.concat([self.y, tf.ones_like(self.y), self.u], axis=-1)
        self.weight, self.offset = tf.constant(arrays["emission_weight"]), tf.constant(arrays["emission_offset"])
        self.kernels = make_kernels(arrays)
        self.dims, self.hidden = arrays["q_mean"].shape[0], arrays["forward_recurrent"].shape[0]
        cells = [
            tf.keras.layers.GRU(self.hidden, return_sequences=True, go_backwards=back, dtype="float64")
            for back in (False, True)
        ]
        for cell, name in zip(cells, ("forward", "backward"), strict=True):
            cell.build(self.inputs.shape)
            biases = np.stack([arrays[f"{name}_bias"], arrays[f"{name}_recurrent_bias"]])
            cell.set_weights([keras_order(a) for a in (arrays[f"{name}_input"], arrays[f"{name}_recurrent"], biases)])
        self.cells = cells

    def posterior(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Means, gains (from the second state on) and factors."""
        dims = self.dims
        ahead, behind = self.cells[0](self.inputs), tf.reverse(self.cells[1](self.inputs), [1])
        first = behind[:, :1] @ self.p["first_weight"] + self.p["first_bias"]
        rest = tf.concat([ahead, behind], -1)[:, 1:] @ self.p["rest_weight"] + self.p["rest_bias"]
        size = first.shape[-1]
        both = tf.concat([first, rest[..., :size]], axis=1)
        means = both[..., :dims] + self.y @ self.p["skip"]
        # Entries below the diagonal in rows, to their places by one product with a constant.
        places = np.zeros((size - 2 * dims, dims, dims))
        for i, (row, column) in enumerate(zip(*np.tril_indices(dims, -1), strict=True)):
            places[i, row, column] = 1.0
        below = tf.tensordot(both[..., 2 * dims :], tf.constant(places), 1)
        chols = tf.linalg.diag(tf.exp(both[..., dims : 2 * dims])) + below
        gains = tf.reshape(rest[..., size:], (*rest.shape[:2], dims, dims))
        return means, gains, chols

    def chain(self, gains: tf.Tensor, chols: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Deviations along one path, and marginal covariances."""
        steps = tf.unstack(tf.linalg.matvec(chols, noise), axis=1)
        noises = tf.unstack(tf.matmul(chols, chols, transpose_b=True), axis=1)
        deviations, covariances = [steps[0]], [noises[0]]
        for gain, step, spread in zip(tf.unstack(gains, axis=1), steps[1:], noises[1:], strict=True):
            deviations.append(tf.linalg.matvec(gain, deviations[-1]) + step)
            covariances.append(tf.matmul(gain @ covariances[-1], gain, transpose_b=True) + spread)
        return tf.stack(deviations, axis=1), tf.stack(covariances, axis=1)

    def transition(self, states: tf.Tensor, next_means: tf.Tensor, next_variances: tf.Tensor) -> tf.Tensor:
        """Expected log-density of the transitions, less the divergence of q(u)."""
        points = tf.reshape(tf.concat([states, self.u[:, :-1]], axis=-1), (-1, self.p["inducing"].shape[1]))
        states, next_means, next_variances = (
            tf.reshape(a, (-1, self.dims)) for a in (states, next_means, next_variances)
        )
        logs = tf.linalg.diag_part(self.p["q_chol"])
        strict = self.p["q_chol"] - tf.linalg.band_part(self.p["q_chol"], 0, -1)
        q_chol = strict + tf.linalg.diag(tf.exp(logs))
        noise, total = tf.exp(self.p["process_log_variance"]), 0.0
        eye = tf.eye(self.p["inducing"].shape[0], dtype=tf.float64)
        for d, kernel in enumerate(self.kernels):
            matrix = kernel(self.p["inducing"])
            factor = tf.linalg.cholesky(matrix + JITTER * tf.reduce_mean(tf.linalg.diag_part(matrix)) * eye)
            features = tf.linalg.triangular_solve(factor, kernel(self.p["inducing"], points))
            mean = states[:, d] + tf.linalg.matvec(features, self.p["q_mean"][d], transpose_a=True)
            spread = tf.reduce_sum(tf.matmul(q_chol[d], features, transpose_a=True) ** 2, 0)
            variance = kernel(points, full_cov=False) - tf.reduce_sum(features**2, 0) + spread
            squares = (next_means[:, d] - mean) ** 2 + next_variances[:, d] + variance
            total += tf.reduce_sum(log_normal(squares, noise[d]))
        square = tf.reduce_sum(q_chol**2) + tf.reduce_sum(self.p["q_mean"] ** 2)
        return total - 0.5 * (square - float(np.prod(logs.shape))) + tf.reduce_sum(logs)

    def __call__(self, noise: tf.Tensor) -> tf.Tensor:
        """The bound."""
        means, gains, chols = self.posterior()
        deviations, covariances = self.chain(gains, chols, noise)
        next_means = means[:, 1:] + tf.linalg.matvec(gains, deviations[:, :-1])
        spread = tf.einsum("oi,btij,oj->bto", self.weight, covariances, self.weight)
        squares = (self.y - tf.matmul(means, self.weight, transpose_b=True) - self.offset) ** 2 + spread
        likelihood = tf.reduce_sum(log_normal(squares, tf.exp(self.p["emission_log_variance"])))
        trace = tf.reduce_sum(tf.linalg.trace(covariances[:, 0]))
        initial = -0.5 * (means.shape[0] * self.dims * LOG_2PI + tf.reduce_sum(means[:, 0] ** 2) + trace)
        entropy = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chols))) + 0.5 * np.prod(means.shape) * (LOG_2PI + 1)
        path = (means + deviations)[:, :-1]
        dynamics = self.transition(path, next_means, tf.reduce_sum(chols[:, 1:] ** 2, axis=-1))
        return likelihood + initial + entropy + dynamics


def prepare(path: str) -> Run:
    """The model, its optimiser and the noise of every step."""
    with np.load(path) as stored:
        arrays = dict(stored)
    noise, bound = tf.constant(arrays.pop("noise")), Bound(arrays)
    variables = [*bound.trainable_variables, *(v for cell in bound.cells for v in cell.trainable_variables)]
    variables = list({v.ref(): v for v in variables}.values())
    optimiser = tf.keras.optimizers.Adam(RATE, epsilon=1e-8)
    num_steps = math.prod(arrays["y"].shape[:2])

    @tf.function
    def step(now: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = bound(now)
            loss = -value / num_steps
        optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return value

    return lambda chunk: [float(step(now)) for now in noise[chunk]]


def main() -> None:
    """Serve one problem."""
    threads = int(os.environ.get("BENCH_THREADS", os.cpu_count() or 1))
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    facts = {"tensorflow": tf.__version__, "gpflow": gpflow.__version__}
    serve(lambda: prepare(sys.argv[1]), facts)


if __name__ == "__main__":
    main()
