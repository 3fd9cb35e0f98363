"""Classes of one's own in model files: what is registered comes back, and nothing else does."""

import abc
import json
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF, AbstractKernel
from gpjax.parameters import PositiveReal, val

import gpssm
from gpssm.files import FileError, _kernel_classes, _registry, register
from gpssm.files._encode import check_savable, decode, encode
from tests.reference.small_system import record
from tests.reference.stored_systems import system


@register
class Wave(AbstractKernel):
    """exp(-sum_q (1 - cos(w (x_q - y_q)))): a kernel of ours."""

    frequency: PositiveReal = eqx.field(kw_only=True)

    def __init__(self, frequency: float):
        self.frequency = PositiveReal(frequency)
        AbstractKernel.__init__(self)

    def __call__(self, x, y):
        return jnp.exp(-jnp.sum(1.0 - jnp.cos(val(self.frequency) * (x - y))))


@register("mylab.Net")
class Net(eqx.Module):
    """Parts of somebody else, static fields, and a rule that its fields obey."""

    layers: tuple[eqx.nn.Linear, ...]
    sizes: tuple[int, ...] = eqx.field(static=True)

    def __check_init__(self):
        if len(self.layers) != len(self.sizes):
            raise ValueError("a size for each layer")


@register(name="mylab.Limits")
@dataclass(frozen=True)
class Limits:
    """No Equinox module, and a number that the constructor computes."""

    low: float
    width: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "width", 2.0 * self.width)


register(eqx.nn.Linear)


class Unknown(eqx.Module):
    """Not registered."""

    weight: jax.Array


def net() -> Net:
    keys = jr.split(jr.key(0))
    return Net((eqx.nn.Linear(2, 3, key=keys[0]), eqx.nn.Linear(3, 1, use_bias=False, key=keys[1])), (3, 1))


OBJECTS: dict[str, Callable[[], object]] = {
    f"{__name__}.Wave": lambda: Wave(1.7),
    "mylab.Net": net,
    "mylab.Limits": lambda: Limits(-0.5, 3.0),
    "equinox.nn._linear.Linear": lambda: eqx.nn.Linear(2, 2, key=jr.key(1)),
}


def stored(thing: object) -> tuple[dict, dict]:
    node, tensors = encode(thing, "thing")
    return json.loads(json.dumps(node)), tensors


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(_registry, "_registered", dict(_registry._registered))
    monkeypatch.setattr(_registry, "_names", dict(_registry._names))


@pytest.mark.parametrize("name", OBJECTS)
def test_registered_objects_come_back_under_their_names(name):
    thing = OBJECTS[name]()
    node, tensors = stored(thing)
    assert node["class"] == name
    again = decode(node, tensors)
    assert type(again) is type(thing)
    assert stored(again)[0] == node
    for x, y in zip(jax.tree.leaves(again), jax.tree.leaves(thing), strict=True):
        assert type(x) is type(y) and np.array_equal(x, y)


def test_a_system_with_a_kernel_of_ones_own_predicts_the_same_bits(tmp_path):
    before, episode = system(Wave(1.7)), record(20, seed=9)
    gpssm.save(before, tmp_path / "m")
    after = gpssm.load(tmp_path / "m")
    assert [type(kernel) for kernel in after.model.transition.kernels] == [Wave]
    runs = [s.simulate(episode, n_init=5, num_samples=8, key=jr.key(1)) for s in (before, after)]
    assert np.array_equal(runs[0].samples, runs[1].samples)


def test_a_file_whose_class_nobody_has_registered_says_what_to_do(tmp_path, monkeypatch):
    gpssm.save(system(Wave(1.7)), tmp_path / "m")
    monkeypatch.setattr(_registry, "_registered", {})
    with pytest.raises(FileError, match=r"m: .*test_register\.Wave.*import the module that registers it first"):
        gpssm.load(tmp_path / "m")


def test_a_class_that_gpssm_itself_does_not_know_is_of_a_later_version():
    with pytest.raises(FileError, match=r"does not know .*gpssm\.Student.*of a later version"):
        decode({"class": "gpssm.Student", "fields": {}}, {})


def test_the_checks_of_loading_hold_for_registered_classes():
    node, tensors = stored(net())
    fields = node["fields"]
    for change, reason in (
        ({"sizes": {"tuple": [3]}}, "a size for each layer"),
        ({"sizes": {"tensor": "thing.layers.0.weight"}}, "cannot be a tensor"),
        ({"__class__": "Limits"}, "unknown field '__class__'"),
        ({"layers": {"class": "os.system", "fields": {}}}, r"does not know .*os\.system"),
    ):
        with pytest.raises(ValueError, match=reason):
            decode({**node, "fields": {**fields, **change}}, tensors)
    with pytest.raises(FileError, match="lacks the field 'sizes'"):
        decode({**node, "fields": {"layers": fields["layers"]}}, tensors)


