"""PyTorch and GPyTorch as a competitor: `python -m benchmarks.peers._pytorch PROBLEM.npz [--compile]`.

Written as one would for speed in that framework: fused bi-directional GRU, all state dimensions in one batched
kernel, factorisation and solve, the chain as a loop of batched products, fused Adam. There are no masks: the data of
the benchmark are complete.
"""

import argparse
import math
import os

import gpytorch
import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.peers._worker import Run, serve

JITTER = 1e-6
"""Relative to the mean of the diagonal."""
RATE = 1e-2
LOG_2PI = math.log(2.0 * math.pi)


def log_normal(squares: Tensor, variance: Tensor) -> Tensor:
    """E log N, given the expected square."""
    return -0.5 * (LOG_2PI + variance.log() + squares / variance)


def make_kernel(arrays: dict[str, Tensor]) -> gpytorch.kernels.Kernel:
    """A sum of scaled stationary kernels, batched over state dimensions."""
    dims, count, inputs = arrays["lengthscale"].shape
    batch = torch.Size([dims])
    parts = []
    for i in range(count):
        matern = bool(arrays["matern"][i])
        sizes = {"ard_num_dims": inputs, "batch_shape": batch}
        base = gpytorch.kernels.MaternKernel(nu=0.5, **sizes) if matern else gpytorch.kernels.RBFKernel(**sizes)
        part = gpytorch.kernels.ScaleKernel(base, batch_shape=batch).double()
        base.lengthscale = arrays["lengthscale"][:, i][:, None, :]
        part.outputscale = arrays["variance"][:, i]
        parts.append(part)
    return parts[0] if count == 1 else gpytorch.kernels.AdditiveKernel(*parts)


