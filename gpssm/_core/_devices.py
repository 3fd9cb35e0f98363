"""The devices over which episodes are spread: cores, accelerators, and those of other processes and hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from gpssm._core._sharding import EPISODES, AbstractShare, Sharded, Unsharded, fill_up

T = TypeVar("T")


@dataclass(frozen=True)
class Devices:
    """Devices that share the episodes of a training step among them.

    Each computes the bound and the gradients of its episodes; sums are exchanged once in a step (twice where q(u) is
    collapsed or takes natural-gradient steps). Numbers do not depend on the number of devices, but for rounding.
    """

    devices: tuple[Any, ...]
    """As `jax.devices()` lists them."""

    def __post_init__(self) -> None:
        if not self.devices:
            raise ValueError("no devices: Devices.all() takes all that there are")

    @classmethod
    def all(cls) -> "Devices":
        """All devices of all processes."""
        return cls(tuple(jax.devices()))

    @classmethod
    def first(cls, number: int) -> "Devices":
        """The first few devices of this process. On a CPU there is one unless the variable XLA_FLAGS says otherwise."""
        there = jax.local_devices()
        if not 1 <= number <= len(there):
            raise ValueError(
                f"{number} devices asked for, but there are {len(there)}; for more of them on a CPU set "
                f"XLA_FLAGS=--xla_force_host_platform_device_count={number} before Python starts"
            )
        return cls(tuple(there[:number]))

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that speaks and writes for all: process 0, or the only one."""
        return jax.process_index() == 0

    @property
    def num_processes(self) -> int:
        """Over how many processes the devices are spread."""
        return len({device.process_index for device in self.devices})

    @cached_property
    def mesh(self) -> Mesh:
        """The devices in a row."""
        return Mesh(np.asarray(self.devices), (EPISODES,), axis_types=(AxisType.Auto,))

    def share(self) -> Sharded:
        """What one device has to do."""
        return Sharded(len(self.devices))

    def spread(self, data: T) -> T:
        """Episodes over devices, filled up with episodes that weigh nothing. Every process gives the same data."""
        return self._put(fill_up(data, len(self.devices)), PartitionSpec(EPISODES))

    def copy(self, tree: T) -> T:
        """The arrays of a tree on all devices. Every process gives the same ones."""
        return self._put(tree, PartitionSpec())

    def _put(self, tree: T, spec: PartitionSpec) -> T:
        sharding = NamedSharding(self.mesh, spec)

        def place(leaf: Any) -> Any:
            if not eqx.is_array(leaf):
                return leaf
            values = np.asarray(leaf)
            return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

        return jax.tree.map(place, tree)


def here(tree: T) -> T:
    """Arrays that all devices hold, as arrays of this process alone."""
    return jax.tree.map(lambda leaf: leaf.addressable_data(0) if isinstance(leaf, Array) else leaf, tree)


def share_of(devices: Devices | None) -> AbstractShare:
    """What one place has to do: all, if there is but one."""
    return Unsharded() if devices is None else devices.share()


def shard_map_over_episodes(devices: Devices | None, function: Any, specs: Sequence[PartitionSpec]) -> Any:
    """A function of arrays that runs on every device, each with its part of the arguments; all end with the same
    result.

    Not checked by JAX (`check_vma=False`): its automatic bookkeeping would put an all-reduce into every inner loop.
    """
    if devices is None:
        return function
    return jax.shard_map(function, mesh=devices.mesh, in_specs=tuple(specs), out_specs=PartitionSpec(), check_vma=False)
