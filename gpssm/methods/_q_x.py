"""q(X) as settings: a network that reads the states off the outputs, or states of their own at each step."""

from abc import abstractmethod

import equinox as eqx
import numpy as np
from jaxtyping import DTypeLike, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm.fitting import Fit, Prepared
from gpssm.inference import (
    GRU,
    AbstractCell,
    AbstractRecognition,
    BiRNN,
    MeanField,
    PerStepStates,
    linearised_posterior,
)
from gpssm.models import GPSSM, Batch, GaussMarkov, LinearGaussian, SparseGP
from gpssm.predict import System


class AbstractStates(eqx.Module):
    """A family of posteriors over the states of the training episodes."""

    @abstractmethod
    def build(self, model: GPSSM, data: Prepared, *, dtype: DTypeLike, key: PRNGKeyArray) -> AbstractRecognition:
        """Where training starts: at the earlier fit, if there is one, else at what the data show."""


class Network(AbstractStates):
    """The bi-directional recurrent network of the paper. It also reads records that it was not trained on."""

    hidden: int = 32
    """Hidden units in each direction."""
    cell: type[AbstractCell] = eqx.field(default=GRU, static=True)
    skip: bool = True
    """Means start at the outputs, for outputs that are nearly states."""
    diagonal: bool = False
    """Diagonal gains and factors."""
    offsets: bool = True
    """False is the paper's own family."""
    gain: float = 0.5
    """First gain of each state on the one before. Closer to one where states are smoother than outputs."""
    width: float | None = 0.1
    """First standard deviation of each state given the one before. None: half of that of the measurement noise which
    the model starts with, for the states that are outputs."""
    single_precision: bool = False
    """Run the recurrences alone in single precision: a training of 1500 steps took 20 to 27 % less. On kink and
    pendulum, three data sets and two seeds each, its bound then changed by at most 0.003 a step, and by up to 0.03 from
    seed to seed. The default is that everything is in double precision."""

    def __check_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"hidden={self.hidden}: a network needs at least one hidden unit")

    def build(self, model: GPSSM, data: Prepared, *, dtype: DTypeLike, key: PRNGKeyArray) -> AbstractRecognition:
        """The network of the earlier fit, or a new one."""
        earlier = reader_of(data.start)
        if earlier is not None:
            return earlier
        width = 0.1 if self.width is None else self.width
        return BiRNN.from_data(
            data.episodes,
            state_dim=model.state_dim,
            hidden=self.hidden,
            cell=self.cell,
            skip=self.skip,
            diagonal=self.diagonal,
            offsets=self.offsets,
            single_precision=self.single_precision,
            gain=self.gain,
            scale=_half_noise(model, width) if self.width is None else width,
            scaled=data.scaled,
            dtype=dtype,
            key=key,
        )


class PerStep(AbstractStates):
    """States of their own at each step of each training episode: the whole family, with no amortisation gap. Filters
    read the states of other records."""

    diagonal: bool = False

    def build(self, model: GPSSM, data: Prepared, *, dtype: DTypeLike, key: PRNGKeyArray) -> PerStepStates:
        """At the states of the earlier fit, smoothed if that was to other records, or at those that the data show."""
        posterior = _posterior_of(data, model, data.batch(dtype))
        if posterior is not None:
            return PerStepStates.from_posterior(posterior, diagonal=self.diagonal)
        return PerStepStates.from_data(
            data.episodes,
            state_dim=model.state_dim,
            diagonal=self.diagonal,
            scaler=data.scaler,
            guess=data.states(model.state_dim),
            dtype=dtype,
        )


def _half_noise(model: GPSSM, otherwise: float) -> Float[np.ndarray, " D"]:
    """Half the standard deviation of the measurement noise for states that are outputs."""
    widths = np.full(model.state_dim, otherwise)
    noise = np.sqrt(np.asarray(model.emission.noise_variance()))
    if len(noise) <= model.state_dim:
        widths[: len(noise)] = noise / 2.0
    return widths


def reader_of(fit: Fit | None) -> AbstractRecognition | None:
    """The network of a fit, if it has one."""
    if fit is None:
        return None
    network = None if fit.inference is None else fit.inference.reader()
    if network is None and isinstance(fit.system, System):
        network = fit.system.recognition
    return network


def _posterior_of(data: Prepared, model: GPSSM, batch: Batch) -> GaussMarkov | None:
    """The states of the training episodes as the earlier fit sees them."""
    fit = data.start
    if fit is None:
        return None
    if isinstance(fit.inference, MeanField) and _knows(fit.inference.recognition, batch):
        return _posterior(fit.inference, batch)
    if isinstance(model.emission, LinearGaussian):
        return linearised_posterior(model, batch, _smoothed(data, model, batch), rounds=1)
    return None


def _knows(recognition: AbstractRecognition, batch: Batch) -> bool:
    """Whether it has states for these records: a network for any, states at each step for their own alone."""
    return not isinstance(recognition, PerStepStates) or recognition.means.shape[:2] == batch.valid.shape


def _smoothed(data: Prepared, model: GPSSM, batch: Batch) -> Float[np.ndarray, "B T D"]:
    """Where to linearise: anywhere if the transition is linear, else at the states that the earlier system sees."""
    means = np.zeros((*batch.valid.shape, model.state_dim))
    system = None if data.start is None else data.start.system
    if isinstance(system, System) and system.model is model and isinstance(model.transition, SparseGP):
        for i, episode in enumerate(data.episodes):
            means[i, : len(episode)] = system.smooth(episode).means
    return means


@compile_by_work(lambda inference, batch: batch.valid.size)
def _posterior(inference: MeanField, batch: Batch) -> GaussMarkov:
    return inference.posterior(batch)
