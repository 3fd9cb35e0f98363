"""`--method`: the one table from names to methods, and which flags each of them uses.

Methods are imported when they are made: JAX takes a second to import, and complaints about flags should not.
"""

import difflib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gpssm.cli._options import not_negative, positive
from gpssm.cli._outcome import UsageError

if TYPE_CHECKING:
    from gpssm.fitting import AbstractMethod
    from gpssm.methods import Polished


EFFORTS = ("quick", "normal", "thorough")


@Parameter(name="*")
@dataclass(frozen=True)
class Flags:
    """Settings of methods as they were given; None where they were not, and the method's own default holds."""

    kernel: Annotated[
        str | None,
        Parameter(help="rbf (the default), matern12, matern32, matern52, rq, linear, arccosine, joined by + and *."),
    ] = None
    inducing: Annotated[
        int | None, Parameter(help="Inducing points: more describe wilder dynamics, at a cost. By default 50.")
    ] = None
    hidden: Annotated[
        int | None, Parameter(help="Size of the network that reads states off outputs. By default 32.")
    ] = None
    steps: Annotated[
        int | None, Parameter(help="Steps of training. By default 800; particle-gibbs 3000, of each chain.")
    ] = None
    polish: Annotated[
        int | None,
        Parameter(help="Iterations of the polishing that follows; 0 leaves it out. By default 150, auto 40."),
    ] = None
    network: Annotated[
        int | None,
        Parameter(help="Steps in which the network follows the polished model; 0 drops it. By default 400, auto 0."),
    ] = None
    effort: Annotated[
        str | None, Parameter(help="How much --method auto tries: quick (seconds), normal (the default) or thorough.")
    ] = None
    minutes: Annotated[
        float | None,
        Parameter(
            help="--method auto tries no more than is expected to take so long on one core. By default no limit."
        ),
    ] = None
    tries: Annotated[
        int | None,
        Parameter(help="Up to this many seeds are tried while the model is poor on the held-out part. By default 3."),
    ] = None

    def given(self) -> dict[str, Any]:
        """Those that were given."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def check(self) -> None:
        """Refuse numbers that cannot work."""
        for name, value in self.given().items():
            if name in ("polish", "network"):
                not_negative(value, f"--{name}")
            elif name == "effort":
                if value not in EFFORTS:
                    raise UsageError(f"--effort is {value!r}; there are {', '.join(EFFORTS)}")
            elif name != "kernel":
                positive(value, f"--{name}")

    def named(self, **names: str) -> dict[str, Any]:
        """Arguments of a method: `named(steps="num_steps")` passes --steps on under another name, if it was given."""
        return {argument: value for name, argument in names.items() if (value := self.given().get(name)) is not None}


@dataclass(frozen=True)
class Entry:
    """A method that can be asked for by name."""

    about: str
    uses: tuple[str, ...]
    """The flags it knows, beside --states and --seed."""
    make: Callable[[int, Flags], "AbstractMethod"]
    """The method for a number of states."""
    several: Callable[[range | None, Flags], "AbstractMethod"] | None = None
    """For a range of states, where the method itself makes use of all of them; others are compared."""
    chooses: bool = False
    """Whether it finds a number of states by itself where none is given."""
    shared: bool = False
    """Whether processes can share its work."""

    def with_direct(self) -> "Entry":
        """The same, of what a direct input term leaves of the outputs."""

        def of(make: Callable[..., "AbstractMethod"]) -> Callable[..., "AbstractMethod"]:
            return lambda states, flags: _direct(make(states, flags))

        return replace(self, make=of(self.make), several=None if self.several is None else of(self.several))


def _direct(method: "AbstractMethod") -> "AbstractMethod":
    from gpssm.methods import Direct

    return Direct(method)


def _auto(states: range | None, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import Auto

    asked = None if states is None else states[0] if len(states) == 1 else tuple(states)
    given = flags.named(effort="effort", minutes="minutes")
    return Auto(asked, **given, gp=replace(Auto().gp, **_settings_of_polished(flags)))


def _polished(states: int | None, flags: Flags) -> "Polished":
    from gpssm.methods import Polished

    return Polished(states, **_settings_of_polished(flags))


def _settings_of_polished(flags: Flags) -> dict[str, Any]:
    names = {"inducing": "num_inducing", "polish": "iterations", "network": "network_steps"}
    same = {name: name for name in ("kernel", "hidden", "steps", "tries")}
    return flags.named(**names, **same)


def _variational(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import ModelSpec, Network, Variational
    from gpssm.optimisers import Adam

    spec = ModelSpec(states, **flags.named(kernel="kernel", inducing="num_inducing"))
    return Variational(spec, q_x=Network(**flags.named(hidden="hidden")), optimiser=Adam(flags.steps or 800))


def _marginal(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import Marginal, ModelSpec

    names = flags.named(kernel="kernel", inducing="num_inducing")
    return Marginal(ModelSpec(states, **{"num_inducing": 30, **names}))


def _around_linear(states: range | None, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import AroundLinear, Marginal

    assert states is not None
    return Marginal(AroundLinear(tuple(states), **flags.named(inducing="num_inducing")))


def _particle_gibbs(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import ModelSpec, ParticleGibbs

    names = flags.named(kernel="kernel", inducing="num_inducing")
    sweeps: dict[str, Any] = {} if flags.steps is None else {"sweeps": max(flags.steps, 4), "warmup": flags.steps // 4}
    return ParticleGibbs(ModelSpec(states, **{"num_inducing": 20, **names}), **sweeps)


def _output_error(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import OutputError

    return OutputError(states, **flags.named(inducing="num_inducing"))


def _linear(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import Linear

    return Linear(order=states)


def _subspace(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import Subspace

    return Subspace(states)


def _subspaces(states: range | None, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import Subspace

    return Subspace(None if states is None else tuple(states))


def _arx(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import ARX

    return ARX(output_lags=states)


def _gp_narx(states: int, flags: Flags) -> "AbstractMethod":
    from gpssm.methods import GPNARX

    return GPNARX(output_lags=states, **flags.named(kernel="kernel", inducing="num_inducing"))


def _mixture(states: range | None, flags: Flags) -> "AbstractMethod":
    """Members from simple to complex, for each number of states."""
    from gpssm.methods import Stacked

    assert states is not None
    kinds = {"linear": _linear, "arx": _arx, "output-error": _output_error, "polished": _polished}
    return Stacked({f"{kind} {n}": make(n, flags) for kind, make in kinds.items() for n in states})


_NETWORK = ("kernel", "inducing", "hidden", "steps")
_ALL = (*_NETWORK, "polish", "network", "tries")
METHODS = {
    "auto": Entry(
        "several methods from simple to rich, and the best kept",
        (*_ALL, "effort", "minutes"),
        lambda states, flags: _auto(range(states, states + 1), flags),
        several=_auto,
        chooses=True,
        shared=True,
    ),
    "polished": Entry("a GP state-space model, sensible everything", _ALL, _polished, shared=True),
    "variational": Entry("the same, trained once with a network, as in the paper", _NETWORK, _variational, shared=True),
    "marginal": Entry(
        "the same with the states integrated out: noises and bands without bias, for small and medium data",
        ("kernel", "inducing"),
        _marginal,
    ),
    "marginal-around-linear": Entry(
        "the same from a linear system on, for long free runs, which say when training ends",
        ("inducing",),
        lambda states, flags: _around_linear(range(states, states + 1), flags),
        several=_around_linear,
    ),
    "particle-gibbs": Entry(
        "the same by draws from the exact posterior: for small data and a few minutes, to judge the others",
        ("kernel", "inducing", "steps"),
        _particle_gibbs,
    ),
    "output-error": Entry("a GP state-space model fitted to free runs", ("inducing",), _output_error),
    "subspace": Entry("a linear state-space model within a second", (), _subspace, several=_subspaces, chooses=True),
    "linear": Entry("the most likely linear state-space model", (), _linear),
    "arx": Entry("a linear regression on the last outputs and inputs", (), _arx),
    "gp-narx": Entry("a GP regression on the last outputs and inputs", ("kernel", "inducing"), _gp_narx),
    "mixture": Entry(
        "linear, arx, output-error and polished, each by how well it predicts what was held out",
        _ALL,
        lambda states, flags: _mixture(range(states, states + 1), flags),
        several=_mixture,
    ),
}


def find_method(name: str, flags: Flags) -> Entry:
    """The method of a name. A flag that was given and would do nothing is refused."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, list(METHODS), n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"--method is {name!r}; {meant}there are {', '.join(METHODS)}")
    entry = METHODS[name]
    idle = [flag for flag in flags.given() if flag not in entry.uses]
    if idle:
        users = [other for other, known in METHODS.items() if idle[0] in known.uses]
        raise UsageError(
            f"--{idle[0]} does nothing with --method {name}: leave it out, or choose a method that uses it "
            f"({', '.join(users)})"
        )
    flags.check()
    return entry


def check_kernel(words: str | None) -> None:
    """Refuse words that name no kernel before anything is computed."""
    if words is None:
        return
    from gpssm.kernels import kernel_from_words

    try:
        kernel_from_words(words, dims=1)
    except ValueError as error:
        raise UsageError(f"--{error}") from error
