"""The page on one model."""

import numpy as np

from gpssm.reporting import _figures_data, _figures_model, _figures_runs, _figures_tests
from gpssm.reporting._data_summary import DataSummary
from gpssm.reporting._figure import MOST_POINTS, every
from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._html import Page, pairs, paragraph, table, text
from gpssm.reporting._report import Report

MARKS = {Grade.good: "✓", Grade.caution: "!", Grade.bad: "✗", Grade.unknown: "–"}


def report_page(report: Report) -> str:
    """The whole document."""
    page = Page(report.title)
    for section in SECTIONS:
        section(page, report)
    return page.render()


def findings_table(findings: tuple[Finding, ...]) -> str:
    """Questions, answers, and the numbers behind them."""
    rows = "".join(
        f'<tr><th scope="row">{text(f.question)}</th>'
        f'<td><span class="grade {f.grade.name}">{MARKS[f.grade]} {text(f.grade.value)}</span></td>'
        f"<td>{text(f.text)}</td></tr>"
        for f in findings
    )
    return f'<table class="findings"><tbody>{rows}</tbody></table>'


def advice_list(advice: tuple[str, ...]) -> str:
    """What to try next, most urgent first."""
    if not advice:
        return paragraph("Nothing in these numbers asks for a change. Test it on data from where you will use it.")
    return '<ol class="advice">' + "".join(f"<li>{text(line)}</li>" for line in advice) + "</ol>"


def _verdict(page: Page, report: Report) -> None:
    page.section("verdict", "Verdict")
    page.add(paragraph(report.verdict.headline, kind="headline"))
    page.add(paragraph(report.verdict.where))
    page.add(findings_table(report.verdict.findings))
    page.add("<h3>What to try next</h3>" + advice_list(report.verdict.advice))


def _simulation(page: Page, report: Report) -> None:
    page.section(
        "simulation",
        "Free simulation of held-out data",
        f"After the first {report.n_init} steps (dashed line) the model sees only the inputs, no outputs. Nothing here "
        "was used in training.",
    )
    rows = [
        (name, f"{free_fit:.1f} %", f"{rmse:.4g}", f"{nrmse:.3f}", f"{width:.3f}")
        for name, free_fit, rmse, nrmse, width in zip(
            report.output_names,
            report.free_run.fit_percent,
            report.free_run.rmse,
            report.free_run.nrmse,
            report.free_run.band,
            strict=True,
        )
    ]
    page.add(table(("output", "fit", "RMSE", "RMSE / std of signal", "band / band of signal"), rows))
    if len(report.episodes) > len(report.shown):
        page.add(paragraph(f"Of {len(report.episodes)} records, the worst, the median and the best are drawn."))
    for index in report.shown:
        episode = report.episodes[index]
        caption = (
            f"{episode.name}: error {100 * report.record_errors[index]:.1f} % of the signal's standard deviation. "
            "The band holds 95 % of the measurements if it is right; axes are cut where it is very wide (double-click "
            f"to see all of it).{_thinned(len(episode))}"
        )
        page.figure(_figures_runs.simulation(report, index), caption)


def _prediction(page: Page, report: Report) -> None:
    page.section(
        "prediction",
        "Prediction a few steps ahead",
        "At every step the model has seen all outputs up to there, and then runs on without them. A model is worth "
        "having where it beats holding the last measured value.",
    )
    header = ("steps ahead", *(f"{name}: {what}" for name in report.output_names for what in ("RMSE", "hold", "fit")))
    rows = [
        (
            score.name,
            *(
                cell
                for rmse, hold, fit in zip(score.rmse, score.reference_rmse, score.fit_percent, strict=True)
                for cell in (f"{rmse:.4g}", f"{hold:.4g}" if score.horizon else "–", f"{fit:.1f} %")
            ),
        )
        for score in report.scores
    ]
    page.add(table(header, rows))
    index = report.shown[0]
    for output, name in enumerate(report.output_names):
        caption = f"{name} in {report.episodes[index].name}.{_thinned(len(report.episodes[index]))}"
        page.figure(_figures_runs.ahead(report, index, output), caption)


def _calibration(page: Page, report: Report) -> None:
    page.section(
        "calibration",
        "Calibration of the bands",
        "If the bands are right, measurements fall evenly over the predicted distribution, and 95 % of them lie in the "
        "95 % band.",
    )
    chosen = [score for score in report.scores if score.horizon in (None, 1)]
    page.figure(
        _figures_tests.pit(chosen),
        "Flat is right; a valley means bands that are too narrow, a hump too wide, a slope a bias. The grey stretch "
        "holds one bar of a right model with 99 % probability, for as many independent values as the correlated ones "
        "are worth (estimated from their autocorrelation). All records share one learnt function, and so one part of "
        "the error: on a single set of data, bands of long runs that allow for it can look wider than needed.",
    )
    page.figure(
        _figures_tests.coverage([("this model", report.scores)]),
        "Share of measurements inside the band by steps ahead. Grey: the range in which the three shares of a horizon "
        "all lie with 99 % probability if the bands are right; binomial, for the effective number of values, because "
        "errors that follow each other are not independent. An open symbol lies outside.",
    )
    header = ("steps ahead", "measurements", "effective", *(f"in {100 * v:g} %" for v in chosen[0].coverage.levels))
    rows = [
        (
            s.name,
            len(s.pit),
            f"{s.num_effective:.0f}",
            *(f"{100 * share:.1f} %" for share in s.coverage.observed),
            "–" if s.calibration is None else f"{s.calibration.spread:.2f}",
            "–" if s.calibration is None else f"{s.calibration.p_value:.2g}",
        )
        for s in report.scores
    ]
    page.add(table((*header, "error / promised", "p-value"), rows))