@pytest.mark.usefixtures("forgetful")
def test_names_are_given_once():
    class Other(eqx.Module):
        pass

    with pytest.raises(ValueError, match=r"'mylab\.Net' is already the name of .*test_register\.Net"):
        register(Other, "mylab.Net")
    register(Net, "mylab.Net")  # once more is no harm
    register(RBF, "mylab.RBF")  # understood, and not written
    assert encode(RBF(), "x")[0]["class"] == "gpjax.kernels.RBF"
    for name in ("gpssm.Other", "gpjax.kernels.Other", "paramax.Other", "gpssm"):
        with pytest.raises(ValueError, match="reserved"):
            register(Other, name)
    for name in ("", " ", "a\nb"):
        with pytest.raises(ValueError, match="cannot be the name"):
            register(Other, name)
    with pytest.raises(ValueError, match=r"gpjax.*reserved"):
        register(RBF)
    assert all(_registry.is_reserved(name) for name in (*_registry.CLASSES, *_kernel_classes.CLASSES))
    with pytest.raises(FileError, match="Other"):
        encode(Other(), "x")


@pytest.mark.usefixtures("forgetful")
def test_a_module_that_is_run_again_replaces_its_classes():
    def defined_again(place: str) -> type:
        class Net(eqx.Module):
            layers: tuple = ()
            sizes: tuple = eqx.field(static=True, default=())

        Net.__module__, Net.__qualname__ = __name__, place
        return Net

    node, tensors = stored(net())
    new = register("mylab.Net")(defined_again("Net"))
    assert type(decode(node, tensors)) is new
    assert stored(net())[0] == node, "objects from before can still be saved"
    # Each call of a function makes another class, though all have one name.
    register(defined_again("make.<locals>.Net"), "mylab.Local")
    with pytest.raises(ValueError, match="already the name"):
        register(defined_again("make.<locals>.Net"), "mylab.Local")


@pytest.mark.usefixtures("forgetful")
def test_a_second_name_is_understood_and_the_first_is_written():
    register(Net, "oldlab.Net")
    node, tensors = stored(net())
    assert node["class"] == "mylab.Net"
    assert type(decode({**node, "class": "oldlab.Net"}, tensors)) is Net


@pytest.mark.parametrize("module", ["__main__", "__mp_main__", "here"])
def test_a_class_that_cannot_be_imported_needs_a_name(module):
    local = type("Local", (eqx.Module,), {"__module__": module, "__qualname__": "Local"})
    if module == "here":
        local.__qualname__ = "make.<locals>.Local"
    with pytest.raises(ValueError, match=r"nobody can import it.*@register\(\"mylab.Local\"\)"):
        register(local)


class Plain:
    """No fields."""


class Undecorated(Limits):
    """Fields of its own that no decorator has seen."""

    more: int


@dataclass(slots=True)
class Slotted:
    """No dictionary."""

    low: float


class AbstractThing(eqx.Module):
    """Nothing to make."""

    @abc.abstractmethod
    def answer(self) -> int:
        """Nothing."""


@pytest.mark.parametrize("cls", [Plain, Undecorated, Slotted, AbstractThing, int])
def test_classes_without_fields_to_store_are_refused(cls):
    with pytest.raises(TypeError, match=r"no fields that a file could store|has slots or is abstract"):
        register(cls, f"mylab.{cls.__name__}")


def test_only_classes_are_registered():
    with pytest.raises(TypeError):
        register(lambda x: x)  # type: ignore[arg-type]


REFUSED = {
    "class": (lambda: Unknown(jnp.ones(2)), r"\.1\.layers is of class .*Unknown.*gpssm\.files\.register"),
    "function": (lambda: jnp.tanh, r"\.1\.layers is of class .*no functions"),
    "lambda": (lambda: lambda x: x, r"\.1\.layers is of class builtins\.function.*no functions"),
    "dictionary": (lambda: {"a": 1}, r"\.1\.layers is of class builtins\.dict.*arrays, numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_saved_is_refused_beforehand_with_the_same_words(name):
    make, reason = REFUSED[name]
    tree = (Wave(1.0), eqx.tree_at(lambda n: n.layers, net(), make(), is_leaf=lambda n: n is None))
    with pytest.raises(FileError, match=f"^model{reason}") as early:
        check_savable(tree)
    with pytest.raises(FileError) as late:
        encode(tree, "model")
    assert str(early.value) == str(late.value)


def test_the_check_looks_at_no_array():
    """So that it takes no time, and can be asked of a model that is being traced."""
    check_savable(eqx.tree_at(lambda n: n.layers[0].weight, net(), jnp.full((3, 2), jnp.nan)))

    @eqx.filter_jit
    def traced(tree: object) -> None:
        check_savable(tree)

    traced((net(), Wave(1.0), Limits(0.0), RBF(), None))
