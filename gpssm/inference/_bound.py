"""A bound with all its terms by name."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Bound(eqx.Module):
    """A lower bound on the log-evidence of all episodes, in nats: the sum of its terms, whatever they are called."""

    values: tuple[Float[Array, "*B"], ...]
    jitter: Float[Array, "*B"]
    """Largest relative jitter that a kernel matrix needed; not part of the bound."""
    names: tuple[str, ...] = eqx.field(static=True)
    once: tuple[str, ...] = eqx.field(static=True, default=())
    """Terms that are counted once however many episodes there are, such as -KL[q(u) || p(u)]."""

    @classmethod
    def of(
        cls, terms: dict[str, Float[Array, "*B"]], *, jitter: Float[Array, "*B"], once: tuple[str, ...] = ()
    ) -> "Bound":
        """A bound of these terms, added up in their order."""
        unknown = set(once) - set(terms)
        if unknown:
            raise ValueError(f"'{min(unknown)}' is said to be counted once, but is none of the terms {list(terms)}")
        return cls(tuple(terms.values()), jitter, tuple(terms), once)

    def total(self) -> Float[Array, "*B"]:
        """The bound."""
        return sum(self.values[1:], self.values[0])

    def of_episodes(self) -> Float[Array, "*B"]:
        """The bound without what is counted once: what these episodes contribute, when all else has been paid."""
        paid = [value for name, value in zip(self.names, self.values, strict=True) if name in self.once]
        return self.total() - sum(paid, jnp.zeros_like(self.values[0]))

    def terms(self) -> dict[str, Float[Array, "*B"]]:
        """The terms by name."""
        return dict(zip(self.names, self.values, strict=True))

    def __getitem__(self, name: str) -> Float[Array, "*B"]:
        return self.terms()[name]