class Bound(nn.Module):
    """The bound of all episodes along one given path of each."""

    def __init__(self, arrays: dict[str, Tensor]):
        super().__init__()
        self.y, self.u = arrays["y"], arrays["u"]
        self.inputs = torch.cat([self.y, torch.ones_like(self.y), self.u], dim=-1)
        self.weight, self.offset = arrays["emission_weight"], arrays["emission_offset"]
        hidden = arrays["forward_recurrent"].shape[0]
        self.gru = nn.GRU(self.inputs.shape[-1], hidden, batch_first=True, bidirectional=True).double()
        with torch.no_grad():
            for ours, theirs in (("forward", "l0"), ("backward", "l0_reverse")):
                getattr(self.gru, f"weight_ih_{theirs}").copy_(arrays[f"{ours}_input"].T)
                getattr(self.gru, f"weight_hh_{theirs}").copy_(arrays[f"{ours}_recurrent"].T)
                getattr(self.gru, f"bias_ih_{theirs}").copy_(arrays[f"{ours}_bias"])
                getattr(self.gru, f"bias_hh_{theirs}").copy_(arrays[f"{ours}_recurrent_bias"])
        self.kernel = make_kernel(arrays)
        for name in ("first_weight", "first_bias", "rest_weight", "rest_bias", "skip", "inducing", "q_mean", "q_chol"):
            setattr(self, name, nn.Parameter(arrays[name].clone()))
        self.process_log_variance = nn.Parameter(arrays["process_log_variance"].clone())
        self.emission_log_variance = nn.Parameter(arrays["emission_log_variance"].clone())
        self.dims = self.q_mean.shape[0]
        self.below = torch.tril_indices(self.dims, self.dims, -1)

    def posterior(self) -> tuple[Tensor, Tensor, Tensor]:
        """Means, gains (from the second state on) and factors."""
        dims, hidden = self.dims, self.gru.hidden_size
        states, _ = self.gru(self.inputs)
        first = states[:, :1, hidden:] @ self.first_weight + self.first_bias
        rest = states[:, 1:] @ self.rest_weight + self.rest_bias
        both = torch.cat([first, rest[..., : first.shape[-1]]], dim=1)
        means = both[..., :dims] + self.y @ self.skip
        chols = torch.diag_embed(both[..., dims : 2 * dims].exp())
        if dims > 1:
            chols[..., self.below[0], self.below[1]] = both[..., 2 * dims :]
        gains = rest[..., first.shape[-1] :].unflatten(-1, (dims, dims))
        return means, gains, chols

    def chain(self, gains: Tensor, chols: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Deviations from the means along one path, and marginal covariances."""
        steps = (chols @ noise[..., None]).unbind(1)
        noises = (chols @ chols.mT).unbind(1)
        deviations, covariances = [steps[0]], [noises[0]]
        for gain, step, spread in zip(gains.unbind(1), steps[1:], noises[1:], strict=True):
            deviations.append(torch.baddbmm(step, gain, deviations[-1]))
            covariances.append(torch.baddbmm(spread, torch.bmm(gain, covariances[-1]), gain.mT))
        return torch.stack(deviations, dim=1)[..., 0], torch.stack(covariances, dim=1)

    def transition(self, states: Tensor, next_means: Tensor, next_variances: Tensor) -> Tensor:
        """Expected log-density of the transitions, less the divergence of q(u)."""
        points = torch.cat([states, self.u[:, :-1]], dim=-1).flatten(0, 1)
        matrix = self.kernel(self.inducing).to_dense()
        scale = JITTER * matrix.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
        eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
        factor = torch.linalg.cholesky(matrix + scale[:, None, None] * eye)
        features = torch.linalg.solve_triangular(factor, self.kernel(self.inducing, points).to_dense(), upper=False)
        logs = self.q_chol.diagonal(dim1=-2, dim2=-1)
        q_chol = self.q_chol.tril(-1) + torch.diag_embed(logs.exp())
        means = states.flatten(0, 1) + (self.q_mean[:, None, :] @ features)[:, 0].T
        variances = self.kernel(points, diag=True) - (features**2).sum(dim=1) + ((q_chol.mT @ features) ** 2).sum(dim=1)
        squares = (next_means.flatten(0, 1) - means) ** 2 + next_variances.flatten(0, 1) + variances.T
        divergence = 0.5 * ((q_chol**2).sum() + (self.q_mean**2).sum() - self.q_mean.numel()) - logs.sum()
        return log_normal(squares, self.process_log_variance.exp()).sum() - divergence

    def forward(self, noise: Tensor) -> Tensor:
        """The bound."""
        means, gains, chols = self.posterior()
        deviations, covariances = self.chain(gains, chols, noise)
        next_means = means[:, 1:] + (gains @ deviations[:, :-1, :, None])[..., 0]
        spread = torch.einsum("oi,btij,oj->bto", self.weight, covariances, self.weight)
        squares = (self.y - means @ self.weight.T - self.offset) ** 2 + spread
        likelihood = log_normal(squares, self.emission_log_variance.exp()).sum()
        trace = covariances[:, 0].diagonal(dim1=-2, dim2=-1).sum()
        initial = -0.5 * (means.shape[0] * self.dims * LOG_2PI + (means[:, 0] ** 2).sum() + trace)
        log_dets = chols.diagonal(dim1=-2, dim2=-1).log().sum()
        entropy = log_dets + 0.5 * means.numel() * (LOG_2PI + 1.0)
        path = (means + deviations)[:, :-1]
        return likelihood + initial + entropy + self.transition(path, next_means, (chols[:, 1:] ** 2).sum(dim=-1))


def prepare(path: str, compiled: bool) -> Run:
    """The model, its optimiser and the noise of every step."""
    with np.load(path) as stored:
        arrays = {name: torch.as_tensor(value) for name, value in stored.items()}
    noise, bound = arrays.pop("noise"), Bound(arrays)
    optimiser = torch.optim.Adam(bound.parameters(), lr=RATE, fused=True)
    function = torch.compile(bound) if compiled else bound
    num_steps = math.prod(arrays["y"].shape[:2])

    def run(chunk: int) -> list[float]:
        bounds = []
        for now in noise[chunk]:
            optimiser.zero_grad(set_to_none=True)
            value = function(now)
            (-value / num_steps).backward()
            optimiser.step()
            bounds.append(value.detach())
        return torch.stack(bounds).tolist()

    return run


def main() -> None:
    """Serve one problem."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problem")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("BENCH_THREADS", os.cpu_count() or 1)))
    facts = {"torch": torch.__version__, "gpytorch": gpytorch.__version__}
    serve(lambda: prepare(options.problem, options.compile), facts)


if __name__ == "__main__":
    main()
