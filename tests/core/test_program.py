"""A compiled program gives what its function gives; a process that finds it on disk neither traces nor compiles it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

from gpssm._core import _skeleton
from gpssm._core._program import Program

ROOT = Path(__file__).parents[2]
traces: list[object] = []


def _work(tree, *, power=2, word="a"):
    traces.append(power)
    return {"sum": jnp.sum(tree["x"] ** power), "word": word * power, "parts": (tree["x"] + 1, None, power)}


def _plainly(function):
    return Program(function, lambda: None)


def test_the_answer_is_that_of_the_function_with_what_is_no_array():
    x = jnp.asarray([1.0, 2.0, 3.0])
    found = _plainly(_work)({"x": x}, power=3, word="b")
    assert found["word"] == "bbb" and found["parts"][1:] == (None, 3)
    assert float(found["sum"]) == 36.0
    np.testing.assert_array_equal(found["parts"][0], [2.0, 3.0, 4.0])


def test_it_is_compiled_once_for_each_kind_of_arguments():
    program, before = _plainly(_work), len(traces)
    double, single = jnp.ones(3), jnp.ones(3, jnp.float32)
    calls = [double, double * 2, np.ones(3), single, jnp.ones(4)]
    for x in calls:
        program({"x": x})
    assert len(traces) - before == 3  # three of one kind, then another precision and another length
    # Equal, and not the same: what comes of them differs.
    assert [program({"x": double}, power=power)["parts"][2] is power for power in (1, True, 1.0)[:2]] == [True, True]
    assert len(traces) - before == 5
    with jax.numpy_rank_promotion("allow"):
        program({"x": double})
    assert len(traces) - before == 6
    program({"x": double})
    assert len(traces) - before == 6


def test_positions_names_and_defaults_are_the_same_arguments():
    program, before = _plainly(lambda x, scale=2.0: traces.append(0) or x * scale), len(traces)
    x = jnp.ones(2)
    values = [program(x, 2.0), program(x, scale=2.0), program(scale=2.0, x=x), program(x)]
    assert all(float(value[0]) == 2.0 for value in values)
    assert len(traces) - before <= 2


def test_inside_a_trace_and_under_transformations_it_is_part_of_them():
    program = _plainly(lambda x: x**3)
    np.testing.assert_allclose(jax.grad(program)(2.0), 12.0)
    np.testing.assert_allclose(jax.vmap(program)(jnp.arange(3.0)), [0, 1, 8])
    np.testing.assert_allclose(jax.jit(program)(2.0), 8.0)


def test_keys_are_arguments():
    program = _plainly(lambda key: jr.normal(key, (2,)))
    for seed in (0, 1):
        np.testing.assert_array_equal(program(jr.key(seed)), jax.jit(lambda k: jr.normal(k, (2,)))(jr.key(seed)))


def test_whoever_clears_the_caches_of_jax_means_these_too():
    program, before = _plainly(_work), len(traces)
    program({"x": jnp.ones(5)})
    jax.clear_caches()
    program({"x": jnp.ones(5)})
    program({"x": jnp.ones(5)})
    assert len(traces) - before == 2


PROCESS = """
import os, sys, jax, numpy as np, jax.numpy as jnp, jax.random as jr
import gpssm
from gpjax.kernels import RBF
from gpssm.kernels._evaluate import cross_covariance
from gpssm._core import _compile, _linalg, _ready
from gpssm._core._precision import double_precision
{before}
traced = []
# As if it were written in the library: functions of others are not kept.
place = dict(vars(_linalg), cross_covariance=cross_covariance, jr=jr, traced=traced)
exec('''
def work(kernel, x, key, count=3):
    traced.append(1)
    k = cross_covariance(kernel, x, x)
    values = jnp.linalg.cholesky(k + jnp.eye(len(x)) * 1e-3) @ jr.normal(key, (len(x),), x.dtype)
    return {{"values": values, "kernel": kernel, "count": count}}
''', place)
program = _compile.compile_for_setup(place["work"])
@double_precision
def main():
    kernel = {kernel}
    found = program(kernel, jnp.linspace(0.0, 1.0, 5)[:, None], jr.key(7))
    assert jax.tree.structure(found["kernel"]) == jax.tree.structure(kernel) and found["count"] == 3
    print(len(traced), np.asarray(found["values"]).tobytes().hex())
