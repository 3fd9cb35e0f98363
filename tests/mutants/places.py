"""What is changed, and which tests concern it, those that tell most first.

A file that is not listed has no mathematics of its own: it starts devices, keeps programs, writes words, or checks what
users ask for, and has tests of another kind.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CONCERN: dict[str, tuple[str, ...]] = {
    "gpssm/_core/_gaussian.py": ("core/test_gaussian.py", "models/test_posterior.py", "models/test_sparse_gp.py"),
    "gpssm/_core/_linalg.py": ("core/test_linalg.py", "models/test_sparse_gp.py", "models/test_many_states.py"),
    "gpssm/_core/_stability.py": ("core/test_stability.py", "methods/test_autoregressive.py"),
    "gpssm/_core/_waves.py": ("core/test_waves.py",),
    "gpssm/kernels/_angles.py": ("core/test_kernels.py", "core/test_prior_draws.py"),
    "gpssm/kernels/_arccosine.py": ("core/test_kernels.py", "core/test_prior_draws.py"),
    "gpssm/kernels/_evaluate.py": ("core/test_kernels.py",),
    "gpssm/kernels/_features.py": ("core/test_prior_draws.py",),
    "gpssm/kernels/_gpjax.py": ("core/test_kernels.py", "core/test_prior_draws.py"),
    "gpssm/kernels/_manifold.py": ("core/test_kernels.py", "core/test_prior_draws.py"),
    "gpssm/models/_batch.py": ("models/test_batch.py", "inference/test_bound_invariances.py"),
    "gpssm/models/_gpssm.py": ("models/test_gpssm.py", "models/test_subspace.py", "methods/test_variational.py"),
    "gpssm/models/_inducing_inputs.py": ("models/test_gpssm.py", "methods/test_output_error.py"),
    "gpssm/models/_joint.py": ("predict/test_joint.py", "predict/test_joint_moments.py"),
    "gpssm/models/_posterior.py": ("models/test_posterior.py", "inference/test_bound_linear.py"),
    "gpssm/models/_subspace.py": (
        "models/test_subspace.py",
        "methods/test_subspace.py",
        "predict/test_autoregression.py",
    ),
    "gpssm/models/emission/": (
        "models/test_emission.py",
        "filters/test_own_emission.py",
        "methods/test_output_error.py",
    ),
    "gpssm/models/transition/": (
        "models/test_sparse_gp.py",
        "models/test_collapse.py",
        "models/test_function_draws.py",
        "models/test_blocks.py",
        "filters/test_filters.py",
    ),
    "gpssm/inference/_bound.py": ("inference/test_bound.py", "inference/test_bound_linear.py"),
    "gpssm/inference/_expectation.py": (
        "inference/test_nodes.py",
        "inference/test_bound_gp.py",
        "inference/test_bound_linear.py",
    ),
    "gpssm/inference/_mean_field.py": ("inference/test_bound_linear.py", "inference/test_bound_gp.py"),
    "gpssm/inference/_q_u.py": (
        "inference/test_bound_gp.py",
        "inference/test_bound_gradient.py",
        "models/test_collapse.py",
        "optimisers/test_alternating.py",
        "methods/test_polished.py",
    ),
    "gpssm/inference/gibbs/": ("inference/test_gibbs.py", "methods/test_particle_gibbs.py"),
    "gpssm/inference/marginal/": (
        "inference/test_marginal.py",
        "inference/test_marginal_dense.py",
        "inference/test_point_mass.py",
        "methods/test_marginal.py",
    ),
    "gpssm/inference/_smoother.py": ("inference/test_bound_linear.py", "methods/test_gp_correction.py"),
    "gpssm/filters/": (
        "filters/test_filters.py",
        "filters/test_gp_filters.py",
        "filters/test_own_emission.py",
        "predict/test_joint_moments.py",
    ),
    "gpssm/predict/_constant.py": ("predict/test_constant.py", "predict/test_conformance.py"),
    "gpssm/predict/_linear.py": ("predict/test_linear_predictor.py", "methods/test_linear_pieces.py"),
    "gpssm/predict/_kalman.py": ("predict/test_linear_predictor.py", "methods/test_linear_pieces.py"),
    "gpssm/predict/_mixture.py": ("predict/test_mixture.py", "evaluate/test_stacking.py"),
    "gpssm/predict/_propagate.py": ("predict/test_propagation.py", "predict/test_linear_rollouts.py"),
    "gpssm/predict/_rollout.py": (
        "predict/test_rollout.py",
        "evaluate/test_held_out.py",
        "predict/test_linear_rollouts.py",
    ),
    "gpssm/predict/_run.py": (
        "predict/test_linear_rollouts.py",
        "predict/test_shared_function.py",
        "predict/test_propagation.py",
        "filters/test_filters.py",
        "filters/test_own_emission.py",
    ),
    "gpssm/predict/_system.py": (
        "predict/test_linear_rollouts.py",
        "predict/test_system.py",
        "filters/test_filters.py",
        "predict/test_round_sizes.py",
        "predict/test_bad_input.py",
    ),
    "gpssm/predict/autoregression/": (
        "predict/test_autoregression.py",
        "predict/test_autoregressive_noise.py",
        "methods/test_autoregressive.py",
    ),
    "gpssm/methods/autoregressive/_arx.py": (
        "methods/test_autoregressive.py",
        "methods/test_conformance.py::test_a_fit_tells_no_more_seconds_than_it_took[arx]",
    ),
    "gpssm/methods/output_error/": (
        "methods/test_output_error.py",
        "methods/test_output_error_posterior.py",
        "methods/test_output_error_draws.py",
        "golden/test_values.py::test_output_error_fits_are_the_same",
    ),
    "gpssm/methods/linear/": (
        "methods/test_linear_pieces.py",
        "methods/test_linear.py",
        "methods/test_subspace.py",
        "golden/test_values.py::test_linear_models_are_the_same",
    ),
    "gpssm/metrics/": ("metrics", "report/test_statistics.py"),
}
"""Files, or folders that end in a slash; tests below `tests/`, some of them as pytest names them."""

LEFT_ALONE = {"gpssm/methods/output_error/_method.py"}
"""Files in these folders that only conduct."""


def sources() -> list[str]:
    """The files that are changed."""
    found: list[str] = []
    for place in CONCERN:
        files = sorted((ROOT / place).rglob("*.py")) if place.endswith("/") else [ROOT / place]
        found += [str(file.relative_to(ROOT)) for file in files if file.name != "__init__.py"]
    return [name for name in found if name not in LEFT_ALONE]


def concerned_with(source: str) -> tuple[str, ...]:
    """Test files that concern a source file."""
    place = next(place for place in CONCERN if source == place or (place.endswith("/") and source.startswith(place)))
    return tuple(f"tests/{name}" for name in CONCERN[place])
