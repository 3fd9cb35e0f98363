"""One method from several seeds: one after the other or in processes, and all the way or with a first look."""

from collections.abc import Sequence

import equinox as eqx
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._activity import doing
from gpssm._core._result import Result
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.methods._combine import best_of, compared
from gpssm.methods._elsewhere import fitted_in
from gpssm.methods._shortened import shortened
from gpssm.pools import AbstractPool, Serial


class Restarts(AbstractMethod):
    """Fit one method from several seeds and keep the best, because training ends in a poor optimum now and then.

    The best is found as in `BestOf`. With `look` below one, every start makes this share of the method's steps first,
    and the best quarter of them is fitted in full: 8 starts with `look=0.1` cost less than three. That needs a method
    that has steps (`Variational`, `Polished`, and what is made of them); any other is fitted in full. With
    `pool=ProcessPool(2)` starts run in processes, which share compiled programs. But for rounding, the result is the
    same in however many; checkpoints are kept where one fit follows the other, and so is the order then.
    """

    method: AbstractMethod
    count: int = 3
    look: float = 1.0
    """Share of its steps that each start makes before the best go on."""
    pool: AbstractPool = eqx.field(static=True, default=Serial())

    def __check_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"count={self.count}: need at least one start")
        if not 0.0 < self.look <= 1.0:
            raise ValueError(f"look={self.look}: need a share above 0 and up to 1")

    @property
    def deterministic(self) -> bool:
        return self.method.deterministic

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Fit from each seed; the first is that of the key itself."""
        starts = list(range(1 if self.method.deterministic else self.count))
        first = shortened(self.method, self.look) if self.look < 1.0 and len(starts) > 1 else None
        if first is not None:
            looked = self._fitted(first, starts, data, run.within("look"), key, "first look")
            if run.interrupted or not any(made.result.good for made in looked.values()):
                best = best_of(list(looked.values()), data, run, self, key)
                # However well each look has ended, none is a fit.
                return best.ended(Result.interrupted) if run.interrupted else best
            starts = _best(looked, max(1, self.count // 4), data, run, key)
            run.say(f"starts {', '.join(str(i + 1) for i in starts)} go on")
        made = self._fitted(self.method, starts, data, run, key, "start")
        best = best_of(list(made.values()), data, run, self, key)
        # In processes, a start that was broken off, or never made, need not be the last.
        ended = [i for i, fit in made.items() if fit.result is not Result.interrupted]
        return best.ended(Result.interrupted) if run.interrupted and len(ended) < len(starts) else best

    def _fitted(
        self, method: AbstractMethod, starts: Sequence[int], data: Prepared, run: Run, key: PRNGKeyArray, what: str
    ) -> dict[int, Fit]:
        """The fits by number of the start, in the order of the starts, up to an interrupted one."""
        keys = {i: key if i == 0 else jr.fold_in(key, i) for i in starts}
        if isinstance(self.pool, Serial) or run.store is not None or len(starts) == 1:
            made: dict[int, Fit] = {}
            for i in starts:
                run.say(f"{what} {i + 1} of {self.count}")
                made[i] = method.fit(data, run.within(str(i + 1)), key=keys[i])
                if made[i].result is Result.interrupted:
                    break
            return made
        found: dict[int, Fit] = {}
        with doing(f"{what}: {len(starts)} in processes"):
            for n, made_there in fitted_in(self.pool, [(method, data, keys[i]) for i in starts]):
                if not isinstance(made_there, Fit):
                    run.say(f"{what} {starts[n] + 1} is lost: {made_there}")
                    continue
                found[starts[n]] = made_there
                run.say(f"{what} {starts[n] + 1}: {len(found)} of {len(starts)} done")
                if run.interrupted:
                    break
        if not found:
            # Ctrl-C came before any had begun. Here one ends at its first safe point, with the little that there is.
            found[starts[0]] = method.fit(data, run.within(str(starts[0] + 1)), key=keys[starts[0]])
        return {i: found[i] for i in starts if i in found}


def _best(fits: dict[int, Fit], count: int, data: Prepared, run: Run, key: PRNGKeyArray) -> list[int]:
    """The numbers of the best starts, in their own order."""
    good = {i: made for i, made in fits.items() if made.result.good}
    if len(good) <= count:
        return list(good)
    values, _ = compared(list(good.values()), data, run, key)
    order = np.argsort(-np.asarray(values), kind="stable")
    return sorted(list(good)[j] for j in order[:count])