main()
"""


def run(tmp_path: Path, before: str = "", kernel: str = "RBF(n_dims=1)", **variables: str) -> tuple[int, str]:
    """How often a process traced, and the bits of its answer."""
    taken = ("JAX_", "GPSSM_", "XLA_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(taken)}
    environment |= {"GPSSM_CACHE": str(tmp_path), **variables}
    code = PROCESS.format(before=before, kernel=kernel)
    # In the folder where it starts, Python finds the package first.
    folder = Path(tmp_path.anchor) if "PYTHONPATH" in variables else ROOT
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    traced, _, bits = done.stdout.strip().rpartition(" ")
    return int(traced), bits


def ready(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.rglob("*.ready"))


@pytest.mark.system
def test_the_next_process_does_not_trace_and_gives_the_same_bits(tmp_path: Path):
    first = run(tmp_path, PYTHONHASHSEED="1")
    assert first[0] == 1 and len(ready(tmp_path)) == 1
    # Another order of what is hashed, and a program that calls LAPACK before anything else has.
    assert run(tmp_path, PYTHONHASHSEED="2") == (0, first[1])
    assert len(ready(tmp_path)) == 1


@pytest.mark.system
def test_what_may_be_another_program_is_traced(tmp_path: Path):
    expected = run(tmp_path)[1]
    for change in (
        {"kernel": "RBF(n_dims=1, lengthscale=1.0) + RBF(n_dims=1)"},
        {"before": "jax.config.update('jax_default_matmul_precision', 'float32')"},
        {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"},
        # Another state of the code.
        {"before": "from gpssm._core import _code_state; _code_state._state = lambda package: (b'other', ())"},
    ):
        assert run(tmp_path, **change)[0] == 1, change
    assert run(tmp_path) == (0, expected)


@pytest.mark.system
def test_what_others_may_change_unseen_is_not_kept(tmp_path: Path):
    own_class = "class Own(RBF): pass\nOwn.__module__ = 'mine'"
    own_rule = "@cross_covariance.register\ndef other(kernel: RBF, x, y):\n    return jnp.ones((len(x), len(y)))"
    for change in ({"before": own_class, "kernel": "Own(n_dims=1)"}, {"before": own_rule}):
        for _ in range(2):
            assert run(tmp_path, **change)[0] == 1
        assert not ready(tmp_path)


@pytest.mark.system
def test_the_users_own_folder_and_switch_are_respected(tmp_path: Path):
    for variables in ({"GPSSM_CACHE": "off"}, {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "own")}):
        assert run(tmp_path, **variables)[0] == 1
    assert not ready(tmp_path)


@pytest.mark.system
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "another"])
def test_a_damaged_file_costs_time_and_nothing_else(tmp_path: Path, damage: str):
    expected = run(tmp_path)[1]
    (path,) = ready(tmp_path)
    held = path.read_bytes()
    middle = len(held) // 2
    path.write_bytes(
        {
            "cut": held[:middle],
            "flipped": held[:middle] + bytes([held[middle] ^ 1]) + held[middle + 1 :],
            "empty": b"",
            "another": b"x" * len(held),
        }[damage]
    )
    # JAX gives it the copy of its own, which cannot be written once more: it is compiled anew for those that follow.
    assert run(tmp_path) == (2, expected)
    assert run(tmp_path) == (0, expected)
    # What cannot be kept for another reason is not compiled for that again and again.
    for path in ready(tmp_path):
        path.unlink()
    assert run(tmp_path) == (1, expected)


@pytest.mark.system
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the administrator gives files away")
def test_a_program_that_somebody_else_has_put_there_is_not_run(tmp_path: Path):
    expected = run(tmp_path)[1]
    (path,) = ready(tmp_path)
    os.chown(path, 54321, 54321)
    assert run(tmp_path) == (2, expected)
    (path,) = ready(tmp_path)
    path.unlink()
    os.mkfifo(path)
    assert run(tmp_path) == (1, expected)


def test_within_a_mesh_programs_are_those_of_jax():
    program = _plainly(lambda x: jnp.ones(4) + x.sum())
    x = jnp.ones(3)
    program(x)
    with jax.set_mesh(jax.make_mesh((1,), ("a",))):
        there = program(np.ones(3)).sharding
    assert there != program(x).sharding == jax.jit(lambda x: x + 1)(x).sharding


def test_arrays_that_are_laid_out_in_their_own_way_are_taken():
    from jax.experimental.layout import Format, Layout

    program, x = _plainly(lambda x: 2.0 * x), jnp.arange(6.0).reshape(2, 3)
    expected = program(x)
    turned = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), x.sharding))
    np.testing.assert_array_equal(program(turned), expected)
    with pytest.raises(ValueError, match="mine"):
        _plainly(_failing)(x)


def _failing(x):
    raise ValueError("mine")


def test_zero_and_minus_zero_are_not_the_same():
    program = _plainly(lambda x, sign: jnp.copysign(x, sign))
    assert [float(program(jnp.ones(()), sign)) for sign in (0.0, -0.0)] == [1.0, -1.0]


@pytest.mark.system
def test_a_program_that_lacks_a_part_is_made_anew(tmp_path: Path):
    # What JAX has read from disk cannot be written once more; here nobody hears that it was read.
    expected = run(tmp_path)[1]
    for path in ready(tmp_path):
        path.unlink()
    deaf = "_ready._listen(); jax.monitoring.clear_event_listeners()"
    assert run(tmp_path, before=deaf) == (1, expected)
    # Whether anything was kept or not, those that follow give the same, and what is kept at last can be used.
    assert run(tmp_path)[1] == expected
    assert run(tmp_path)[1] == expected


@pytest.mark.system
def test_code_that_is_changed_while_it_runs_is_neither_kept_nor_found(tmp_path: Path):
    package = tmp_path / "package"
    shutil.copytree(ROOT / "gpssm", package / "gpssm", ignore=shutil.ignore_patterns("__pycache__"))
    touch = "from pathlib import Path; Path(gpssm.__file__).with_name('demo').joinpath('__init__.py').touch()"
    cache = tmp_path / "cache"
    expected = run(cache, before=touch, PYTHONPATH=str(package))[1]
    assert not ready(cache)
    assert run(cache, PYTHONPATH=str(package)) == (1, expected)
    assert run(cache, PYTHONPATH=str(package)) == (0, expected)
    assert run(cache, before=touch, PYTHONPATH=str(package)) == (1, expected)


@pytest.mark.parametrize("number", range(6))
def test_parts_that_are_numbers_come_back_whatever_their_place(number: int):
    kernel = RBF(n_dims=number)
    given = jax.tree.structure((kernel, number))
    again = _skeleton.loads(_skeleton.dumps((kernel, number), given), given)
    assert jax.tree.structure(again) == jax.tree.structure((kernel, number))
