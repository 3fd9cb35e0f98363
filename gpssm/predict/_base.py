"""What all models that predict have in common: the checks, the cut between past and future, the three questions."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._precision import Portable, double_precision
from gpssm._core._random import AnyKey, as_key
from gpssm.data import DataError, Episode, Episodes, Recipe, Scaler
from gpssm.filters import AbstractFilter
from gpssm.inference import AbstractRecognition
from gpssm.predict._channels import Channels
from gpssm.predict._propagate import AbstractPropagation, Pathwise
from gpssm.predict._rollout import Rollout
from gpssm.readers import read

Reader = AbstractFilter | AbstractRecognition
"""What reads the state off the outputs: a filter on the learnt model, or a recognition network."""


NOT_STORED = {"stored": False}
"""Of a field that files hold beside the model and not in it."""


@final
@dataclass(frozen=True)
class Request:
    """How a prediction is to be made."""

    num_samples: int
    propagation: AbstractPropagation
    reader: Reader | None
    key: PRNGKeyArray
    inputs: Float[np.ndarray, "T P"]
    """All inputs of the record by its steps, those of the steps to come included. They act on outputs of their own
    step where a model has a direct term."""

    @property
    def count(self) -> int:
        """How many trajectories to run: of a deterministic one, a single copy."""
        return self.propagation.count(self.num_samples)

    def generator(self) -> np.random.Generator:
        """The key for models that run without JAX, which would compile anew for each number of samples and steps."""
        return np.random.default_rng(np.asarray(jr.key_data(self.key)))


class AbstractPredictor(ABC, Portable):
    """A learnt model, or anything else that predicts. Everything given and returned is in the user's units.

    `simulate`, `forecast` and `predict` are written here, once: a kind of model adds how it runs.
    """

    channels: Channels
    history: History | None
    """How the fit went."""
    free_run_width: float = 1.0
    """Factor for the spread of free runs about their median, where held-out records asked for one. A model trusts
    itself: its bands know nothing of errors that it cannot make. Predictions by horizon keep their own spread."""

    @double_precision
    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        reader: Reader | None = None,
        key: AnyKey = None,
        seed: int | None = None,
    ) -> Rollout:
        """Free run over a record: sees all its controls, but of its outputs only the first `n_init`.

        The result begins at step `n_init`. `propagation` says how uncertainty about the function is carried along
        (`Pathwise()` unless told otherwise), `reader` what reads the state off the first samples, where there is one.
        """
        self.channels.check(episode)
        if not self.least_context <= n_init < len(episode):
            raise DataError(
                f"n_init={n_init}: need at least {self.least_context} and fewer than the {len(episode)} samples of "
                f"'{episode.name}'"
            )
        request = self._request(num_samples, propagation, reader, key, seed, episode.u)
        return self.free_run(episode.head(n_init), episode.u[n_init - 1 : -1], request)

    @double_precision
    def forecast(
        self,
        episode: Episode,
        *,
        inputs: Any = None,
        steps: int | None = None,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        reader: Reader | None = None,
        key: AnyKey = None,
        seed: int | None = None,
    ) -> Rollout:
        """Beyond the end of a record, under the inputs of the steps to come (or for `steps` steps if there are no
        inputs).

        Row i of `inputs` belongs to step len(episode) + i; the last row is held after the last predicted output and
        not used, unless the model has a direct term. A data frame is matched by the names of its columns.
        """
        self.channels.check(episode)
        if len(episode) < self.least_context:
            raise DataError(f"'{episode.name}' has {len(episode)} samples; need at least {self.least_context} to start")
        future = self.channels.future_inputs(inputs, steps)
        request = self._request(num_samples, propagation, reader, key, seed, np.concatenate([episode.u, future]))
        return self.free_run(episode, np.concatenate([episode.u[-1:], future[:-1]]), request)

    @double_precision
    def predict(
        self,
        episode: Episode,
        *,
        horizon: int,
        num_samples: int = 100,
        propagation: AbstractPropagation | None = None,
        reader: Reader | None = None,
        key: AnyKey = None,
        seed: int | None = None,
    ) -> Rollout:
        """`horizon` steps ahead from every step that has enough past; the result begins `horizon` steps after the
        first of them."""
        return self.predict_each(
            episode,
            horizons=(horizon,),
            num_samples=num_samples,
            propagation=propagation,
            reader=reader,
            key=key,
            seed=seed,
        )[0]

    @double_precision
    def predict_each(
        self,
        episode: Episode,
        *,
        horizons: Sequence[int],
        num_samples: int = 100,
        propagation: AbstractPropagation | None = None,
        reader: Reader | None = None,
        key: AnyKey = None,
        seed: int | None = None,
    ) -> tuple[Rollout, ...]:
        """What `predict` says for each of several horizons, up to rounding, in about the time of the furthest."""
        self.channels.check(episode)
        if not horizons:
            raise DataError("horizons=(): name at least one number of steps")
        for horizon in horizons:
            if not 1 <= horizon <= len(episode) - self.least_context:
                raise DataError(
                    f"horizon={horizon}: need at least 1 and at most {len(episode) - self.least_context} for the "
                    f"{len(episode)} samples of '{episode.name}'"
                )
        request = self._request(num_samples, propagation, reader, key, seed, episode.u)
        return tuple(self._with_direct(run, request) for run in self._ahead_each(episode, horizons, request))

    @final
    def free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        """From the end of `context` on, direct term and all: what a model made of models asks its members for."""
        return self._finished(self._free_run(context, controls, request), request)

    @final
    def ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        """`horizon` steps ahead from step `least_context` - 1 on, direct term and all."""
        return self._with_direct(self._ahead(episode, horizon, request), request)

    def widened(self, width: float) -> "AbstractPredictor":
        """The same model whose free runs spread so many times as far about their median as those that it makes by
        itself."""
        if "free_run_width" not in getattr(self, "__dataclass_fields__", ()):
            raise TypeError(f"a {type(self).__name__} has no width of its free runs that could be set")
        if not (np.isfinite(width) and width > 0.0):
            raise ValueError(f"width={width}: it must be positive and finite")
        return replace(self, free_run_width=float(width))  # pyright: ignore[reportArgumentType]

    def _finished(self, run: Rollout, request: Request) -> Rollout:
        """A free run with everything that is not the model's own: direct term and width."""
        return self._with_direct(run, request).spread_by(self.free_run_width)

    def _with_direct(self, run: Rollout, request: Request) -> Rollout:
        """What the inputs of each step add to its outputs at once, added in this one place."""
        if self.direct is None:
            return run
        return run.shifted(self.direct.direct_outputs(request.inputs[run.start : run.start + len(run)]))

    @property
    def direct(self) -> Scaler | None:
        """The units of the model where they have a direct term: they know what inputs add to outputs at once."""
        scaler = getattr(self, "scaler", None)
        return scaler if isinstance(scaler, Scaler) and scaler.direct is not None else None

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.channels.output_names

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.channels.input_names

    @property
    def dt(self) -> float | None:
        """Time between two steps, where it is known."""
        return self.channels.dt

    @property
    def recipe(self) -> Recipe | None:
        """How the training records were read; None where they were made of arrays."""
        return self.channels.recipe

    def read(self, source: Any, **changes: Any) -> Episodes:
        """Records from raw files, frames and whatever else `gpssm.read` takes, read as the training records were.

        What is given by name, such as `time=` or `resample=`, is taken instead of what the model remembers.
        """
        channels = self.channels
        recipe = channels.recipe or Recipe(channels.output_names, channels.input_names)
        return read(source, recipe=recipe, **changes)

    @property
    @abstractmethod
    def least_context(self) -> int:
        """How many samples must be known before the first prediction."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """The model in a few words, for people: what it is made of, and its noises in the user's units."""

    @abstractmethod
    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        """From the end of `context` on, without a direct term. Row i of `controls` leads to step len(context) + i."""

    @abstractmethod
    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        """`horizon` steps ahead from step `least_context` - 1 on, without a direct term."""

    def _ahead_each(self, episode: Episode, horizons: Sequence[int], request: Request) -> tuple[Rollout, ...]:
        """The same for several horizons; with one run, where a kind of model can, without a direct term."""
        return tuple(self._ahead(episode, horizon, request) for horizon in horizons)

    def _request(
        self,
        num_samples: int,
        propagation: AbstractPropagation | None,
        reader: Reader | None,
        key: AnyKey,
        seed: int | None,
        inputs: Float[np.ndarray, "T P"],
    ) -> Request:
        self.channels.check_samples(num_samples)
        chosen = Pathwise() if propagation is None else propagation
        return Request(num_samples, chosen, reader, as_key(key, seed), inputs)
