"""GPJax is imported when a kernel is needed, and not for what needs none; what comes late finds everything in place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.system

RECORDS = """
import pickle, sys
import numpy as np
import gpssm
GP = {"gpjax", "numpyro"}
def records():
    rng, y = np.random.default_rng(0), np.zeros(80)
    u = rng.standard_normal(80)
    for t in range(79):
        y[t + 1] = 0.8 * np.sin(y[t]) + 0.4 * u[t] + 0.05 * rng.standard_normal()
    return gpssm.Episodes([gpssm.Episode(y=y, u=u, dt=0.1)])
"""
OWN = '''
from typing import ClassVar
import equinox as eqx
import jax.numpy as jnp
from gpjax.kernels import AbstractKernel
from gpjax.parameters import PositiveReal, val
from gpssm.files import register
from gpssm.kernels import cross_covariance, diagonal

@register("mine.Own")
class Own(AbstractKernel):
    """variance / (1 + |x - y|^2)."""
    variance: PositiveReal = eqx.field(kw_only=True)
    name: ClassVar[str] = "Own"
    def __init__(self, variance=0.5):
        self.variance = PositiveReal(variance)
        AbstractKernel.__init__(self)
    def __call__(self, x, y):
        raise AssertionError("evaluated pair by pair")

@cross_covariance.register
def _(kernel: Own, x, y):
    return val(kernel.variance) / (1.0 + jnp.sum((x[:, None] - y[None]) ** 2, axis=-1))

@diagonal.register
def _(kernel: Own, x):
    return jnp.broadcast_to(val(kernel.variance), x.shape[:1])
'''


def run(folder: Path, code: str, **variables: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", RECORDS + code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "method", ["gpssm.Constant()", "gpssm.ARX()", "gpssm.Subspace(1)", "gpssm.Linear(1, iterations=5)"]
)
def test_linear_methods_fit_save_load_and_run_without_it(tmp_path: Path, method: str):
    code = f"""
before = records()
fit = gpssm.fit(before, {method}, progress=False)
gpssm.save(fit, "m.gpssm")
gpssm.load("m.gpssm").simulate(before[0], n_init=5, num_samples=3, seed=0)
gpssm.judge(fit.system, before)
print(*GP & set(sys.modules))
"""
    assert run(tmp_path, code) == ""


def test_the_command_line_fits_a_linear_model_without_it(tmp_path: Path):
    rows = "".join(f"{i % 3},{i * 7 % 5}\n" for i in range(120))
    (tmp_path / "a.csv").write_text("u,y\n" + rows)
    words = ["fit", "a.csv", "--outputs", "y", "--inputs", "u", "--dt", "0.1", "--method", "linear", "-o", "m.gpssm"]
    for given in (["fit", "--help"], words, ["info", "m.gpssm"]):
        code = f"""
from gpssm.cli import main
try:
    main({given!r})
except SystemExit as end:
    assert end.code in (None, 0)
print("\\nLOADED", *GP & set(sys.modules))
"""
        assert run(tmp_path, code).endswith("LOADED")


@pytest.mark.parametrize(
    "method", ["GPNARX(kernel=Own(), restarts=1, iterations=5)", "Polished(1, kernel=[Own()], num_inducing=5, steps=2)"]
)
def test_a_method_with_a_kernel_of_ones_own_travels_and_so_does_its_model(tmp_path: Path, method: str):
    """As to processes of a pool: whoever receives it has imported nothing yet."""
    (tmp_path / "mine.py").write_text(OWN)
    run(
        tmp_path,
        f"""
from mine import Own
method = gpssm.{method.replace("steps=2", "steps=2, iterations=2, network_steps=0")}
open("method", "wb").write(pickle.dumps(method))
""",
    )
    shown = """
mean = gpssm.predict.MeanOnly()
run = gpssm.load("m.gpssm").simulate(records()[0], n_init=5, num_samples=3, propagation=mean, seed=0)
print(run.samples.tobytes().hex())
"""
    received = """
fit = gpssm.fit(records(), pickle.load(open("method", "rb")), progress=False, seed=0)
gpssm.save(fit, "m.gpssm")
"""
    assert run(tmp_path, received + shown) == run(tmp_path, "import mine" + shown)


def test_functions_that_travel_find_the_rules_of_their_kernels(tmp_path: Path):
    make = """
import jax, jax.numpy as jnp
from gpssm.kernels import draw_prior, kernel_from_words
kernel = kernel_from_words("rbf+linear", dims=2)
draw = draw_prior(kernel, 2, num_features=8, dtype=jnp.dtype("float32"), key=jax.random.key(0))
open("draw", "wb").write(pickle.dumps(draw))
print(draw(jnp.ones(2)))
"""
    use = """
import jax.numpy as jnp
print(pickle.load(open("draw", "rb"))(jnp.ones(2)))
"""
    assert run(tmp_path, make) == run(tmp_path, use)


def test_a_program_that_is_being_traced_may_be_the_first_to_need_it(tmp_path: Path):
    code = """
import jax, jax.numpy as jnp
from gpssm.kernels._rbf import rbf
print(*jax.jit(lambda x: rbf(x, 1.0).lengthscale.unwrap())(jnp.full(2, 3.0)))
from gpjax.kernels import Constant  # one of its arguments is an array by default, made when it was imported
print([jax.core.Tracer] * any(isinstance(value, jax.core.Tracer) for value in Constant.__init__.__defaults__))
"""
    assert run(tmp_path, code).split() == ["3.0", "3.0", "[]"]


def test_rules_that_somebody_says_anew_stay_whenever_the_package_brings_its_own(tmp_path: Path):
    code = """
import jax.numpy as jnp
from gpssm.kernels import cross_covariance
assert not GP & set(sys.modules)
from gpjax.kernels import RBF, Matern12
@cross_covariance.register
def mine(kernel: RBF, x, y):
    return jnp.full((len(x), len(y)), 7.0)
points = jnp.zeros((1, 2))
print(*(f"{cross_covariance(kernel, points, points)[0, 0]:.3f}" for kernel in (RBF(), Matern12(variance=0.25))))
"""
    assert run(tmp_path, code) == "7.000 0.250"


@pytest.mark.parametrize("method", ["OutputError(1, num_inducing=5, rounds=2, iterations=3)", "GPNARX(restarts=1)"])
def test_what_is_kept_ready_is_found_whether_a_trace_has_imported_it_or_not(tmp_path: Path, method: str):
    """A program that is found is not traced, and then imports less: names of later ones must not depend on that."""
    code = f"""
fit = gpssm.fit(records(), gpssm.{method}, progress=False, seed=0)
fit.system.simulate(records()[0], n_init=5, num_samples=3, seed=0)
"""
    taken = ("JAX_", "GPSSM_", "XLA_")
    kept = []
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith(taken)]:
                patch.delenv(name)
            run(tmp_path, code, GPSSM_CACHE=str(tmp_path / "cache"))
        kept.append(sorted(path.name for path in (tmp_path / "cache").rglob("*.ready")))
    assert kept[0] == kept[1] != []