def _residuals(page: Page, report: Report) -> None:
    tests = report.residuals
    page.section(
        "residuals",
        "What is left in the one-step errors",
        "Errors of a right model are white and do not depend on inputs. A test raises a false alarm for one right "
        "model in a hundred; a single lag outside its bounds is no alarm, the p-value counts.",
    )
    if tests.whiteness is not None:
        page.figure(
            _figures_tests.autocorrelation(tests.whiteness, report.output_names),
            "Autocorrelation of standardised one-step errors on held-out data, with the exact bounds for white noise "
            f"of this length. Joint test over {tests.lags} lags: p = {tests.whiteness.p_value:.2g}.",
        )
    else:
        page.add(paragraph("The records are too short to test for whiteness."))
    if tests.independence is not None:
        colour = "The errors are not white, so the bounds allow for their colour. " if tests.coloured else ""
        inputs = [report.input_names[i] for i in tests.tested_inputs]
        page.figure(
            _figures_tests.cross_correlation(tests.independence, report.output_names, inputs),
            f"Correlation of one-step errors with past inputs. {colour}Joint test: "
            f"p = {tests.independence.p_value:.2g}.",
        )
    elif report.input_names:
        page.add(paragraph("Too few steps, or too little variation in the inputs, to test the response to them."))


def _model(page: Page, report: Report) -> None:
    """Only of a model with states."""
    if report.state_space is None:
        return
    shown, slices = report.episodes[report.shown[0]], report.state_space.slices
    page.section("model", "What was learnt", "States are in the model's own units; the first ones follow the outputs.")
    page.figure(
        _figures_model.states(report.state_space.states, report.dt),
        f"Latent states of {shown.name}, given all of it.{_thinned(len(shown))}",
    )
    first = slices[0]
    held = "" if not first.is_change else f" In the first panel {first.held}."
    what = "Next state" if not first.is_change else "Change of each state in one step"
    page.figure(
        _figures_model.transition(slices),
        f"{what} while one variable moves and the others rest at their medians.{held} Shaded: where 90 % of the data "
        "lie; orange: inducing points, projected. The band is the uncertainty about the function, without process "
        "noise; it should open where there are no data.",
    )


def _data(page: Page, report: Report) -> None:
    page.section("data", "Data")
    page.add(_channels(report.data, report.training_data))
    longest = report.data.steps + (0 if report.training_data is None else report.training_data.steps)
    left = f" {report.left_out} further held-out steps were not judged." if report.left_out else ""
    page.figure(_figures_data.data(report), f"All records, one after the other.{left}{_thinned(longest)}")


def _channels(held_out: DataSummary, training: DataSummary | None) -> str:
    header = ("channel", "set", "records", "steps", "missing", "mean", "std", "smallest", "largest", "outside training")
    rows = []
    for name, summary in (("training", training), ("held out", held_out)):
        for c in () if summary is None else summary.channels:
            outside = "–" if c.outside is None else f"{100 * c.outside:.1f} %"
            numbers = (f"{value:.4g}" for value in (c.mean, c.std, c.smallest, c.largest))
            kind = "input" if c.is_input else "output"
            assert summary is not None
            counts = (summary.records, summary.steps, f"{100 * c.missing:.1f} %")
            rows.append((f"{c.name} ({kind})", name, *counts, *numbers, outside))
    return table(header, rows)


def _training(page: Page, report: Report) -> None:
    page.section("training", "Training")
    history = report.history
    if history is None:
        page.add(paragraph("No record of the training came with this model."))
        return
    if not len(history.bound):
        page.add(paragraph("This model was not trained step by step: there is no curve to show."))
        return
    page.figure(
        _figures_data.training(history),
        f"The bound per time step over {len(history.bound)} steps, and each of its terms, which add up to it; then the "
        "noise levels in units of the scaled signals. The axes leave out the first steep rise. Later stages follow the "
        f"first.{_thinned(len(history.bound))}",
    )
    if not np.isfinite(history.bound).all():
        page.add(paragraph("Some steps had a bound that is not finite."))


def _settings(page: Page, report: Report) -> None:
    page.section("settings", "Settings and versions", "Same versions, data and key give the same numbers.")
    page.add(pairs(report.settings))
    page.add("<h3>Versions</h3>" + pairs(report.versions))


def _thinned(count: int) -> str:
    if count <= MOST_POINTS:
        return ""
    return f" For drawing, one point in {every(count)} of {count} is kept; all numbers use all of them."


SECTIONS = (_verdict, _simulation, _prediction, _calibration, _residuals, _model, _data, _training, _settings)
"""In the order in which they are read."""
