"""Held-out episodes that are watched while a model is trained, and the step to go back to when they turn away."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm.fitting._problem import Tree, finish, held_out_bound
from gpssm.models import Batch

WATCH_EVERY = 200
"""Steps between two looks at held-out episodes."""
FELL = 0.1
"""Nats a time step by which the held-out bound may end below its best. One path is drawn for it: it is not exact."""


@dataclass
class Watch:
    """The bound on held-out episodes, and the model under which it was highest. Without such episodes it does
    nothing."""

    held_out: Batch | None
    best: Tree
    """Before the first look, where training began."""

    def stored(self, state: Any) -> Any:
        """What a checkpoint holds: where training stands, and the step that it may go back to."""
        return state if self.held_out is None else (state, self.best)

    def restored(self, stored: Any) -> Any:
        """Where training stood."""
        if self.held_out is None:
            return stored
        state, self.best = stored
        return state

    def look(
        self, tree: Tree, data: Batch, step: int, last: int, history: History, keys: tuple[PRNGKeyArray, ...]
    ) -> None:
        """Where a look is due, note the bound, with keys to finish the model and to draw the path."""
        if self.held_out is None or (step % WATCH_EVERY and step != last):
            return
        score = held_out_bound(finish(tree, data, key=keys[0])[0], self.held_out, key=keys[1])
        best = max((found for _, found in history.held_out if np.isfinite(found)), default=-np.inf)
        if score > best:
            self.best = tree
        history.held_out.append((step, score))

    def kept(self, tree: Tree, history: History) -> tuple[Tree, str | None]:
        """The model to keep, and what there is to say if it is not the last one."""
        finite = [look for look in history.held_out if np.isfinite(look[1])]
        if not finite:
            return tree, None
        step, score = max(finite, key=lambda look: look[1])
        last = history.held_out[-1][1]
        if not last < score - FELL:
            return tree, None
        # What is kept has not seen the rest.
        history.held_out = [look for look in history.held_out if look[0] <= step]
        return (
            self.best,
            f"the held-out bound fell from {score:.3f} at step {step} to {last:.3f}: went back to that step",
        )
