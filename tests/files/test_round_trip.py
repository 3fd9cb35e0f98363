"""What is saved comes back bit for bit."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import AbstractKernel

import gpssm
from gpssm._core._params import cast
from gpssm.files import _kernel_classes, _registry
from gpssm.files._encode import decode, encode
from gpssm.fitting._identity import digest_tree
from gpssm.inference import TanhRNN
from tests.reference.compiling import jit
from tests.reference.small_system import record
from tests.reference.stored_systems import KERNELS, linear_system, others, system, unsigned_system

CLASSES = _registry.CLASSES | _kernel_classes.CLASSES


def _same(a: object, b: object) -> None:
    """Classes, static fields and arrays: all equal to the bit."""
    assert digest_tree(a) == digest_tree(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert type(x) is type(y) or eqx.is_array(x)
        assert np.array_equal(x, y)


@jit
def _value(kernel: AbstractKernel) -> jax.Array:
    return kernel(jnp.array([0.3, -1.2]), jnp.array([0.4, 0.9]))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_comes_back(name):
    kernel = jit(lambda: cast(KERNELS[name](), np.float64))()
    node, tensors = encode(kernel, "k")
    again = decode(node, tensors)
    _same(kernel, again)
    assert np.array_equal(_value(kernel), _value(again))


def test_names_and_classes_of_both_tables_find_each_other():
    assert len(CLASSES) == len(_registry.CLASSES) + len(_kernel_classes.CLASSES)
    for name, cls in CLASSES.items():
        assert _registry.class_named(name) is cls and _registry.name_of(cls) == name
    for name, engine in _kernel_classes.ENGINES.items():
        assert _registry.engine_named(name) is engine and _registry.engine_name(type(engine)) == name


def test_every_class_of_the_table_is_tried():
    """Otherwise a class could be listed and never have been written."""
    seen: set[type] = set()

    def visit(node: object) -> None:
        if eqx.is_array(node) or not (isinstance(node, tuple | list) or dataclasses.is_dataclass(node)):
            return
        seen.add(type(node))
        parts = node if isinstance(node, tuple | list) else [getattr(node, f.name) for f in dataclasses.fields(node)]
        for part in parts:
            visit(part)

    visit([kernel() for kernel in KERNELS.values()])
    visit([linear_system(), unsigned_system(), system(), system(cell=TanhRNN), *others().values()])
    missing = {name for name, cls in CLASSES.items() if cls not in seen}
    assert missing == {"gpjax.parameters.LowerTriangular"}, "no kernel of GPJax has one; users may"


@pytest.mark.system
def test_a_system_predicts_the_same_bits(tmp_path):
    before, episode = system(), record(20, seed=9)
    gpssm.save(before, tmp_path / "m.gpssm")
    after = gpssm.load(tmp_path / "m.gpssm")
    _same((before.model, before.recognition), (after.model, after.recognition))
    runs = [s.simulate(episode, n_init=5, num_samples=8, key=jr.key(1)) for s in (before, after)]
    assert np.array_equal(runs[0].samples, runs[1].samples)
    assert np.array_equal(before.smooth(episode).means, after.smooth(episode).means)
    assert (after.output_names, after.input_names, after.dt) == (("level",), ("valve",), 0.5)
    assert after.scaler.to_dict() == before.scaler.to_dict()


@pytest.mark.parametrize("name", others())
def test_every_kind_of_model_predicts_the_same_bits(name, tmp_path):
    before, episode = others()[name], record(20, seed=9)
    gpssm.save(before, tmp_path / "m.gpssm")
    after = gpssm.load(tmp_path / "m.gpssm")
    assert type(after) is type(before) and after.channels == before.channels
    runs = [s.simulate(episode, n_init=5, num_samples=8, seed=1).samples for s in (before, after)]
    assert np.array_equal(*runs)
    assert gpssm.describe(tmp_path / "m.gpssm")["kind"] == type(before).__name__


def test_a_sensor_without_sign_comes_back(tmp_path):
    before, episode = unsigned_system(), record(20, seed=9)
    gpssm.save(before, tmp_path / "m.gpssm")
    after = gpssm.load(tmp_path / "m.gpssm")
    _same(before.model, after.model)
    runs = [s.simulate(episode, n_init=5, num_samples=8, key=jr.key(1)) for s in (before, after)]
    assert np.array_equal(runs[0].samples, runs[1].samples)


def test_the_history_comes_back(tmp_path):
    before = system()
    gpssm.save(before, tmp_path / "m.gpssm")
    after = gpssm.load(tmp_path / "m.gpssm").history
    for field in dataclasses.fields(gpssm.History):
        np.testing.assert_equal(getattr(after, field.name), getattr(before.history, field.name), err_msg=field.name)


def test_a_system_without_network_history_and_time_step(tmp_path):
    before = linear_system()
    gpssm.save(before, tmp_path / "m.gpssm")
    after = gpssm.load(tmp_path / "m.gpssm")
    _same(before.model, after.model)
    assert (after.recognition, after.history, after.dt) == (None, None, None)
    about = gpssm.describe(tmp_path / "m.gpssm")
    assert (about["kind"], about["transition"], about["states"]) == ("System", "LinearTransition", "2")


def test_the_parameters_that_are_counted_are_those_of_the_model(tmp_path):
    """And not the numbers of its history."""
    before = dataclasses.replace(others()["constant"], history=system().history)
    gpssm.save(before, tmp_path / "m.gpssm")
    assert gpssm.describe(tmp_path / "m.gpssm")["parameters"] == 2, "a mean and a spread"


def test_the_same_system_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        gpssm.save(system(), tmp_path / name, settings={"seed": 3})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_single_precision_callers_get_double_precision(tmp_path):
    gpssm.save(system(), tmp_path / "m")
    with jax.enable_x64(False):
        loaded = gpssm.load(tmp_path / "m")
    assert {leaf.dtype for leaf in jax.tree.leaves(loaded.model)} == {np.dtype(np.float64)}


def test_other_programs_can_read_the_tensors(tmp_path):
    from safetensors.numpy import load_file

    before = system()
    gpssm.save(before, tmp_path / "m")
    assert np.array_equal(
        load_file(tmp_path / "m")["system.model.transition.inducing"], before.model.transition.inducing
    )


class Mine(AbstractKernel):
    """A user's own kernel."""

    def __call__(self, x, y):
        return jnp.sum(x * y)


def test_an_unknown_class_is_named(tmp_path):
    with pytest.raises(gpssm.FileError, match=r"model\.transition\.kernels\.0 is of class .*Mine"):
        gpssm.save(system(Mine()), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_broken_models_are_not_saved(tmp_path, bad):
    gpssm.save(system(), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    model = eqx.tree_at(lambda m: m.transition.q_mean, system().model, replace_fn=lambda q: q.at[0, 2].set(bad))
    with pytest.raises(gpssm.FileError, match=r"model\.transition\.q_mean is not finite"):
        gpssm.save(dataclasses.replace(system(), model=model), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


@pytest.mark.parametrize("settings", [{"a": np.nan}, {"a": object()}, {"a": {1, 2}}])
def test_settings_must_be_json(tmp_path, settings):
    with pytest.raises(gpssm.FileError, match="plain JSON"):
        gpssm.save(system(), tmp_path / "m", settings=settings)


def test_units_belong_to_channels(tmp_path):
    with pytest.raises(ValueError, match="'flow', which is neither"):
        gpssm.save(system(), tmp_path / "m", units={"flow": "l/s"})
