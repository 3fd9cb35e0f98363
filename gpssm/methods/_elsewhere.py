"""Fits in other processes: several methods, or one from several keys, to the same records or others."""

import pickle
from collections.abc import Iterator, Sequence
from functools import partial

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import PRNGKeyArray

from gpssm._core._precision import double_precision
from gpssm._core._result import FitError
from gpssm.evaluate._trial import numbers_of, reason
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._interrupt import Interruption
from gpssm.pools import AbstractPool, Lost

Job = tuple[AbstractMethod, Prepared, PRNGKeyArray]
Failures = tuple[type[Exception], ...]


def fitted_in(
    pool: AbstractPool, jobs: Sequence[Job], *, forgive: Failures = ()
) -> Iterator[tuple[int, Fit | str | Lost]]:
    """The number and the fit of each job, as they come; of a failure that is forgiven, its reason. Where no process has
    come to an answer, it is the pool and not a method that does not work."""
    tasks = [pickle.dumps((method, _bare(data), numbers_of(key))) for method, data, key in jobs]
    lost = 0
    for i, answer in pool.run(partial(_fitted, forgive=forgive), tasks):
        lost += isinstance(answer, Lost)
        if lost == len(tasks) > 1:
            raise FitError(
                f"none of {lost} processes has come to an answer: {answer}. A script that starts processes needs "
                'if __name__ == "__main__": before what it does, because every process imports it'
            )
        yield i, answer if isinstance(answer, Lost) else pickle.loads(answer)


def _bare(data: Prepared) -> Prepared:
    """Without what was made of the data here."""
    return Prepared(data.episodes, data.scaler, data.validation, data.start, data.room)


@double_precision
def _fitted(task: bytes, *, forgive: Failures) -> bytes:
    """As bytes, because arrays are read in the precision of the thread that reads."""
    method, data, (numbers, kind) = pickle.loads(task)
    key = jr.wrap_key_data(jnp.asarray(numbers), impl=kind)
    with Interruption(lambda message: None) as interruption:
        try:
            return pickle.dumps(method.fit(data, Run(interruption=interruption), key=key))
        except forgive as failure:
            return pickle.dumps(reason(failure))
        except Exception as mistake:
            if not _can_travel(mistake):
                raise RuntimeError(reason(mistake)) from None
            raise


def _can_travel(mistake: Exception) -> bool:
    """Whether it arrives: one that cannot be made again where it is read would pass for a process that has died."""
    try:
        pickle.loads(pickle.dumps(mistake))
    except Exception:  # whatever its class does when it is made
        return False
    return True
