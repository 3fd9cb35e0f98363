"""The page of marginal inference before its referee."""

from experiments.pages._rows import Column
from experiments.pages._spec import Line, Page, Shown

PAGE = Page(
    name="referee",
    title="Marginal inference before its referee",
    setting="""The [kink](kink.md) with an RBF kernel (true variances 0.01 and 0.1). *Particle Gibbs* draws states,
function, noises and kernel from their exact posterior (`ParticleGibbs`, four chains of 4500 sweeps); *marginal* is the
quick method that is to be judged (`Marginal()`, defaults), on the same data with the same model. Of the referee's
noises, medians and the ends of 90 % intervals are shown; of the function, the band without process noise against the
truth.""",
    columns={
        "process variance (true 0.01)": Column("process_variance"),
        "its 5 %": Column("process_variance_low", with_range=False),
        "its 95 %": Column("process_variance_high", with_range=False),
        "marginal inside, process": Column("process_variance_inside", with_range=False),
        "noise variance (true 0.1)": Column("noise_variance"),
        "noise, 5 %": Column("noise_variance_low", with_range=False),
        "noise, 95 %": Column("noise_variance_high", with_range=False),
        "marginal inside, noise": Column("noise_variance_inside", with_range=False),
        "RMSE of the function": Column("rmse"),
        "log density of the function": Column("log_density"),
        "coverage of its 95 % band": Column("coverage"),
        "width of the band, standard deviation": Column("band_std", with_range=False),
        "split R-hat": Column("r_hat"),
        "effective draws": Column("effective"),
        "states changed, per cent of sweeps": Column("update_percent", with_range=False),
        "CPU seconds": Column("cpu_seconds", with_range=False),
    },
    shown=(
        Shown("process variance", "process variance (true 0.01)"),
        Shown("5 %", "its 5 %"),
        Shown("95 %", "its 95 %"),
        Shown("noise variance", "noise variance (true 0.1)"),
        Shown("5 %", "noise, 5 %"),
        Shown("95 %", "noise, 95 %"),
        Shown("coverage of 95 %", "coverage of its 95 % band"),
        Shown("split R-hat", "split R-hat"),
        Shown("CPU s", "CPU seconds"),
    ),
    lines=(
        Line("particle Gibbs", "ours", "particle Gibbs", "kink rbf"),
        Line("marginal", "ours", "marginal", "kink rbf"),
    ),
    figures={"results/referee.png": "Bands of the function of one seed, and the process noise of all"},
    seen="""In [[kink rbf | particle Gibbs | marginal inside, process]] of the seeds the process variance of marginal
inference lies within the referee's 90 % interval, and in [[kink rbf | particle Gibbs | marginal inside, noise]] of them
the measurement variance does; on the last seed the process variance is above the interval, by a twentieth.
The exact posterior covers [[kink rbf | particle Gibbs | coverage of its 95 % band]] of
the function, marginal inference [[kink rbf | marginal | coverage of its 95 % band]]: an RBF kernel cannot make a
corner, and ripples beside it, of which no band with this kernel knows. Split R-hat of both noises is below 1.01; that
of the function at the worst of twelve points is 1.012 in the first seed, so that its chains should be longer still.""",
    blindness="in part",
    blind="""How chains move and how many sweeps are made was decided on the first seed, by how fast its chains mix;
nothing was chosen by scores. The settings of marginal inference are those of [noises and bands](function_bands.md).""",
)
