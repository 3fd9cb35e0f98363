"""The bound with all its terms by name."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Bound(eqx.Module):
    """A lower bound on the log-evidence of all episodes, in nats; the bound is the sum of its terms."""

    likelihood: Float[Array, ""]
    """Sum of E log p(y | x) over the observed outputs."""
    initial: Float[Array, ""]
    """E log p(x[0])."""
    transition: Float[Array, ""]
    """Sum of E log p(x[t+1] | x[t], f) over states and functions."""
    entropy: Float[Array, ""]
    """Entropy of q(X)."""
    inducing: Float[Array, ""]
    """-KL[q(u) || p(u)], counted once however many episodes there are."""
    jitter: Float[Array, ""]
    """Largest relative jitter that a kernel matrix needed; not part of the bound."""

    def total(self) -> Float[Array, ""]:
        """The bound."""
        return self.likelihood + self.initial + self.transition + self.entropy + self.inducing

    def terms(self) -> dict[str, Float[Array, ""]]:
        """The terms by name, largest responsibility first."""
        names = ("likelihood", "transition", "entropy", "initial", "inducing")
        return {name: jnp.asarray(getattr(self, name)) for name in names}
