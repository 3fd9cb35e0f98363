"""The page of the smooth kink."""

from experiments.pages._rows import Column
from experiments.pages._spec import Claim, Line, Page, Shown

NOISES = ("0.008", "0.08", "0.8")

PAGE = Page(
    name="smooth_kink",
    title="Smooth kink",
    setting="""Published series of 600 steps, five at each of three levels of measurement noise, cut into 30 sequences
of 20 that are treated as independent. The emission is fixed to the truth, noise included; transition (RBF, 15 inducing
points) and process noise are learnt. *GP regression on outputs*: an exact GP from each output to the next, which is
what an autoregressive GP learns here. Scored is the mean squared error of the learnt function on 100 even points in
[-3.15, 1.15].""",
    columns={
        "MSE of the function": Column("mse"),
        "log density with process noise": Column("log_density_noisy"),
        "log density of the function": Column("log_density"),
        "process variance": Column("process_variance"),
        "seconds": Column("seconds", with_range=False),
    },
    shown=tuple(
        Shown(f"noise {noise}", "MSE of the function", case=f"noise {noise}", printed=f"noise {noise}")
        for noise in NOISES
    ),
    lines=(
        Line("linear regression", "floor", "linear"),
        Line("GP regression on outputs", "opponent", "gp regression"),
        Line("VCDT", "published", printed="VCDT"),
        Line("EnVI", "published", printed="EnVI"),
        Line("RGPSSM", "published", printed="RGPSSM"),
        Line("mean field", "ours", "gpssm"),
    ),
    claims=tuple(
        Claim(
            f"MSE of the function, noise {noise}",
            "MSE of the function",
            (f"noise {noise}", "gpssm"),
            tuple((f"noise {noise}", method) for method in ("linear", "gp regression")),
            published=best,
        )
        for noise, best in zip(NOISES, ("EnVI", "EnVI", "RGPSSM"), strict=True)
    ),
    figures={"results/smooth_kink.png": "Learnt functions, one series at each noise level"},
    seen="""With little and middling noise the learnt function is about as close as that of the best published method,
or closer, and a GP that takes outputs for states errs five to nine times as much. Where noise dominates, the mean-field
posterior books it as process noise ([[noise 0.8 | gpssm | process variance]] instead of 0.0025) and errs half as much
as that GP. There [marginal inference](function_bands.md) is the better choice; the densities of this file (all numbers)
show mean-field bands that are too narrow at every level.""",
    blindness="yes",
    blind="""Settings were fixed in advance and are the same for all series; of two starts the one with the higher
training bound is kept.""",
)
