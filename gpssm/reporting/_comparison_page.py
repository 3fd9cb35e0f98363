"""The page on several models."""

import numpy as np
import plotly.graph_objects as go

from gpssm.reporting import _figures_tests
from gpssm.reporting._compare import Comparison
from gpssm.reporting._figure import MEASURED, QUIET, SERIES, every, line, panels, short_label, time_label
from gpssm.reporting._html import Page, pairs, paragraph, table

MOST_SHOWN = 3
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def comparison_page(comparison: Comparison) -> str:
    """The whole document."""
    page = Page(comparison.title)
    page.section("verdict", "Verdict")
    page.add(paragraph(comparison.headline, kind="headline"))
    page.add(
        paragraph(
            f"All models were run on the same {len(comparison.episodes)} held-out record(s), "
            f"{comparison.episodes.num_steps} steps in all, from the same {comparison.n_init} first outputs and with "
            "the same random numbers."
        )
    )
    page.add(_overview(comparison))
    page.section("simulation", "Free simulation", "After the dashed line the models see only the inputs.")
    for index in range(min(MOST_SHOWN, len(comparison.episodes))):
        page.figure(_simulations(comparison, index), f"{comparison.episodes[index].name}: medians of the free runs.")
    page.section("horizons", "Errors by steps ahead")
    page.figure(_errors(comparison), "RMSE in units of the signal's standard deviation, averaged over outputs.")
    page.section("calibration", "Calibration of the bands")
    page.figure(
        _figures_tests.coverage([(entry.name, entry.scores) for entry in comparison.entries]),
        "Share of measurements inside the bands. Grey: the range if the bands are right (99 %, for the effective "
        "number of values). An open symbol lies outside.",
    )
    page.section("settings", "Settings and versions")
    for entry in comparison.entries:
        page.add(table((), [("model", entry.name)], kind="pairs") + pairs(entry.settings))
    page.add("<h3>Of this page</h3>" + pairs(comparison.settings) + pairs(comparison.versions))
    return page.render()


def _overview(comparison: Comparison) -> str:
    ahead = [score.name for score in comparison.entries[0].scores]
    header = (
        "model",
        "fit, free run",
        "p, as good as the best",
        *(f"RMSE/std, {name}" for name in ahead),
        "in 95 % band, free run",
        "log density",
        "CRPS/std",
        "white errors",
        "input-independent",
    )
    rows = []
    for entry in comparison.entries:
        free = entry.free_run
        white, independent = entry.residuals.whiteness, entry.residuals.independence
        rows.append(
            (
                entry.name,
                f"{free.fit_overall:.1f} %",
                "best" if entry is comparison.entries[0] else "–" if entry.p_value is None else f"{entry.p_value:.2g}",
                *(f"{_mean(score.nrmse):.3f}" for score in entry.scores),
                f"{100 * free.coverage95:.1f} %",
                f"{free.log_density:.3f}",
                f"{free.crps:.3f}",
                "–" if white is None else f"{'yes' if white.passed else 'no'} (p {white.p_value:.1g})",
                "–"
                if independent is None
                else f"{'yes' if independent.passed else 'no'} (p {independent.p_value:.1g})",
            )
        )
    return table(header, rows)


def _simulations(comparison: Comparison, index: int) -> go.Figure:
    episode, outputs = comparison.episodes[index], comparison.output_names
    figure = panels(len(outputs), height=130 + 230 * len(outputs), share_x=True)
    scale = comparison.dt or 1.0
    time, thin = np.arange(len(episode)) * scale, every(len(episode))
    for i, name in enumerate(outputs):
        seen = episode.observed[:, i]
        dots = line(
            time[seen], episode.y[seen, i], name="measured", colour=MEASURED, markers=True, legend=i == 0, step=thin
        )
        figure.add_trace(dots, row=i + 1, col=1)
        for j, entry in enumerate(comparison.entries):
            rollout = entry.judged.simulations[index]
            figure.add_trace(
                line(
                    rollout.time,
                    rollout.median[:, i],
                    name=entry.name,
                    colour=SERIES[j % len(SERIES)],
                    dash=DASHES[j % len(DASHES)],
                    legend=i == 0,
                    step=thin,
                ),
                row=i + 1,
                col=1,
            )
        figure.update_yaxes(title_text=short_label(name), row=i + 1, col=1)
    figure.add_vline(x=(comparison.n_init - 0.5) * scale, line={"color": QUIET, "dash": "dash", "width": 1})
    figure.update_xaxes(title_text=time_label(comparison.dt), row=len(outputs), col=1)
    return figure


def _errors(comparison: Comparison) -> go.Figure:
    figure = panels(1, height=340)
    names = [score.name for score in comparison.entries[0].scores]
    for j, entry in enumerate(comparison.entries):
        values = np.array([_mean(score.nrmse) for score in entry.scores])
        trace = line(
            np.arange(len(names)), values, name=entry.name, colour=SERIES[j % len(SERIES)], dash=DASHES[j % len(DASHES)]
        )
        trace.update(mode="lines+markers")
        figure.add_trace(trace)
    figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names, title_text="steps ahead")
    figure.update_yaxes(title_text="RMSE / std of signal", rangemode="tozero")
    return figure


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
